#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Pipelines give the same bytes on a processor without AVX-512, on one without AVX2, and on one with no more than every x86-64 has.
#   older_processors.sh SLUICE LIBRARY      LIBRARY: older_processor.so
set -euo pipefail
sluice=$(realpath "$1") library=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ldd "$(dirname "$sluice")"/plugins/abea.so 2>/dev/null | grep -q 'libhwy\.so' || { echo "skipped: Highway is part of the plugins here, and a library cannot bound it"; exit 77; }
run() { "$sluice" "$@" --quiet --threads 2 --device cpu; }

run synthetic_reference --length 60000 --seed 3 --repeats 0.2 --output ref.fa
run simulate --reference ref.fa --reads 50 --mean-length 4000 --seed 4 --output-prefix r
inputs=(--signal r.blow5 --alignments r.bam --reference ref.fa)
pipelines() { # FOLDER
  mkdir "$1"
  run simulate --reference ref.fa --reads 20 --mean-length 3000 --seed 5 --output-prefix "$1/s"
  run methylation "${inputs[@]}" --output "$1/calls.tsv" --frequency "$1/sites.tsv" --bedmethyl "$1/sites.bed"
  run eventalign "${inputs[@]}" --output "$1/events.tsv"
  run resquiggle --signal r.blow5 --reads r.fastq.gz --output "$1/squiggles.paf"
  run classify_signal --signal r.blow5 --reference ref.fa --search sdtw --threshold 0.4 --output "$1/sdtw.tsv"
  run classify_signal --signal r.blow5 --reference ref.fa --search seeds --threshold 0.4 --output "$1/seeds.tsv"
  run map --reference ref.fa --reads r.fastq.gz --output "$1/hits.paf"
  run map --reference ref.fa --reads r.fastq.gz --format sam --output - | grep -v '^@PG' >"$1/hits.sam"
  run overlap --reads r.fastq.gz --output "$1/overlaps.paf"
  run correct --reads r.fastq.gz --output "$1/corrected.fa"
  run polish --reference ref.fa --reads r.fastq.gz --output "$1/polished.fa"
}
pipelines this
for file in this/*; do [ -s "$file" ] || { echo "FAILED: $file is empty"; exit 1; }; done
for processor in avx2 sse4 x86-64; do
  export OLDER_PROCESSOR=$processor
  # Those without AVX2 have no fused multiply-add either: glibc's exp, log and pow then differ in the last place.
  [ $processor = avx2 ] || export GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2
  LD_PRELOAD=$library pipelines $processor
  diff -rq this $processor || { echo "FAILED: with $processor bytes differ"; exit 1; }
  echo "same bytes with $processor: $(find $processor -type f | wc -l) files"
done
