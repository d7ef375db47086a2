#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every shipped pipeline gives the same bytes on 64-bit ARM (under qemu-user) as on x86-64, over simulated reads.
#   same_bytes.sh X86_64_BUILD ARM64_BUILD SYSROOT [NAME...]
# NAME: of pipelines; without one all are compared.
set -uo pipefail
pipelines=$(realpath "$(dirname "$0")/../../pipelines")
skip() { echo "SKIPPED: $*"; exit 77; }
[ $# -ge 3 ] || { echo "usage: same_bytes.sh X86_64_BUILD ARM64_BUILD SYSROOT [NAME...]" >&2; exit 2; }
[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64"
[ -x "$1/bin/sluice" ] || skip "there is no x86-64 build in $1: ./dev build release program"
[ -x "$2/bin/sluice" ] || skip "there is no arm64 build in $2: ./dev build arm64 program"
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "there is no qemu-aarch64 (Debian: qemu-user)"
build=$(realpath "$1") arm64=$(realpath "$2") sysroot=$(realpath "$3")
shift 3
wanted=" $* "

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir made bin
ln -s "$build/bin/sluice" bin/sluice # the name of the program is in the header of BAM files: both have the same
x86=("$work/bin/sluice") emulated=("$emulator" -0 "$work/bin/sluice" -L "$sysroot" "$arm64/bin/sluice")

failed=0
declare -A seen
fail() { echo "FAILED: $*"; failed=1; }
run_into() { # FOLDER COMMAND...: sets status. Indexes that a run leaves beside its inputs are not there for the next; their times stay
  local folder=$1
  shift
  rm -rf in out
  cp -rp made in
  mkdir out
  "$@" >"$folder.said" 2>&1
  status=$?
  rm -rf "$folder"
  mv out "$folder"
}
# PIPELINE ARGUMENTS...: reads in/, writes out/; what it writes is in in/ for those that follow.
same() {
  local name=$1 found
  seen[$name]=yes
  run_into expected "${x86[@]}" run "$@" --threads 2 --device cpu --quiet
  { [ $status = 0 ] && [ -n "$(ls expected)" ]; } || { fail "$* on x86-64 ends with $status: $(tail -1 expected.said)"; return; }
  if [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]]; then
    run_into found "${emulated[@]}" run "$@" --threads 2 --device cpu --quiet
    if [ $status != 0 ]; then
      fail "$* on ARM ends with $status: $(tail -1 found.said)"
    elif ! cmp -s expected.said found.said; then
      fail "$* says on ARM: $(diff expected.said found.said | head -4)"
    elif found=$(diff -rq expected found); then
      echo "same bytes: $name ($(cat expected/* | wc -c) in $(find expected -type f | wc -l) files)"
    else
      fail "$* gives other bytes: $found"
      [ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -r expected found "$KEEP"; } # to look at
    fi
  fi
  cp -rp expected/. made
}

same synthetic_reference --length 20000 --seed 3 --repeats 0.2 --output out/ref.fa
same simulate --reference in/ref.fa --reads 60 --mean-length 1500 --seed 4 --output-prefix out/r
signal=(--signal in/r.blow5 --reads in/r.fastq.gz)
same methylation "${signal[@]}" --alignments in/r.bam --reference in/ref.fa --output out/calls.tsv --frequency out/sites.tsv --modbam out/mods.bam --account out/account.tsv
same methylation_from_reads "${signal[@]}" --reference in/ref.fa --output out/again.tsv
same methylation_accuracy --calls in/calls.tsv --site-truth in/r.truth.tsv --read-truth in/r.truth_reads.tsv --reference in/ref.fa --output out/accuracy.json
same frequency --calls in/calls.tsv --output out/again.sites.tsv
same eventalign "${signal[@]}" --alignments in/r.bam --reference in/ref.fa --output out/events.tsv.gz
same resquiggle "${signal[@]}" --output out/squiggles.paf
same train_kmer_model "${signal[@]}" --output out/trained.model
same summary "${signal[@]}" --output out/summary.txt
same classify_signal --signal in/r.blow5 --reference in/ref.fa --search sdtw --threshold 0.4 --output out/sdtw.tsv
same classify_signal --signal in/r.blow5 --reference in/ref.fa --search seeds --threshold 0.4 --output out/seeds.tsv
same calibrate_read_until --signal in/r.blow5 --reference in/ref.fa --scores out/scores.tsv
same read_until --signal in/r.blow5 --reference in/ref.fa --channels 8 --speed 0 --output out/live.tsv
same index --reference in/ref.fa --output out/ref.index --contigs out/contigs.tsv
same map --reference in/ref.fa --reads in/r.fastq.gz --output out/hits.bam
same map --reference in/ref.index --reads in/r.fastq.gz --output out/hits.paf
same seed --reference in/ref.fa --reads in/r.fastq.gz --output out/matches.txt
same sort --alignments in/hits.bam --output out/sorted.bam
same pileup --alignments in/mods.bam --reference in/ref.fa --output out/pileup.bed
same modification_calls --alignments in/mods.bam --output out/modified.tsv
same modifications --reference in/ref.fa --reads in/mods.bam --output out/mapped.bam --sites out/mapped.bed
# Regions of two samples, some by chance and some not: their p-values have 17 places.
contig=$(sed -n '1s/^>\([^ ]*\).*/\1/p' made/ref.fa)
for ((start = 0; start < 20000; start += 100)); do printf '%s\t%d\t%d\tr%d\n' "$contig" $start $((start + 100)) $start; done >made/panel.bed
awk -v OFS='\t' 'NR % 3 { $12 = int($10 / 2); $13 = $10 - $12 } { print }' FS='\t' made/pileup.bed >made/other.bed
same region_modifications --regions in/panel.bed --sites in/pileup.bed in/other.bed --output out/regions.tsv
same overlap --reads in/r.fastq.gz --output out/overlaps.paf
same correct --reads in/r.fastq.gz --output out/corrected.fa
same polish --reference in/ref.fa --reads in/r.fastq.gz --output out/polished.fa
printf '>0 3\nACGTACGTACGT\nACGTACTACGT\nACGTACGTACG\n' >made/windows.txt
same consensus --windows in/windows.txt --output out/consensus.fa
same synthetic_reference --length 1500 --contigs 10 --seed 5 --output out/transcripts.fa
same simulate_rna --reference in/transcripts.fa --reads 40 --output-prefix out/rna
same poly_a --signal in/rna.blow5 --reads in/rna.fastq.gz --output out/tails.tsv
same direct_rna --reference in/transcripts.fa --reads in/rna.fastq.gz --output out/rna_hits.bam --counts out/counts.tsv
# A gene of each transcript: an intron in its middle, of the reference's bases.
awk '/^>/ { if (NR > FNR) name[++genes] = $1; next } NR == FNR { bases = bases $0; next } { exons[genes] = exons[genes] $0 }
  END { for (i = 1; i <= genes; ++i) printf "%s\n%sGTAAGT%sTTTTTTTTTCAG%s\n", name[i], substr(exons[i], 1, 700), substr(bases, 1500 * i, 900), substr(exons[i], 701) }' \
  made/ref.fa made/transcripts.fa >made/genes.fa
same map --preset splice --reference in/genes.fa --reads in/rna.fastq.gz --output out/spliced.sam

for file in "$pipelines"/*.toml; do
  [ -n "${seen[$(basename "$file" .toml)]:-}" ] || fail "$(basename "$file" .toml) is not tried"
done
exit $failed
