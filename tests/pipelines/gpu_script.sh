#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# tests/gpu/run.sh itself, on a few simulated reads and whatever devices there are: its sections end, and its table has no failure.
#   gpu_script.sh SLUICE SOURCE_DIR
set -euo pipefail
sluice=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
built=$(dirname "$sluice")
mkdir -p "$work/runtime/bin" "$work/data/few"
ln -s "$sluice" "$work/runtime/bin/"
ln -s "$built/plugins" "$work/runtime/lib"
ln -s "$built/pipelines" "$work/runtime/pipelines"
"$sluice" run synthetic_reference --length 20000 --seed 4 --output "$work/data/reference.fa" --quiet
"$sluice" run simulate --reference "$work/data/reference.fa" --reads 30 --seed 4 --mean-length 1500 --output-prefix "$work/data/few/reads" --quiet
echo "--reference @/reference.fa" >"$work/data/few/options"
mkdir -p "$work/data/squiggles" "$work/data/windows"
cp "$work/data/few/reads.blow5" "$work/data/squiggles/signal.blow5"
head -c 9000 "$work/data/reference.fa" >"$work/data/squiggles/target.fa"
printf '>1 2 ACGTACGTACCA\nACGTACGGTACCA\nACGTACGTACCA\n>2 3 TTGACA\nTTGACA\nTTGCA\nTTGACA\n' >"$work/data/windows/windows.txt"
"$source/tests/gpu/run.sh" --sections doctor,same,faults,timing,scheduler,property,leak,devices,read_until,consensus,rna --devices auto --copies 3 --rounds 1 --reads 40 --batches 20 "$work/runtime" "$work/data" |
  tee "$work/log"
grep -q '^| timing | few 3 times --device auto |' "$work/log"
grep -q '^| read_until | squiggles read_until, lost@20 |' "$work/log"
grep -q '^| rna | rna004 resquiggle --device auto --threads 1 |' "$work/log"
grep -q '^| consensus | windows majority --device auto |' "$work/log"
"$source/tests/gpu/run.sh" --sections long --long-runs map_repeats50_8k,map_repeats50_long --long-reads 200 --long-threads 1,2 --devices auto "$work/runtime" "$work/data" | tee "$work/log"
grep -q '^| long | map_repeats50_8k, 2 threads, auto |' "$work/log"
grep -q '^| long | map_repeats50_long, 1 threads, cpu |' "$work/log"
