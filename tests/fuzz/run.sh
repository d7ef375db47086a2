#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Runs every fuzz target for so long, from its seeds and what earlier runs found, and says in one line each how it went. An input that breaks a
# target is left in BUILD_DIR/fuzz/TARGET, and ends the script with exit code 1 once all targets have run.
#   run.sh BUILD_DIR SECONDS
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2
broken=0
for source in "$here"/fuzz_*.cpp; do
  name=$(basename "$source" .cpp)
  corpus=$build/fuzz/$name/corpus log=$build/fuzz/$name/log
  mkdir -p "$corpus"
  options=(-max_total_time="$seconds" -max_len=4096 -print_final_stats=1 -artifact_prefix="$build/fuzz/$name/")
  [ ! -e "$here/${name#fuzz_}.dict" ] || options+=(-dict="$here/${name#fuzz_}.dict")
  if "$build/bin/$name" "${options[@]}" "$corpus" "$here/${name#fuzz_}_seeds" >"$log" 2>&1; then outcome="nothing found"
  else
    outcome="BROKEN: $(grep -aoE "Test unit written to .*" "$log" | head -1)"
    broken=1
    grep -aE -A 12 "ERROR:|runtime error:" "$log" | head -40 >&2
  fi
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  covered=$(grep -aoE "cov: [0-9]+" "$log" | tail -1)
  echo "$name: ${inputs:-?} inputs in $seconds s, ${covered#cov: } edges covered, $outcome"
done
exit $broken
