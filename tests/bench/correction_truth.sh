#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Self-correction beside racon -f (overlaps by minimap2 -x ava-ont --dual=yes), where both are installed, on simulated reads whose truth is known. One line of
# a Markdown table for each set and program: see correction_truth.cpp for the columns; CPU seconds are whole processes.
#   correction_truth.sh SLUICE MAKE_CORRECTION_SET CORRECTION_TRUTH [chosen|judged|all] [racon|no_racon]
# Settings were chosen on the sets `chosen` (and on `correct` of the plugin's README); the sets `judged` were made afterwards, with other seeds. The kinds of sets were
# known, and an earlier rule for variants was seen to keep errors on sets of the same kinds with the seeds 101 to 111.
set -euo pipefail
sluice=$1 make_set=$2 truth=$3 which=${4:-judged} peer=${5:-racon}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chosen=(
  "plain|seed=1" "two haplotypes, 0.5 %|seed=2 haplotypes=2" "five copies, 99 %|seed=3 copies=5" "15 % errors|seed=4 errors=150000" "8-fold|seed=5 coverage=8"
  "two haplotypes, 8-fold|seed=6 haplotypes=2 coverage=8" "two haplotypes, 12-fold|seed=7 haplotypes=2 coverage=12"
)
judged=(
  "5 % errors|seed=201 errors=50000" "8 % errors|seed=202" "10 % errors|seed=203 errors=100000" "12 % errors|seed=204 errors=120000" "15 % errors|seed=205 errors=150000"
  "8-fold|seed=206 coverage=8" "12-fold|seed=207 coverage=12" "30-fold|seed=208 coverage=30" "60-fold|seed=209 coverage=60"
  "errors in runs|seed=210 runs=1" "errors in runs, 12 %|seed=211 runs=1 errors=120000"
  "30 % GC|seed=212 gc=30" "65 % GC, errors in runs|seed=213 gc=65 runs=1"
  "5 % chimeras|seed=214 chimeras=5" "low-complexity ends|seed=215 low_ends=400"
  "two haplotypes, 0.5 %|seed=216 haplotypes=2" "two haplotypes, 30-fold|seed=217 haplotypes=2 coverage=30" "two haplotypes, 12 % errors in runs|seed=218 haplotypes=2 runs=1 errors=120000"
  "two haplotypes, 0.1 %|seed=219 haplotypes=2 difference=1000"
  "two copies, 99 %|seed=220 copies=2" "five copies, 99 %|seed=221 copies=5" "five copies, 99 %, errors in runs|seed=222 copies=5 runs=1"
  "15 % errors in runs|seed=223 runs=1 errors=150000" "20 % errors|seed=224 errors=200000" "20 % errors in runs|seed=225 runs=1 errors=200000"
)
case $which in chosen) sets=("${chosen[@]}") ;; judged) sets=("${judged[@]}") ;; *) sets=("${chosen[@]}" "${judged[@]}") ;; esac

echo "| set | reads | program | lost | identity, % | median | worst | sites | kept, % | other's, % | CPU s |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
line() { # SET PROGRAM FILE CPU_SECONDS
  "$truth" "$work/set" "$3" | awk -v set="$1" -v program="$2" -v cpu="$4" 'BEGIN { FS = "\t"; OFS = " | " }
    { print "| " set, $1, program, $2, $3, $4, $5, $6, ($6 + 0 ? $7 : ""), ($6 + 0 ? $8 : ""), cpu " |" }'
}
timed() { /usr/bin/time -f "%U %S" -o "$work/time" "$@"; }
cpu() { awk '{ total += $1 + $2 } END { printf "%.1f", total }' "$work"/time*; }
for set in "${sets[@]}"; do
  name=${set%%|*}
  # shellcheck disable=SC2086
  "$make_set" "$work/set" ${set#*|}
  awk 'NR % 4 == 1 { print ">" substr($1, 2) } NR % 4 == 2' "$work/set/reads.fq" >"$work/reads.fa"
  line "$name" "before" "$work/reads.fa" ""
  if [ "$peer" != no_racon ] && command -v racon minimap2 >/dev/null; then
    timed minimap2 -x ava-ont --dual=yes -t 2 "$work/set/reads.fq" "$work/set/reads.fq" 2>/dev/null >"$work/overlaps.paf"
    mv "$work/time" "$work/time.overlaps"
    timed racon -f -t 2 "$work/set/reads.fq" "$work/overlaps.paf" "$work/set/reads.fq" 2>/dev/null | sed '/^>/s/ .*//; /^>/s/r$//' >"$work/racon.fa"
    line "$name" "racon -f" "$work/racon.fa" "$(cpu)"
    rm -f "$work"/time*
  fi
  for variants in majority kept; do
    timed "$sluice" run correct --quiet --reads "$work/set/reads.fq" --variants $variants --output "$work/$variants.fa"
    line "$name" "sluice, variants $variants" "$work/$variants.fa" "$(cpu)"
    rm -f "$work"/time*
  done
done
