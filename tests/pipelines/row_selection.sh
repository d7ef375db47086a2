#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# where, head and sample in whole runs: the same rows on every number of threads and size of batches, a source that is not read to its end, and mistakes
# that are told before a run begins.
#   row_selection.sh SLUICE SOURCE_DIR
set -euo pipefail
sluice=$(realpath "$1") source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
cd "$work"
"$sluice" run synthetic_reference --length 60000 --seed 3 --output reference.fa --quiet
"$sluice" run simulate --reference reference.fa --reads 300 --seed 3 --mean-length 1500 --output-prefix reads --quiet

# table NAME: a pipeline that writes the names of the reads behind one stage, whose text is standard input.
table() {
  cat >"$1.toml" <<TOML
[pipeline]
name = "$1"
[parameters.reads]
type = "path"
required = true
[parameters.where]
type = "string"
[stages.reads]
use = "read_reader"
params.path = "\${reads}"
$(cat)
[stages.table]
use = "table_writer"
params = { output = "$1.tsv", columns = "read_id" }
TOML
}
chosen() { "$sluice" run "$1.toml" --reads reads.fastq.gz --quiet --allow-empty "${@:2}" && tail -n +2 "$1.tsv"; }
zcat reads.fastq.gz | awk 'NR % 4 == 1 { id = substr($1, 2) } NR % 4 == 2 { print id "\t" length($0) }' >lengths

table long <<<$'[stages.long]\nuse = "where"\nparams.condition = "len(bases) >= 1500 and not (len(bases) in [1500, 1501] or read_id < \'a\' and read_id > \'b\')"'
chosen long >long --report run.json
awk '$2 > 1501 { print $1 }' lengths | diff - long || fail "where keeps the rows of which the condition is true"
[ -s long ] || fail "some reads are long"
python3 - run.json "$(awk '$2 <= 1501' lengths | wc -l)" <<'PYTHON' || fail "what is left out is counted as filtered"
import json, sys
paths = json.load(open(sys.argv[1]))["account"]
assert paths and all(path["filtered"] == int(sys.argv[2]) and path["failed"] == 0 and path["adds_up"] for path in paths), paths
PYTHON

table first <<<$'[stages.first]\nuse = "head"\nparams.rows = 25'
table some <<<$'[stages.some]\nuse = "sample"\nparams = { fraction = 0.3, seed = 5 }'
chosen first >first
head -25 lengths | cut -f1 | diff - first || fail "head keeps the first reads"
chosen some >some
count=$(wc -l <some)
[ "$count" -gt 50 ] && [ "$count" -lt 130 ] || fail "a sample of 0.3 has $count of 300 reads"
for options in "--threads 1 --batch-work 1000" "--threads 3 --batch-work 20000" "--executor serial"; do
  # shellcheck disable=SC2086
  for name in long first some; do chosen $name $options | diff - $name || fail "$name chooses others with $options"; done
done

# The source is not read on when the first rows are there: of an endless file the beginning is enough.
mkfifo endless
bash -c 'zcat reads.fastq.gz; while zcat reads.fastq.gz; do :; done' >endless 2>writer.log &
writer=$!
timeout 120 "$sluice" run first.toml --reads endless --quiet --batch-work 5000 || fail "head does not end the run"
tail -n +2 first.tsv | diff - first || fail "head of an endless input keeps other reads"
kill "$writer" 2>>writer.log || :
# Where another branch needs all rows, they are read.
table both <<<$'[stages.all]\nuse = "table_writer"\ninputs = ["reads"]\nparams = { output = "all.tsv", columns = "read_id" }\n[stages.first]\nuse = "head"\ninputs = ["reads"]\nparams.rows = 25'
chosen both --batch-work 5000 | diff - first || fail "head beside another branch keeps other reads"
[ "$(tail -n +2 all.tsv | wc -l)" -eq 300 ] || fail "a branch without head has all reads"

# Mistakes are told before a run, with their place.
table by_option <<<$'[stages.chosen]\nuse = "where"\nenabled = "${where}"\nparams.condition = "${where}"'
chosen by_option --where "len(bases) > 1501" | diff - long || fail "a condition on the command line"
refused() {
  if "$sluice" run by_option.toml --reads reads.fastq.gz --where "$1" 2>errors; then fail "'$1' is refused"; fi
  grep -qF -- "$2" errors || { cat errors; fail "'$1' is refused with '$2'"; }
}
refused "len(bases) >" "command line: stage 'chosen': --where: character 13: a value is missing in front of the end"
refused "bases == 3" "--where: character 10: column 'bases', a text, is compared with a number (texts stand in quotes: 'x')"
refused "lenght > 3" "names column 'lenght', which no stage before it gives"
sed 's/condition = ".*"/condition = "bases > 3"/' long.toml >wrong.toml
"$sluice" check wrong.toml 2>errors && fail "a wrong type is found by check"
grep -q "wrong.toml:[0-9]*:[0-9]*: stage 'long': parameter 'condition': character 9: column 'bases', a text" errors || { cat errors; fail "a wrong type has its place"; }

# The example: map with a condition of one's own.
example="$source/examples/map_chosen_reads.toml"
"$sluice" run map --reference reference.fa --reads reads.fastq.gz --quiet --output all.paf
"$sluice" run "$example" --reference reference.fa --reads reads.fastq.gz --quiet --where "len(bases) > 1501" --output chosen.paf
awk 'NR == FNR { long[$1] = 1; next } $1 in long' long all.paf | diff - chosen.paf || fail "the example maps the chosen reads as map does"
"$sluice" run "$example" --reference reference.fa --reads reads.fastq.gz --quiet --output unchosen.paf
cmp all.paf unchosen.paf || fail "without a condition the example is map"
echo "all good"
