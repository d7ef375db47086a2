#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every shipped pipeline says how much memory it takes at least, small runs keep to that, by the kernel's count, and no pipeline says four times what it
# takes. Where this process may make a cgroup, each also runs in one of that size.
#   least_memory.sh SLUICE PIPELINES
set -uo pipefail
sluice=$(realpath "$1") pipelines=$(realpath "$2")
work=$(mktemp -d) group=
trap 'rm -rf "$work"; [ -z "$group" ] || rmdir "$group"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
run() { "$sluice" "$@" --quiet || fail "$*"; }
bytes() { grep -o "\"$2\": *[0-9]*" "$1" | sed 's/.*: *//'; }

for root in /sys/fs/cgroup /sys/fs/cgroup/memory; do
  for limit in memory.max memory.limit_in_bytes; do
    [ -z "$group" ] && mkdir "$root/sluice_least_memory_$$" 2>/dev/null || continue
    group=$root/sluice_least_memory_$$
    if [ -w "$group/$limit" ] && (echo $BASHPID >"$group/cgroup.procs") 2>/dev/null; then break 2; fi
    rmdir "$group" && group=
  done
done
[ -n "$group" ] || echo "no cgroup may be made here: the limit itself is not tried"

declare -A seen
# NAME ARGUMENTS...: with the least threads and memory
takes() {
  local name=$1 least peak
  seen[$name]=yes
  "$sluice" plan "$@" --json >plan.json || { fail "plan $*"; return; }
  least=$(bytes plan.json memory_least)
  [ -n "$least" ] || { fail "$name does not say what memory it takes"; return; }
  # What is limited is the program alone: its inputs are in the page cache of who made them.
  if [ -n "$group" ]; then echo $((least / 4096 * 4096 + 4096)) >"$group/$limit" || fail "a cgroup of $least bytes"; fi
  (
    [ -z "$group" ] || echo $BASHPID >"$group/cgroup.procs"
    exec "$sluice" "$@" --threads 1 --memory 64MiB --device cpu --report report.json --allow-empty --quiet
  ) >said.txt 2>&1 || { fail "$* ends with $?: $(tail -2 said.txt)"; return; }
  peak=$(bytes report.json resident_peak_bytes)
  echo "$name: $((peak / 1000000)) MB, at least $((least / 1000000)) MB by its file"
  [ "$peak" -le "$least" ] || fail "$name takes $peak bytes, and its file says $least"
  [ $((peak * 4)) -ge "$least" ] || fail "$name takes $peak bytes, and its file says $least"
}

takes synthetic_reference --length 200000 --seed 3 --output ref.fa
takes simulate --reference ref.fa --reads 60 --mean-length 4000 --seed 4 --output-prefix r
signal=(--signal r.blow5 --reads r.fastq.gz)
takes methylation "${signal[@]}" --alignments r.bam --reference ref.fa --output calls.tsv --frequency sites.tsv --modbam mods.bam
takes methylation_from_reads "${signal[@]}" --reference ref.fa --output again.tsv
takes methylation_accuracy --calls calls.tsv --site-truth r.truth.tsv --read-truth r.truth_reads.tsv --reference ref.fa --output accuracy.json
takes frequency --calls calls.tsv --output again.sites.tsv
takes eventalign "${signal[@]}" --alignments r.bam --reference ref.fa --output events.tsv
takes resquiggle "${signal[@]}" --output squiggles.paf
takes train_kmer_model "${signal[@]}" --output trained.model
takes summary "${signal[@]}" --output summary.txt
takes classify_signal --signal r.blow5 --reference ref.fa --output decisions.tsv
takes calibrate_read_until --signal r.blow5 --reference ref.fa --scores scores.tsv
takes read_until --signal r.blow5 --reference ref.fa --channels 8 --speed 0 --output live.tsv
takes index --reference ref.fa --output ref.index
takes map --reference ref.fa --reads r.fastq.gz --output hits.bam
takes map --reference ref.index --reads r.fastq.gz --output hits.paf
takes seed --reference ref.fa --reads r.fastq.gz --output matches.txt
takes sort --alignments hits.bam --output sorted.bam
takes pileup --alignments mods.bam --reference ref.fa --output sites.bed
takes modification_calls --alignments mods.bam --output modified.tsv
takes modifications --reference ref.fa --reads mods.bam --output mapped.bam --sites mapped.bed
printf '%s\t0\t200000\tall\n' "$(sed -n '1s/^>\([^ ]*\).*/\1/p' ref.fa)" >panel.bed
takes region_modifications --regions panel.bed --sites sites.bed --output regions.tsv
takes overlap --reads r.fastq.gz --output overlaps.paf
takes correct --reads r.fastq.gz --output corrected.fa
takes polish --reference ref.fa --reads r.fastq.gz --output polished.fa
printf '>0 3\nACGTACGTACGT\nACGTACTACGT\nACGTACGTACG\n' >windows.txt
takes consensus --windows windows.txt --output consensus.fa
run synthetic_reference --length 1500 --contigs 10 --seed 5 --output transcripts.fa
takes simulate_rna --reference transcripts.fa --reads 40 --output-prefix rna
takes poly_a --signal rna.blow5 --reads rna.fastq.gz --output tails.tsv
takes direct_rna --reference transcripts.fa --reads rna.fastq.gz --output rna_hits.bam --counts counts.tsv

# Where there is less, the run begins with a warning and what to do instead; this one is smaller than most, and ends well.
if [ -n "$group" ]; then
  echo $((64 << 20)) >"$group/$limit"
  (echo $BASHPID >"$group/cgroup.procs" && exec "$sluice" map ref.fa r.fastq.gz --output few.paf --threads 1 --memory 16MiB --device cpu --quiet) >said.txt 2>&1 ||
    fail "a run with less memory ends with $?: $(cat said.txt)"
  grep -q 'warning: map takes at least .* of memory here, and may use 64.0 MiB (make the index once' said.txt || fail "no warning: $(cat said.txt)"
fi

for file in "$pipelines"/*.toml; do
  [ -n "${seen[$(basename "$file" .toml)]:-}" ] || fail "$(basename "$file" .toml) is not tried"
done
exit $((failures > 0))
