#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Pipelines over signal give the same bytes for any threads, batches, memory and executor, and on devices where there are some: eventalign, methylation
# with all of its outputs, resquiggle and correction, over simulated reads of many lengths.
#   same_bytes.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice kept=$build/sweep/same_bytes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/parts/counted_random.sh"
devices=(cpu)
if [ -n "$("$sluice" doctor 2>/dev/null | grep -o 'cuda:[0-9]*' | head -1)" ]; then devices+=(cuda auto); fi
run_into() { # FOLDER OPTIONS...
  local folder=$1
  shift
  rm -rf "$folder" && mkdir "$folder"
  case $name in
    methylation)
      "$sluice" run methylation "${inputs[@]}" --output "$folder/calls.tsv" --frequency "$folder/frequency.tsv" --modbam "$folder/mods.bam" \
        --bedmethyl "$folder/sites.bed" "$@" --quiet
      ;;
    eventalign) "$sluice" run eventalign "${inputs[@]}" --output "$folder/events.tsv" "$@" --quiet ;;
    resquiggle) "$sluice" run resquiggle --signal r.blow5 --reads r.fastq.gz --output "$folder/segments.tsv" "$@" --quiet ;;
    correct) "$sluice" run correct --reads r.fastq.gz --output "$folder/corrected.fa" "$@" --quiet ;;
  esac >said.txt 2>&1
}
names=(methylation eventalign resquiggle correct)
cases=0 differences=0 counter=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=12
SECONDS=0
while ((cases < last && (seconds == 0 || SECONDS < seconds))); do
  draw 1000000 && own=$drawn
  lengths=(150 600 2500 9000) && draw 4 && mean=${lengths[drawn]}
  draw 30 && reads=$((1 + drawn * 120 / (1 + mean / 600)))
  "$sluice" run synthetic_reference --length 30000 --contigs 2 --seed "$own" --output ref.fa --quiet || exit 1
  rm -f r.*
  "$sluice" run simulate --reference ref.fa --reads $reads --mean-length $mean --seed "$own" --output-prefix r --quiet || exit 1
  inputs=(--signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa)
  for name in "${names[@]}"; do
    run_into expected --threads 1 --executor serial --device cpu --allow-empty || { echo "DIFFERENCE: $name fails: $(tail -1 said.txt)"; differences=$((differences + 1)); continue; }
    how=(--allow-empty)
    draw 9 && how+=(--threads $((1 + drawn)))
    draw 4 && [ "$drawn" = 0 ] || how+=(--batch-work $((1 + 3000 * drawn * drawn)))
    memories=(32MiB 64MiB 512MiB) && draw 3 && how+=(--memory "${memories[drawn]}")
    draw ${#devices[@]} && how+=(--device "${devices[drawn]}")
    draw 4 && [ "$drawn" != 0 ] || how+=(--executor serial)
    cases=$((cases + 1))
    if run_into found "${how[@]}" && diff -rq expected found >differs.txt; then continue; fi
    differences=$((differences + 1))
    folder=$kept/$seed.$cases
    mkdir -p "$folder" && cp ref.fa r.* "$folder"
    echo "DIFFERENCE: $name of $reads reads: $(cat differs.txt; tail -1 said.txt)"
    echo "  cd $folder; $sluice run $name ${inputs[*]} ${how[*]} (and --threads 1 --executor serial --device cpu)"
  done
done
echo "same_bytes: $cases cases, $differences differences (seed $seed)"
[ $differences = 0 ]
