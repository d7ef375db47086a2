#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Does the preset tsan see anything? A race that is planted in a stage is found, at its line, between threads of the run; the same run without it is quiet.
#   planted_race.sh SLUICE TEST_PLUGIN_DIR SOURCE_DIR
set -euo pipefail
sluice=$1 plugins=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
export TSAN_OPTIONS="suppressions=$source/tests/tsan.supp"
cat >race.toml <<'TOML'
[pipeline]
name = "race"
[parameters.what]
type = "string"
default = "nothing"
[stages.numbers]
use = "misbehaving_source"
params.batches = 40
[stages.work]
use = "misbehaving_map"
params.what = "${what}"
[stages.sink]
use = "misbehaving_sink"
params.output = "out.txt"
TOML
run() { "$sluice" run race.toml --plugin-dir "$plugins" --threads 4 --device cpu --what "$1" >"$1.log" 2>&1; }
run nothing || { cat nothing.log; fail "a run without a race"; }
! grep -q ThreadSanitizer nothing.log || { cat nothing.log; fail "ThreadSanitizer reports a race where there is none"; }
! run race || fail "a run with a race ends as if there were none"
grep -q 'WARNING: ThreadSanitizer: data race' race.log || { cat race.log; fail "the race is not found: is oneTBB instrumented (./dev test tsan)?"; }
line=$(grep -n '// RACE' "$source/tests/plugins/misbehaving_stages/stage.cpp" | cut -d: -f1)
grep -q "misbehaving_stages/stage.cpp:$line" race.log || { cat race.log; fail "the report does not show line $line"; }
echo "the race is found"
