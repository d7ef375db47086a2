#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Small runs of many pipelines in which one call of the system fails: memory that is not there, a file that can't be opened, read, written, flushed,
# renamed or closed, a thread that can't be started. Each ends with the bytes of an undisturbed run, or with a message and no output under its name;
# none crashes or hangs.
#   faults.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice library=$build/tests/faults/libfailing_calls.so kept=$build/sweep/faults
[ -e "$library" ] || { echo "SKIPPED: there is no $library (target sweeps)"; exit 77; }
if ldd "$sluice" | grep -q "lib[at]san"; then echo "SKIPPED: sanitizers have functions of their own for what fails here"; exit 77; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
ulimit -c 0
. "$here/parts/counted_random.sh"
. "$here/parts/whole_runs.sh"
make_inputs || exit 1

kinds=(memory place place place open read write fsync rename close mmap thread)
# What a message of each must say, whoever found it.
declare -A words=(
  # toml++ reads numbers with streams, which take a lack of memory for a wrong number.
  [memory]="memory|allocate|could not be interpreted" [place]="memory|allocate|could not be interpreted" [open]="Too many open files" [read]="Input/output error" [write]="No space left on device|is the disk full" [fsync]="Input/output error|is the disk full"
  [rename]="Input/output error" [close]="Input/output error" [mmap]="memory|allocate" [thread]="threads|temporarily unavailable"
)
outputs() { find out -type f ! -name '.*' ! -name '*.partial' | LC_ALL=C sort; }
disturbed() { # KIND@FIRST[+COUNT] COUNTS: exit code in $code
  fresh_inputs
  { timeout -s KILL 120 env FAILING_CALL="$1" FAILING_CALL_COUNTS="$2" LD_PRELOAD="$library" "${command[@]}" >said.txt 2>&1; } 2>/dev/null
  code=$?
}

# Undisturbed runs: their bytes, and how many calls of each kind there are to fail.
declare -A calls
count_calls() { # NAME KIND
  disturbed "$2@1000000000" "$work/counts"
  if [ "$code" != 0 ] || [ ! -s counts ]; then
    echo "faults: the undisturbed run of $1 ends with $code: $(tail -2 said.txt)"
    exit 1
  fi
  calls[$1 $2]=$(cat counts)
}
keep_whole() { # NAME: of the last run
  [ -d "whole/$1" ] && return
  mkdir -p "whole/$1"
  while read -r file; do cp "$file" "whole/$1/${file##*/}"; done < <(outputs)
}

problem_of() { # NAME KIND: empty where the last run ended as it should
  local file name
  if [ "$code" = 137 ]; then echo "hangs"; return; fi
  # The C library ends a process itself where it gets no memory for the end of a thread.
  if [ "$code" -gt 128 ] && grep -q "^Fatal glibc error: .*out of memory" said.txt; then return; fi
  # So does the loader, with this code.
  if [ "$code" = 127 ] && grep -q "out of memory\|cannot allocate memory" said.txt; then return; fi
  if [ "$code" -gt 128 ]; then echo "crashes ($code)"; return; fi
  while read -r file; do
    name=${file##*/}
    if ! cmp -s "$file" "whole/$1/$name"; then echo "$name is not whole under its own name (exit code $code)"; return; fi
    # Of several outputs some may be there already where the rest could not be put in place; that has to be said.
    if [ "$code" != 0 ] && ! grep -qF -e "$name" -e "its outputs are whole" said.txt; then echo "$name is there though the run failed, and nothing says so"; return; fi
  done < <(outputs)
  if [ "$code" = 0 ]; then
    for file in "whole/$1"/*; do [ -e "out/${file##*/}" ] || { echo "exit code 0 without ${file##*/}"; return; }; done
  elif [ "$code" -ge 126 ]; then echo "ends with $code"
  elif ! grep -qE "${words[$2]}" said.txt; then echo "the message does not say what failed"
  fi
}

cases=0 differences=0 ended=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=40
SECONDS=0
for ((number = 0; number < last && (seconds == 0 || SECONDS < seconds); ++number)); do
  random "$seed" $((4 * number)); name=${pipelines[random % ${#pipelines[@]}]}
  random "$seed" $((4 * number + 1)); kind=${kinds[random % ${#kinds[@]}]}
  set_command "$name"
  [ -n "${calls[$name $kind]:-}" ] || { count_calls "$name" "$kind"; keep_whole "$name"; }
  total=${calls[$name $kind]}
  [ "$total" -gt 0 ] || continue
  # Half of them among the first, where a run is set up; and some from which on all fail.
  random "$seed" $((4 * number + 2)); first=$((1 + random % total))
  random "$seed" $((4 * number + 3))
  if ((random % 2 == 0)); then first=$((1 + first % 300 % total)); fi
  wish=$kind@$first
  if ((random / 2 % 4 == 0)); then wish+=+; fi
  disturbed "$wish" "$work/counts"
  cases=$((cases + 1))
  [ "$code" = 0 ] || ended=$((ended + 1))
  problem=$(problem_of "$name" "$kind")
  [ -n "$problem" ] || continue
  differences=$((differences + 1))
  mkdir -p "$kept"
  cp -r made said.txt "$kept"
  echo "DIFFERENCE: $name with $wish $problem: $(grep -v '^$' said.txt | tail -1 | cut -c1-300)"
  echo "  (mkdir -p out; cp -r $kept/made in; FAILING_CALL=$wish LD_PRELOAD=$library ${command[*]})"
done
echo "faults: $cases cases ($ended ended with an error), $differences differences (seed $seed)"
[ $differences = 0 ]
