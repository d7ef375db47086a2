#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Two stages that give the same optional column stand in one pipeline: the first one makes it.
#   columns_once.sh SLUICE
set -uo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

"$sluice" run synthetic_reference --length 4000 --seed 1 --output reference.fa --quiet || exit 1
"$sluice" run simulate --reference reference.fa --reads 10 --mean-length 500 --seed 3 --output-prefix r --quiet || exit 1

# pipeline NAME STAGE OTHER_STAGE: both behind the stream of signals, and a table behind them
pipeline() {
  cat >"$1.toml" <<END
[pipeline]
name = "$1"
summary = "metadata and signals"
[resources.signal_file]
use = "signal_file"
params = { path = "r.blow5" }
[stages.reads]
use = "signal_stream"
resources = { signal = "signal_file" }
[stages.first]
use = "$2"
resources = { signal = "signal_file" }
[stages.second]
use = "$3"
resources = { signal = "signal_file" }
[stages.table]
use = "table_writer"
params = { output = "$1.tsv", columns = "read_id,sample_count,sampling_rate,digitisation,run_id" }
END
  "$sluice" run "$1.toml" --quiet 2>message || fail "$2 before $3: $(cat message)"
}
pipeline metadata_first signal_metadata signal_decode
pipeline signals_first signal_decode signal_metadata
[ "$(wc -l <metadata_first.tsv)" = 11 ] || fail "$(wc -l <metadata_first.tsv) lines"
cmp -s metadata_first.tsv signals_first.tsv || fail "the order of the stages makes another table"
awk -F'\t' 'NR > 1 && ($2 <= 0 || $3 != 4000)' metadata_first.tsv | grep -q . && fail "sample_count or sampling_rate: $(cat metadata_first.tsv)"

# A column that is not optional is given once, still.
sed 's/signal_metadata/signal_decode/' metadata_first.toml >twice.toml
"$sluice" run twice.toml --quiet 2>message && fail "two stages give raw_signal"
grep -q "gives column 'raw_signal', which is already there" message || fail "$(cat message)"

# Two branches of which each gives the column are never joined without a word.
cat >joined.toml <<END
[pipeline]
name = "joined"
[stages.reads]
use = "read_reader"
params = { path = "r.fastq.gz" }
[stages.first]
use = "select"
params = { rename = "bases=x", drop = "qualities" }
[stages.second]
use = "select"
inputs = ["reads"]
params = { rename = "qualities=x", drop = "bases" }
[stages.table]
use = "table_writer"
inputs = ["first", "second"]
params = { output = "joined.tsv", columns = "read_id,x" }
END
"$sluice" run joined.toml --quiet 2>message && fail "a column of two branches: $(head -2 joined.tsv)"
grep -q "gets column 'x' of stage 'first' and of stage 'second'" message || fail "$(cat message)"
sed 's/inputs = \["first", "second"\]/inputs = ["second"]/' joined.toml >apart.toml
"$sluice" run apart.toml --quiet || fail "a column of one of two branches"
echo "$failures failures"
[ "$failures" = 0 ]
