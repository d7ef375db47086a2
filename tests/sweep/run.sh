#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Runs sweeps: made-up inputs without end, each compared with another program or with another way to the same bytes.
#   run.sh BUILD_DIR [NAME] [SECONDS] [SEED]
# NAME: a script beside this one, or `all`; SECONDS: of each; SEED: as an earlier run printed it, so that the same inputs come again.
# A sweep is NAME.sh BUILD_DIR SECONDS SEED. It prints `NAME: CASES cases, DIFFERENCES differences (seed S)` at its end. A difference is shrunk, left in
# BUILD_DIR/sweep/NAME and printed with the command that shows it; the exit code is then 1. Exit code 77: skipped, with a printed reason. 0 SECONDS are
# the few cases that ctest runs: the same number of them on every machine, below a minute.
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") name=${2:-all} seconds=${3:-60} seed=${4:-$(date +%s)}
if [ "$name" = all ]; then
  names=()
  for script in "$here"/*.sh; do [ "$(basename "$script")" = run.sh ] || names+=("$(basename "$script" .sh)"); done
elif [ "$name" != run ] && [ -x "$here/$name.sh" ]; then names=("$name")
else
  echo "there is no sweep $name; those that are there: $(cd "$here" && ls -- *.sh | grep -v '^run.sh$' | sed 's/\.sh$//' | tr '\n' ' ')" >&2
  exit 2
fi
outcome=0
for name in "${names[@]}"; do
  "$here/$name.sh" "$build" "$seconds" "$seed"
  case $? in
    0) ;;
    77) echo "$name: skipped" ;;
    *) outcome=1 ;;
  esac
done
exit $outcome
