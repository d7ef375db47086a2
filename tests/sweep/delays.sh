#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Small runs of many pipelines with sleeps of random length around every lock: the same bytes as undisturbed, and no hang.
#   delays.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice library=$build/tests/faults/libdelayed_locks.so kept=$build/sweep/delays
[ -e "$library" ] || { echo "SKIPPED: there is no $library (target sweeps)"; exit 77; }
if ldd "$sluice" | grep -q "lib[at]san"; then echo "SKIPPED: sanitizers have locks of their own"; exit 77; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
. "$here/parts/counted_random.sh"
. "$here/parts/whole_runs.sh"
make_inputs || exit 1
keep_whole() { # NAME
  [ -d "whole/$1" ] && return
  fresh_inputs
  "${command[@]}" || exit 1
  mkdir -p whole && mv out "whole/$1"
}
cases=0 differences=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=15
SECONDS=0
for ((number = 0; number < last && (seconds == 0 || SECONDS < seconds); ++number)); do
  name=${pipelines[number % ${#pipelines[@]}]}
  set_command "$name"
  keep_whole "$name"
  fresh_inputs
  random "$seed" $((3 * number)); own=$random
  random "$seed" $((3 * number + 1)); set_command "$name" $((1 + random % 8))
  # Small batches meet more often.
  random "$seed" $((3 * number + 2))
  if ((random % 2 == 0)) && [ "$name" != simulate ]; then command+=(--batch-work $((1000 + random / 2 % 20000))); fi
  { timeout -s KILL 300 env DELAYED_LOCKS="$own" LD_PRELOAD="$library" "${command[@]}" >said.txt 2>&1; } 2>/dev/null
  code=$?
  cases=$((cases + 1))
  if [ $code = 0 ] && diff -rq "whole/$name" out >differs.txt; then continue; fi
  differences=$((differences + 1))
  mkdir -p "$kept"
  cp -r made said.txt "$kept"
  echo "DIFFERENCE: $name with DELAYED_LOCKS=$own ends with $code: $(cat differs.txt said.txt 2>/dev/null | grep -v '^$' | tail -1 | cut -c1-300)"
  echo "  (mkdir -p out; cp -r $kept/made in; DELAYED_LOCKS=$own LD_PRELOAD=$library ${command[*]})"
done
echo "delays: $cases cases, $differences differences (seed $seed)"
[ $differences = 0 ]
