#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Inputs that are several files: the same bytes as from one after the other, however they are named.
#   several_files.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 30000 --seed 1 --output reference.fa
mkdir parts
for part in 1 2 3; do
  run simulate --reference reference.fa --reads $((10 * part)) --mean-length 2000 --seed $part --output-prefix parts/$part
done

# Signal, from its beginning on and whole.
for part in 1 2 3; do run classify_signal --signal parts/$part.blow5 --target reference.fa --output $part.tsv; done
(cat 1.tsv && tail -n +2 2.tsv && tail -n +2 3.tsv) >one_by_one.tsv
printf '# two of them\nparts/2.blow5\nparts/3.blow5\n' >list
classify() { run classify_signal --target reference.fa --output - "$@"; }
classify --signal parts | cmp - one_by_one.tsv
classify --signal parts --threads 1 --batch-work 3000 | cmp - one_by_one.tsv
classify --signal parts/1.blow5 --signal parts/2.blow5 --signal parts/3.blow5 | cmp - one_by_one.tsv
classify --signal 'parts/[123].blow5' | cmp - one_by_one.tsv
classify --signal parts/1.blow5 --signal @list | cmp - one_by_one.tsv

# Reads, from first to last.
for part in 1 2 3; do run map --reference reference.fa --reads parts/$part.fastq.gz --output $part.paf; done
cat 1.paf 2.paf 3.paf >one_by_one.paf
run map --reference reference.fa --reads parts --output several.paf 2>err.txt && fail "FASTQ and BAM of the same reads"
grep -q "two kinds of files of reads" err.txt || fail "$(cat err.txt)"
run map --reference reference.fa --reads 'parts/*.fastq.gz' --output several.paf
cmp several.paf one_by_one.paf
run map --reference reference.fa --reads parts/1.fastq.gz --reads parts/2.fastq.gz --reads parts/3.fastq.gz --threads 1 --batch-work 3000 --output several.paf
cmp several.paf one_by_one.paf

# Reads and signal that are looked up.
call() { run methylation --alignments parts/2.bam --reference reference.fa --output - "$@"; }
call --signal parts/2.blow5 --reads parts/2.fastq.gz >calls.tsv
[ "$(wc -l <calls.tsv)" -gt 100 ] || fail "$(wc -l <calls.tsv) calls"
call --signal parts --reads 'parts/*.fastq.gz' | cmp - calls.tsv
call --signal parts --reads parts/3.fastq.gz --reads parts/2.fastq.gz | cmp - calls.tsv

# Alignments: one file after the other, or merged by position.
all() { run methylation --reference reference.fa --signal parts --reads 'parts/*.fastq.gz' --output - "$@"; }
for part in 1 2 3; do all --alignments parts/$part.bam --modbam $part.modbam.bam >$part.calls.tsv; done
(cat 1.calls.tsv && tail -n +2 2.calls.tsv && tail -n +2 3.calls.tsv) >one_by_one.tsv
all --alignments parts | cmp - one_by_one.tsv
all --alignments 'parts/*.bam' --threads 1 --batch-work 3000 --modbam joined.bam | cmp - one_by_one.tsv
all --alignments parts/1.bam --alignments parts/2.bam --alignments parts/3.bam --modbam joined.sam | cmp - one_by_one.tsv
all --alignments parts --merge --modbam merged.bam --bedmethyl merged.bed >merged.tsv
cmp <(sort merged.tsv) <(sort one_by_one.tsv)
cmp -s merged.tsv one_by_one.tsv && fail "nothing was merged"
head -1 joined.sam | grep -q SO:unknown || fail "the order of files one after the other: $(head -1 joined.sam)"
all --alignments parts --any-order --bedmethyl any_order.bed >/dev/null
cmp merged.bed any_order.bed
run pileup --reference reference.fa --alignments merged.bam --output merged.bed
for threads in 1 2; do
  run pileup --reference reference.fa --alignments 1.modbam.bam --alignments 2.modbam.bam --alignments 3.modbam.bam --threads $threads --output several.bed
  cmp several.bed merged.bed
done
run pileup --reference reference.fa --alignments merged.bam --filter-percentile 10 --output merged.bed
run pileup --reference reference.fa --alignments '*.modbam.bam' --filter-percentile 10 --output several.bed
cmp several.bed merged.bed
align() { run eventalign --reference reference.fa --signal parts --reads 'parts/*.fastq.gz' --output - "$@"; }
for part in 1 2 3; do align --alignments parts/$part.bam --print-read-names >$part.events.tsv; done
(cat 1.events.tsv && tail -n +2 2.events.tsv && tail -n +2 3.events.tsv) >one_by_one.tsv
align --alignments parts --print-read-names | cmp - one_by_one.tsv
align --alignments parts --merge --format sam >merged.sam
head -1 merged.sam | grep -q SO:coordinate || fail "the order of merged files: $(head -1 merged.sam)"
align --alignments merged.sam --format sam | grep -v ^@PG | cmp - <(grep -v ^@PG merged.sam)
run synthetic_reference --length 29000 --seed 2 --output other.fa
run simulate --reference other.fa --reads 2 --mean-length 2000 --seed 9 --output-prefix other
all --alignments parts --alignments other.bam >refused.tsv 2>err.txt && fail "alignments to two references"
grep -q "have other contigs" err.txt || fail "$(cat err.txt)"

# zstd: the same reads from first to last, and by name.
if command -v zstd >/dev/null; then
  mkdir zst
  for part in 1 2 3; do gzip -dc parts/$part.fastq.gz | zstd -q >zst/$part.fastq.zst; done
  run map --reference reference.fa --reads zst --output several.paf
  cat 1.paf 2.paf 3.paf | cmp - several.paf
  zstd -qdc zst/1.fastq.zst zst/2.fastq.zst zst/3.fastq.zst | zstd -q | run map --reference reference.fa --reads - --output piped.paf
  cmp piped.paf several.paf
  run methylation --alignments parts/2.bam --reference reference.fa --signal parts --reads zst --output zst.tsv 2>err.txt
  cmp zst.tsv calls.tsv
  grep -q "is zstd, which has no random access" err.txt || fail "$(cat err.txt)"
  # Where it is not read, files of a folder are refused, not skipped.
  mkdir mixed
  gzip -dc parts/1.fastq.gz >mixed/1.fastq
  cp zst/2.fastq.zst mixed
  for pipeline in overlap correct "polish --targets reference.fa" "polish --targets reference.fa --overlaps several.paf"; do
    # shellcheck disable=SC2086
    run $pipeline --reads mixed --output mixed.out 2>err.txt && fail "$pipeline of a folder with zstd"
    grep -q "mixed/2.fastq.zst' is compressed with zstd, which is not read here" err.txt || fail "$pipeline: $(cat err.txt)"
  done
else
  echo "SKIPPED: zstd is not installed, so its files are not read"
fi

# Reads that are compared with each other, and that contigs are polished with: several files as the one of all of them.
gzip -dc parts/1.fastq.gz parts/2.fastq.gz parts/3.fastq.gz >together.fastq
for pipeline in overlap correct "polish --targets reference.fa"; do
  # shellcheck disable=SC2086
  run $pipeline --reads together.fastq --output together.out
  [ -s together.out ] || fail "$pipeline gives nothing"
  # shellcheck disable=SC2086
  run $pipeline --reads 'parts/*.fastq.gz' --output several.out
  cmp several.out together.out || fail "$pipeline"
  # shellcheck disable=SC2086
  run $pipeline --reads parts/1.fastq.gz --reads parts/2.fastq.gz --reads parts/3.fastq.gz --threads 1 --output several.out
  cmp several.out together.out || fail "$pipeline, one thread"
done
run overlap --reads parts/1.fastq.gz --targets parts/2.fastq.gz --targets parts/3.fastq.gz --output several.out
gzip -dc parts/2.fastq.gz parts/3.fastq.gz >targets.fastq
run overlap --reads parts/1.fastq.gz --targets targets.fastq --output together.out
cmp several.out together.out || fail "several targets"
cp parts/1.fastq.gz copy.fastq.gz
run overlap --reads parts/1.fastq.gz --reads copy.fastq.gz --output several.out 2>err.txt && fail "a read twice among the targets"
grep -q "copy.fastq.gz', line 1: there is an earlier sequence named" err.txt || fail "$(cat err.txt)"

# What can't be.
message() { "$sluice" run classify_signal --target reference.fa --output x.tsv --quiet "$@" 2>&1 >/dev/null || true; }
says() { local expected=$1; shift; message "$@" | grep -q -e "$expected" || fail "not '$expected': $(message "$@")"; }
mkdir nothing
says "there is no input in 'nothing'" --signal nothing
says "comes twice" --signal parts --signal parts/2.blow5
says "cannot open 'missing.blow5'" --signal parts/1.blow5 --signal missing.blow5
head -c 5000 parts/1.blow5 >cut.blow5
says "cut.blow5" --signal parts/2.blow5 --signal cut.blow5
run simulate --reference reference.fa --reads 2 --mean-length 2000 --record-compression none --output-prefix plain
says "record_compression zlib and none" --signal parts/1.blow5 --signal plain.blow5
"$sluice" run classify_signal --target reference.fa --signal parts --output parts/2.blow5 --quiet 2>err.txt && fail "an output took the place of one of several inputs"
grep -q "also an input" err.txt || fail "$(cat err.txt)"
[ ! -e x.tsv ] || fail "an output of a run that failed"
