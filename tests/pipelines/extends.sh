#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The example that takes over the methylation pipeline: its filter, its table, its other default, and what it has removed.
#   extends.sh SLUICE SOURCE_DIR
set -euo pipefail
sluice=$(realpath "$1") source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
example="$source/examples/methylation_of_long_reads.toml"
cd "$work"
"$sluice" run synthetic_reference --length 20000 --seed 3 --output reference.fa --quiet
"$sluice" run simulate --reference reference.fa --reads 40 --seed 3 --mean-length 1500 --output-prefix reads --quiet
inputs=(--signal reads.blow5 --reads reads.fastq.gz --alignments reads.bam --reference reference.fa --quiet)

"$sluice" run methylation "${inputs[@]}" --min-mapq 30 --output all.tsv
"$sluice" run "$example" "${inputs[@]}" --output long.tsv --read-table used.tsv --report run.json --account account.tsv --max-bad-reads 0.5
zcat reads.fastq.gz | awk 'NR % 4 == 1 { id = substr($1, 2) } NR % 4 == 2 { print id, length($0) }' | sort >lengths
awk '$2 < 1000 { print $1 }' lengths >short
[ -s short ] && [ "$(wc -l <short)" -lt 40 ] || fail "the simulation has reads on both sides of the limit"
cut -f1 used.tsv | tail -n +2 | sort >used
[ -s used ] || fail "the table of reads has lines"
[ "$(head -1 used.tsv)" = $'read_id\tcontig\tref_start\tref_end\tmapq' ] || fail "the columns of the table"
[ -z "$(comm -12 used <(sort short))" ] || fail "short reads are left out"
grep -c $'\tlong\tbelow_minimum$' account.tsv >counted || fail "the account names the reads that were filtered"
python3 - run.json "$(cat counted)" <<'PYTHON' || fail "the report counts them as filtered, not as failed"
import json, sys
paths = json.load(open(sys.argv[1]))["account"]
assert paths and all(path["filtered"] == int(sys.argv[2]) and path["adds_up"] for path in paths), paths
PYTHON
# The calls of the long reads are those of the whole pipeline.
awk -F'\t' 'NR == FNR { used[$1] = 1; next } FNR == 1 || ($5 in used)' used all.tsv | diff - long.tsv || fail "the calls of the other reads are as before"

"$sluice" run "$example" --help-all >help
grep -q -- '--read-table' help || fail "its own parameter is an option"
grep -q 'default 30' help || fail "the changed default is shown"
! grep -q -- '--modbam ' help || fail "the removed parameter is gone"

sed 's/^\[stages.signal\]/[stages.signall]/' "$example" >misspelt.toml
"$sluice" check misspelt.toml 2>errors && fail "a misspelt override is an error"
grep -q "misspelt.toml:39:.*'signall'.*did you mean 'signal'?" errors || { cat errors; fail "a misspelt override is said with line and remedy"; }
echo "all good"
