#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Shows: a whole run from nothing: a reference, reads with signal and known methylation, calls, and how well they agree with the truth.
# Run: examples/demo.sh build/release/bin/sluice [FOLDER]      (or ./dev demo)
set -euo pipefail
sluice=$1 folder=${2:-build/demo}
mkdir -p "$folder"
if [ -t 2 ]; then bold=$'\033[1m' plain=$'\033[0m'; else bold="" plain=""; fi
run() { printf '\n%s$ sluice %s%s\n' "$bold" "$*" "$plain" >&2; "$sluice" "$@"; }

run run synthetic_reference --length 48502 --seed 7 --output "$folder/reference.fa"
run run simulate --reference "$folder/reference.fa" --reads 400 --seed 7 --mean-length 6000 --output-prefix "$folder/reads"
run run methylation --signal "$folder/reads.blow5" --reads "$folder/reads.fastq.gz" --alignments "$folder/reads.bam" --reference "$folder/reference.fa" \
  --output "$folder/calls.tsv" --frequency "$folder/frequency.tsv" --modbam "$folder/reads.mod.bam" --report "$folder/run.json"
printf '\nThe first calls (positive log_lik_ratio: methylated):\n'
head -4 "$folder/calls.tsv" | cut -f 1-6,10-11
printf '\nAgainst the truth of the simulation:\n'
run run methylation_accuracy --calls "$folder/calls.tsv" --site-truth "$folder/reads.truth.tsv" --read-truth "$folder/reads.truth_reads.tsv" \
  --reference "$folder/reference.fa" --output "$folder/accuracy.json" --quiet
sed -n 's/^ *"\(auc\|frequency_correlation\|frequency_rmse\|single_site_calls\|sites\)": \(.*[0-9]\),\{0,1\}$/  \1 \2/p' "$folder/accuracy.json"
printf '\nSame bytes on one thread, a read at a time: '
"$sluice" run methylation --signal "$folder/reads.blow5" --reads "$folder/reads.fastq.gz" --alignments "$folder/reads.bam" --reference "$folder/reference.fa" \
  --output "$folder/calls.again.tsv" --threads 1 --batch-work 1 --quiet
cmp "$folder/calls.tsv" "$folder/calls.again.tsv" && echo yes
echo "Files are in $folder."
