#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run pileup` over made-up alignments with the tags of many programs, against a count base by base with nothing but maps (pileup_case).
#   pileup.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice pileup_case=$build/bin/pileup_case kept=$build/sweep/pileup
[ -x "$pileup_case" ] || { echo "SKIPPED: there is no $pileup_case (target sweeps)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/parts/counted_random.sh"
. "$here/parts/shrink.sh"
mkdir case
# Writes the case of the records in the file kept, or of all, and looks whether the outputs differ.
differs() {
  "$pileup_case" "${made_of[@]}" case ${1:+"$1"} || exit 1
  "$sluice" run pileup --alignments case/reads.sam --reference case/ref.fa "${options[@]}" "${how[@]}" --supplementary --allow-empty --output case/found.bed --quiet 2>case/said.txt || return 0
  ! cmp -s case/found.bed case/expected.bed
}
cases=0 differences=0 counter=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=40
SECONDS=0
while ((cases < last && (seconds == 0 || SECONDS < seconds))); do
  thresholds=(0.5 0.6 0.75 0.75 0.9 0.998) partitions=(none none hp rg) flag_sets=(- - c cs r)
  draw 6 && threshold=${thresholds[drawn]}
  draw 4 && partition=${partitions[drawn]}
  draw 5 && flags=${flag_sets[drawn]}
  draw 40 && records=$((1 + drawn * drawn / 4))
  draw 2000 && bases=$((60 + drawn))
  draw 1000000 && made_of=("$drawn" "$records" "$bases" "$threshold" "$partition" "$flags")
  options=(--filter-threshold "$threshold" --partition "$partition")
  case $flags in *c*) options+=(--cpg) ;; esac
  case $flags in *s*) options+=(--combine-strands) ;; esac
  case $flags in *r*) options+=(--reference-bases) ;; esac
  how=()
  draw 3 && how+=(--threads $((1 + drawn)))
  draw 3 && [ "$drawn" = 0 ] || how+=(--batch-work $((1 + drawn * 700)))
  cases=$((cases + 1))
  differs || continue
  differences=$((differences + 1))
  seq 0 $((records - 1)) >kept.txt
  shrink kept.txt differs kept.txt
  differs kept.txt
  folder=$kept/$seed.$cases
  mkdir -p "$folder" && cp case/* "$folder"
  echo "DIFFERENCE: $(wc -l <kept.txt) records of $records: $(cat case/said.txt; diff case/expected.bed case/found.bed | head -4)"
  echo "  $sluice run pileup --alignments $folder/reads.sam --reference $folder/ref.fa ${options[*]} ${how[*]} --supplementary | diff $folder/expected.bed -"
done
echo "pileup: $cases cases, $differences differences (seed $seed)"
[ $differences = 0 ]
