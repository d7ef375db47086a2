#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Consensus of windows beside abPOA, in turn, one thread, whole processes. Prints windows a second of processor time (best of the rounds) and how many bases of the
# sequences that the windows were made from (third word of their headers) are right: 1 - edit distance / length, by IDENTITY, if that program is given.
#   consensus.sh SLUICE ROUNDS IDENTITY|- WINDOWS...
# IDENTITY TRUTH CONSENSUS: a program that prints the identity of the lines of TRUTH and the records of CONSENSUS.
set -euo pipefail
sluice=$1 rounds=$2 identity=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seconds() {  # NAME COMMAND...: appends CPU seconds
  local name=$1
  shift
  /usr/bin/time -f "%U %S" -o "$work/time" "$@"
  awk '{ print $1 + $2 }' "$work/time" >>"$work/$name"
}
rate() { sort -n "$work/$1" | awk -v n="$2" 'NR == 1 { printf "%.0f", n / $1 }'; }
right() { if [ "$identity" = - ]; then echo -; else "$identity" "$work/truth" "$1" | tr '\n' ' '; fi; }
for windows; do
  rm -rf "$work"/*
  mkdir "$work/windows"
  awk -v folder="$work/windows" '/^>/ { close(file); file = folder "/" n++ ".fa"; print file; sequence = 0; next } { print ">" sequence++ "\n" $0 >file }' "$windows" >"$work/list"
  awk '/^>/ { print $3 }' "$windows" >"$work/truth"
  count=$(wc -l <"$work/truth")
  for ((round = 0; round < rounds; ++round)); do
    seconds abpoa sh -c "abpoa -l '$work/list' >'$work/abpoa.fa' 2>/dev/null"
    for algorithm in heaviest_bundle majority; do
      seconds $algorithm "$sluice" run consensus --windows "$windows" --algorithm $algorithm --threads 1 --output "$work/$algorithm.fa" --quiet
    done
  done
  for name in abpoa heaviest_bundle majority; do
    printf '%-32s %-16s %8s windows/s  %s\n' "$(basename "$windows")" $name "$(rate $name "$count")" "$(right "$work/$name.fa")"
  done
done
