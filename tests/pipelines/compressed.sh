#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every text output as BGZF and as zstd, by its name: the bytes of the plain one, the same file for threads and batches, and where lines are places on
# contigs and sorted, the index that tabix makes.
#   compressed.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed"; return 1; }; }
unpack=cat
have zstd && unpack="zstd -dc"
# NAME OPTION PIPELINE [options]: the file that --OPTION names, in three ways. @PG lines have the command line.
all_ways() {
  local name=$1 option=$2
  shift 2
  run "$@" "--$option" "plain.$name" || fail "$name"
  run "$@" "--$option" "$name.gz" || fail "$name.gz"
  gzip -dc "$name.gz" | diff -q -I '^@PG' - "plain.$name" >/dev/null || fail "$name.gz"
  run "$@" "--$option" "$name.zst" || fail "$name.zst"
  [ "$unpack" = cat ] || $unpack "$name.zst" | diff -q -I '^@PG' - "plain.$name" >/dev/null || fail "$name.zst"
  run "$@" "--$option" "other.$name.zst" --threads 1 --batch-work 3000 || fail "$name.zst of one thread"
  grep -q ^@PG "plain.$name" || cmp "other.$name.zst" "$name.zst" || fail "$name.zst of one thread"
}

run synthetic_reference --length 20000 --contigs 2 --seed 2 --output ref.fa
run simulate --reference ref.fa --reads 20 --seed 2 --mean-length 2500 --output-prefix r
signal=(--signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa)

all_ways contigs.fa output synthetic_reference --length 200000 --seed 3
all_ways events.tsv output eventalign "${signal[@]}"
all_ways m6anet.tsv output eventalign "${signal[@]}" --format m6anet-f5c
all_ways events.sam output eventalign "${signal[@]}" --format sam
all_ways events.paf output eventalign "${signal[@]}" --format paf
all_ways summary.tsv summary eventalign "${signal[@]}" --output /dev/null
all_ways kmers.tsv output resquiggle --signal r.blow5 --reads r.fastq.gz --max-bad-reads 0.5
all_ways calls.tsv output methylation "${signal[@]}"
all_ways frequency.tsv frequency methylation "${signal[@]}" --output /dev/null
all_ways frequency.bed frequency methylation "${signal[@]}" --output /dev/null --frequency-format bedmethyl
all_ways counted.bed bedmethyl methylation "${signal[@]}" --output /dev/null
all_ways modified.sam modbam methylation "${signal[@]}" --output /dev/null
all_ways decisions.tsv output classify_signal --signal r.blow5 --target ref.fa
all_ways hits.paf output map --reference ref.fa --reads r.fastq.gz
all_ways hits.sam output map --reference ref.fa --reads r.fastq.gz --format sam
all_ways overlaps.paf output overlap --reads r.fastq.gz
all_ways seeds.tsv output seed --reference ref.fa --reads r.fastq.gz
all_ways corrected.fa output correct --reads r.fastq.gz
all_ways polished.fa output polish --reads r.fastq.gz --targets ref.fa
printf '>a 3\nACGTACGT\nACGTTCGT\nACGTACGT\n>b 2\nGGG\nGGG\n' >windows.txt
all_ways consensus.fa output consensus --windows windows.txt
run methylation "${signal[@]}" --output /dev/null --modbam mod.bam
all_ways pileup.bed output pileup --alignments mod.bam --reference ref.fa

# Indexes: of sorted tables only, and tabix finds what a look at every line finds.
for table in frequency.bed counted.bed pileup.bed; do
  [ -s $table.gz.tbi ] || fail "$table.gz has no index"
  have tabix || continue
  contig=$(head -1 plain.$table | cut -f 1)
  for place in 1-20000 5000-5100 12345-12399; do
    tabix $table.gz "$contig:$place" >found
    awk -v contig="$contig" -v begin="${place%-*}" -v end="${place#*-}" '$1 == contig && $2 < end && $3 >= begin' plain.$table | cmp - found
  done
  mv $table.gz.tbi made.tbi
  tabix -p bed $table.gz
  cmp <(gzip -dc made.tbi) <(gzip -dc $table.gz.tbi) || fail "another index than that of tabix"
done
[ ! -e pileup.bed.zst.tbi ] || fail "zstd has no index"
# PAF has one where reads come sorted by their places on one contig after the other, as the simulator's do.
[ ! -e overlaps.paf.gz.tbi ] || fail "unsorted overlaps.paf.gz has an index"
[ -s hits.paf.gz.tbi ] || fail "sorted hits.paf.gz has no index"
if have tabix; then
  contig=$(awk 'NR == 1 { print $6 }' plain.hits.paf)
  tabix hits.paf.gz "$contig:3001-3500" >found
  [ -s found ] || fail "nothing at $contig:3001-3500"
  awk -v contig="$contig" '$6 == contig && $8 < 3500 && $9 > 3000' plain.hits.paf | cmp - found
fi
run simulate --reference ref.fa --reads 20 --seed 3 --mean-length 2500 --output-prefix s
run map --reference ref.fa --reads r.fastq.gz --reads s.fastq.gz --output twice.paf.gz
[ ! -e twice.paf.gz.tbi ] || fail "unsorted twice.paf.gz has an index"
run map --reference ref.fa --reads r.fastq.gz --reads s.fastq.gz --output hits.paf.gz
[ ! -e hits.paf.gz.tbi ] || fail "the index of an earlier run lies beside unsorted hits.paf.gz"

# An index is an output: it is not written over an input, and there is none of a run that fails.
run pileup --alignments mod.bam --reference pileup.bed.gz.tbi --output pileup.bed.gz 2>err.txt && fail "an index in the place of an input"
grep -q "also an input" err.txt || fail "$(cat err.txt)"
