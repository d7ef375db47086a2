#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# classify_signal and calibrate_read_until as a user runs them, on simulated reads of two genomes.
#   classify_signal.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 20000 --contigs 2 --seed 1 --output targets.fa
run synthetic_reference --length 20000 --seed 2 --output others.fa
run simulate --reference targets.fa --reads 60 --mean-length 1000 --minimum-length 500 --seed 3 --output-prefix targets
run simulate --reference others.fa --reads 60 --mean-length 1000 --minimum-length 500 --seed 4 --output-prefix others

# Right decisions, at the right place, the same for any number of threads and size of batches.
for set in targets others; do
  run classify_signal --signal $set.blow5 --target targets.fa --output $set.tsv
  run classify_signal --signal $set.blow5 --target targets.fa --output - --threads 1 --batch-work 50000 | cmp - $set.tsv
done
[ "$(head -1 targets.tsv | tr '\t' ' ')" = "read_id decision score threshold target strand start end prefix_samples action" ] || fail "header: $(head -1 targets.tsv)"
[ "$(wc -l <targets.tsv)" = 61 ] || fail "$(wc -l <targets.tsv) lines"
accepted=$(cut -f2 targets.tsv | grep -c accept) wrong=$(cut -f2 others.tsv | grep -c accept || true)
[ "$accepted" -ge 58 ] && [ "$wrong" -le 1 ] || fail "$accepted of 60 targets and $wrong of 60 others are accepted"
cat >truth.toml <<'END'
[pipeline]
name = "truth"
[stages.alignments]
use = "alignment_reader"
params = { path = "targets.bam", min_mapq = 0 }
[stages.table]
use = "table_writer"
params = { output = "truth.table", columns = "read_id,contig,is_reverse,ref_start,ref_end" }
END
run truth.toml
awk -F'\t' -v OFS='\t' 'NR > 1 { print $1, $2, $3 + 0 ? "-" : "+", $4, $5 }' truth.table | sort >truth.tsv
awk -F'\t' -v OFS='\t' '$2 == "accept" { print $1, $5, $6, $7, $8 }' targets.tsv | sort | join -t"$(printf '\t')" truth.tsv - |
  awk -F'\t' '$2 == $6 && $3 == $7 && $8 >= $4 - 20 && $9 <= $5 + 20 { right++ } END { exit !(right >= 56) }' || fail "places differ from the truth"

# By seeds: few reads are lost, places and scores are those of all columns, and the bytes do not depend on how the run goes.
run classify_signal --signal targets.blow5 --target targets.fa --search sdtw --output whole.tsv
cmp targets.tsv whole.tsv || fail "small targets are not aligned whole"
for set in targets others; do
  run classify_signal --signal $set.blow5 --target targets.fa --search seeds --output $set.seeds.tsv
  run classify_signal --signal $set.blow5 --target targets.fa --search seeds --output - --threads 1 --batch-work 50000 | cmp - $set.seeds.tsv
done
awk -F'\t' '$2 == "accept"' targets.seeds.tsv | cut -f1,3,5- | sort >by_seeds.tsv  # the thresholds are others
[ "$(wc -l <by_seeds.tsv)" -ge 56 ] || fail "$(wc -l <by_seeds.tsv) of 60 targets are accepted by seeds"
[ "$(comm -23 by_seeds.tsv <(cut -f1,3,5- targets.tsv | sort) | wc -l)" = 0 ] || fail "by seeds other places or scores"
! grep -q accept others.seeds.tsv || [ "$(grep -c accept others.seeds.tsv)" -le "$wrong" ] || fail "others are accepted by seeds"
"$sluice" run classify_signal --signal targets.blow5 --target targets.fa --output - 2>&1 >/dev/null | grep "search: sdtw, chosen by cost" >/dev/null || fail "the choice is not reported"

# Thresholds of one's own.
run calibrate_read_until --signal others.blow5 --target targets.fa --label other --scores others.scores
run calibrate_read_until --signal targets.blow5 --target targets.fa --other-scores others.scores --thresholds thresholds.tsv --plot roc.svg --roc roc.tsv
[ "$(wc -l <thresholds.tsv)" = 6 ] || fail "thresholds: $(cat thresholds.tsv)"
run classify_signal --signal targets.blow5 --target targets.fa --thresholds thresholds.tsv --prefix-bases 100 --output with_table.tsv
[ "$(cut -f2 with_table.tsv | grep -c accept)" -ge 55 ] || fail "thresholds of 100 bases"

# One N costs a little, a wall of them hides what is behind; what can't work says why.
awk '/^>/ { print; next } { print substr($0, 1, 30) "N" substr($0, 32) }' targets.fa >one_n.fa
run classify_signal --signal targets.blow5 --target one_n.fa --threshold 0.5 --output one_n.tsv
[ "$(cut -f2 one_n.tsv | grep -c accept)" -ge 58 ] || fail "an N in 60 bases hides the targets"
awk '/^>/ { print; next } { gsub(/[ACGT]/, "N"); print }' targets.fa >only_n.fa
run classify_signal --signal targets.blow5 --target only_n.fa --output only_n.tsv
! grep -q accept only_n.tsv || fail "a read is accepted on Ns"
message() { "$sluice" run classify_signal --output x.tsv --quiet "$@" 2>&1 >/dev/null || true; }
printf '>short\nACG\n' >short.fa
message --signal targets.blow5 --target short.fa | grep -q "its longest sequence has 3 bases, fewer than a k-mer" || fail "a short target: $(message --signal targets.blow5 --target short.fa)"
: >empty.fa
message --signal targets.blow5 --target empty.fa | grep -q "is empty" || fail "an empty target"
message --signal targets.blow5 --target targets.fa --thresholds short.fa | grep -q "thresholds 'short.fa', line 1: there is no column 'levels'" || fail "wrong thresholds"
message --signal targets.blow5 --target targets.fa --model none.model | grep -q "none.model" || fail "a missing model"
echo "all good"
