#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Exact matches beside bwa fastmap, in turn, one thread, whole processes without making the index. Prints the least CPU and wall seconds of the rounds and their ratio,
# and stops if the lines differ.
#   seeding.sh SLUICE REFERENCE READS [ROUNDS]
set -euo pipefail
sluice=$1 reference=$2 reads=$3 rounds=${4:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bwa index -p "$work/bwa" "$reference" 2>/dev/null
head -4 "$reads" >"$work/one.fq"
"$sluice" run seed --reference "$reference" --text both --reads "$work/one.fq" --save-index "$work/index" --output /dev/null --quiet
seconds() {  # NAME COMMAND...: appends CPU and wall seconds
  local name=$1
  shift
  /usr/bin/time -f "%U %S %e" -o "$work/time" "$@"
  awk '{ print $1 + $2, $3 }' "$work/time" >>"$work/$name"
}
least() { sort -n -k "$2" "$work/$1" | awk -v column="$2" 'NR == 1 { print $column }'; }
printf '%-10s %12s %12s %8s %12s %12s\n' length bwa_cpu sluice_cpu ratio bwa_wall sluice_wall
for length in 12 16 20; do
  rm -f "$work/peer" "$work/ours"
  for ((round = 0; round < rounds; ++round)); do
    seconds peer sh -c "bwa fastmap -l $length '$work/bwa' '$reads' >'$work/peer.txt' 2>/dev/null"
    seconds ours "$sluice" run seed --reference "$work/index" --reads "$reads" --format fastmap --min-length $length --threads 1 --output "$work/ours.txt" --quiet
    cmp "$work/peer.txt" "$work/ours.txt"
  done
  printf '%-10s %12s %12s %8.1f %12s %12s\n' $length "$(least peer 1)" "$(least ours 1)" "$(echo "$(least peer 1) $(least ours 1)" | awk '{ print $1 / $2 }')" "$(least peer 2)" "$(least ours 2)"
done
