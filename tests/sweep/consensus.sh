#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run consensus` against libspoa: consensus and every row of the alignment, over windows that are unkind (repeats, pieces that are missing or
# there twice, sequences of something else, N), with linear, affine and convex gaps.
#   consensus.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice spoa=$build/bin/spoa_windows kept=$build/sweep/consensus
[ -x "$spoa" ] || { echo "SKIPPED: there is no $spoa (target sweeps, where libspoa-dev is installed)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/parts/counted_random.sh"
. "$here/parts/shrink.sh"
# A window's consensus and rows on one line, by name.
lines_of() { paste - - | awk -F'\t' '{ name = $1; sub(/ .*/, "", name); print name "\t" $2 }'; }
differs() { # WINDOWS
  "$spoa" solve "${scores[@]}" <"$1" | lines_of | LC_ALL=C sort >expected.txt || exit 1
  "$sluice" run consensus --windows "$1" --alignment "${scores[0]}" --match "${scores[1]}" --mismatch "${scores[2]}" "${gaps[@]}" "${how[@]}" \
    --output consensus.fa --msa rows.fa --quiet >said.txt 2>&1 || return 0
  cat consensus.fa rows.fa | lines_of | LC_ALL=C sort >found.txt
  ! cmp -s expected.txt found.txt
}
one_window_differs() { # SEQUENCES, a line each
  (echo ">w $(wc -l <"$1")"; cat "$1") >one.txt
  differs one.txt
}
types=(global local semi_global)
# Scores that people use, and odd ones. Linear, affine, convex.
sets=("5 -4 -8 -8 -8 -8" "3 -5 -4 -4 -4 -4" "1 -1 -1 -1 -1 -1" "5 -4 -8 -6 -10 -4" "5 -4 -8 -6 -8 -6" "2 -4 -4 -2 -24 -1" "4 -2 -6 -1 -6 -1" "5 -10 -4 -4 -4 -4" "1 0 -1 -1 -1 -1")
cases=0 differences=0 counter=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=400
SECONDS=0
while ((cases < last && (seconds == 0 || SECONDS < seconds))); do
  draw 3 && type=${types[drawn]}
  draw ${#sets[@]} && read -r -d '' -a scores <<<"$type ${sets[drawn]}"
  gaps=(--gap-open "${scores[3]}" --gap-extend "${scores[4]}")
  [ "${scores[5]}" = "${scores[3]}" ] || gaps+=(--second-gap-open "${scores[5]}" --second-gap-extend "${scores[6]}")
  draw 8 && how=(--threads $((1 + drawn % 3)))
  draw 3 && [ "$drawn" = 0 ] || how+=(--batch-work $((1 + 100000 * drawn)))
  draw 1000000
  "$spoa" make "$drawn" 40 >windows.txt || exit 1
  cases=$((cases + 40))
  differs windows.txt || continue
  differences=$((differences + 1))
  # The first window with another line, then as few of its sequences as still differ.
  name=$(LC_ALL=C comm -3 expected.txt found.txt | head -1 | sed 's/^\t*>//; s/[\t\/].*//')
  awk -v name=">$name" '/^>/ { on = $1 == name; next } on' windows.txt >sequences.txt
  folder=$kept/$seed.$cases
  mkdir -p "$folder"
  cp windows.txt "$folder/all_windows.txt"
  if one_window_differs sequences.txt; then
    shrink sequences.txt one_window_differs sequences.txt
    one_window_differs sequences.txt
  fi
  cp one.txt "$folder/windows.txt" && cp expected.txt "$folder"
  echo "DIFFERENCE: ${scores[*]}, window $name: $(wc -l <sequences.txt) sequences: $(tail -1 said.txt) $(diff expected.txt found.txt | head -4 | cut -c1-200)"
  echo "  $sluice run consensus --windows $folder/windows.txt --alignment ${scores[0]} --match ${scores[1]} --mismatch ${scores[2]} ${gaps[*]} --msa rows.fa; $spoa solve ${scores[*]} <$folder/windows.txt"
done
echo "consensus: $cases cases, $differences differences (seed $seed)"
[ $differences = 0 ]
