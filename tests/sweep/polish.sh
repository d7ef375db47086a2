#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run polish` with the scores of racon, or others, against racon: the same bytes, over drafts with errors, reads of very different quality and overlaps that are good,
# short, doubled or wrong.
#   polish.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice make_test_input=$build/bin/make_test_input kept=$build/sweep/polish
command -v racon >/dev/null || { echo "SKIPPED: there is no racon"; exit 77; }
[ -x "$make_test_input" ] || { echo "SKIPPED: there is no $make_test_input"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/parts/counted_random.sh"
. "$here/parts/shrink.sh"
differs() { # OVERLAPS
  racon -t 2 "${peer[@]}" reads.fq "$1" "$targets" >expected.fa 2>racon.txt || return 1 # what racon refuses is no case
  "$sluice" run polish --targets "$targets" --reads reads.fq --overlaps "$1" "${options[@]}" "${how[@]}" --allow-empty --output found.fa --quiet >said.txt 2>&1 || return 0
  ! cmp -s expected.fa found.fa
}
cases=0 differences=0 counter=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=12
SECONDS=0
while ((cases < last && (seconds == 0 || SECONDS < seconds))); do
  draw 1000000 && own=$drawn
  draw 4 && length=$((2000 + 4000 * drawn))
  draw 3 && contigs=$((1 + drawn))
  errors=(20000 60000 120000 200000) && draw 4 && read_errors=${errors[drawn]}
  draw 30 && reads=$((6 + 4 * drawn))
  # The reads are of one sequence; the draft is that sequence with errors, cut into contigs.
  "$make_test_input" noisy_reads "$own" "$length" $reads 1500 "$read_errors" >reads.fq || exit 1
  "$make_test_input" noisy_reads "$own" "$length" $contigs $length 30000 | awk 'NR % 4 == 1 { print ">contig" ++n } NR % 4 == 2' >draft.fa
  targets=draft.fa peer=() options=()
  draw 5
  if [ "$drawn" = 0 ]; then
    targets=reads.fq peer=(-f) options=(--preset reads)
    "$sluice" run overlap --reads reads.fq --output overlaps.paf --quiet --allow-empty 2>/dev/null || continue
  else
    "$sluice" run map --reference draft.fa --reads reads.fq --output overlaps.paf --quiet --allow-empty 2>/dev/null || continue
  fi
  cut -f1-12 overlaps.paf >few.paf && mv few.paf overlaps.paf
  [ -s overlaps.paf ] || continue
  # Overlaps that say too much, or the same twice, are for both to judge.
  draw 4
  case $drawn in
    0) awk -F'\t' -v OFS='\t' 'NR % 5 == 0 { $4 = $3 + int(($4 - $3) / 2) } 1' overlaps.paf >odd.paf && mv odd.paf overlaps.paf ;;
    1) awk 'NR % 3 == 0' overlaps.paf >>overlaps.paf.more && cat overlaps.paf.more >>overlaps.paf && rm overlaps.paf.more ;;
  esac
  windows=(100 200 500 500 777) && draw 5 && peer+=(-w "${windows[drawn]}") options+=(--window-length "${windows[drawn]}")
  qualities=(0 5 10 10 15) && draw 5 && peer+=(-q "${qualities[drawn]}") options+=(--min-quality "${qualities[drawn]}")
  limits=(0.1 0.3 0.3 0.6) && draw 4 && peer+=(-e "${limits[drawn]}") options+=(--max-error "${limits[drawn]}")
  draw 3
  case $drawn in
    0) peer+=(-m 5 -x -4 -g -8) options+=(--match 5 --mismatch -4 --gap -8) ;;
    1) peer+=(-m 1 -x -1 -g -1) options+=(--match 1 --mismatch -1 --gap -1) ;;
    *) options+=(--compat racon) ;; # racon's own scores
  esac
  draw 3 && if [ "$drawn" = 0 ]; then peer+=(-u) options+=(--include-unpolished); fi
  draw 3 && if [ "$drawn" = 0 ]; then peer+=(--no-trimming) options+=(--trim never); fi
  draw 4 && how=(--threads $((1 + drawn)))
  draw 3 && [ "$drawn" = 0 ] || how+=(--batch-work $((1 + drawn * 30000)))
  cases=$((cases + 1))
  differs overlaps.paf || continue
  differences=$((differences + 1))
  cp overlaps.paf few.paf
  shrink few.paf differs few.paf
  differs few.paf
  folder=$kept/$seed.$cases
  mkdir -p "$folder" && cp draft.fa reads.fq few.paf overlaps.paf expected.fa "$folder"
  echo "DIFFERENCE: $(wc -l <few.paf) overlaps of $(wc -l <overlaps.paf): $(tail -1 said.txt)"
  echo "  cd $folder; $sluice run polish --targets $targets --reads reads.fq --overlaps few.paf ${options[*]} ${how[*]} | cmp - expected.fa; racon ${peer[*]} reads.fq few.paf $targets"
done
echo "polish: $cases cases, $differences differences (seed $seed)"
[ $differences = 0 ]
