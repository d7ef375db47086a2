#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The answer does not depend on how it ran: calls, frequencies and modBAM of simulated reads for several thread counts, batch sizes,
# budgets and both executors.
#   same_bytes.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$sluice" run synthetic_reference --length 30000 --seed 2 --output ref.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 150 --seed 2 --mean-length 2500 --output-prefix first --quiet
"$sluice" run simulate --reference ref.fa --reads 150 --seed 2 --mean-length 2500 --output-prefix second --quiet --threads 7 --batch-work 1
for ending in blow5 fastq.gz bam truth.tsv; do cmp "first.$ending" "second.$ending"; done
echo "the simulator gives the same bytes"

options=("--threads 1" "--threads 2" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 64MiB" "--memory 16MiB --threads 7" "--device cpu")
for option in "${options[@]}"; do
  # shellcheck disable=SC2086
  "$sluice" run methylation --signal first.blow5 --reads first.fastq.gz --alignments first.bam --reference ref.fa --output calls.tsv --frequency frequency.tsv \
    --modbam reads.mod.sam --quiet $option
  grep -v '^@PG' reads.mod.sam >reads.mod.txt
  cat calls.tsv frequency.tsv reads.mod.txt | cksum >now
  [ -e first_sum ] || cp now first_sum
  cmp first_sum now || { echo "FAILED: $option gives other bytes"; exit 1; }
  echo "same bytes: $option"
done
[ "$(wc -l <calls.tsv)" -gt 1000 ] || { echo "FAILED: only $(wc -l <calls.tsv) calls"; exit 1; }

for option in "--threads 1" "--threads 7 --batch-work 1" "--batch-work 30000"; do
  # shellcheck disable=SC2086
  "$sluice" run map --reference ref.fa --reads first.fastq.gz --format bam --output mapped.bam --quiet $option
  [ -e first.mapped.bam ] || cp mapped.bam first.mapped.bam
  cmp first.mapped.bam mapped.bam || { echo "FAILED: map --format bam $option gives other bytes"; exit 1; }
done
echo "map gives the same BAM bytes"
