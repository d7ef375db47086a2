#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice live` and the plugin of readfish against the stand-in for a sequencer, with minknow-api and readfish from PyPI.
#   live.sh SLUICE LIBSLUICE SOURCE_DIR PYTHON_ENVIRONMENT [TEST...]
set -euo pipefail
sluice=$1 library=$2 source=$3 environment=$4
shift 4
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(source_test live_units_test live_test readfish_test)
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
command -v openssl >/dev/null || { echo "SKIPPED: there is no openssl, which makes the stand-in's certificate"; exit 77; }
if ! "$environment/bin/python" -c 'import minknow_api, pyarrow, readfish' 2>/dev/null; then
  rm -rf "$environment"
  { python3 -m venv "$environment" && "$environment/bin/pip" install --quiet --disable-pip-version-check minknow-api 'readfish==2024.3.*' pyarrow; } ||
    { echo "SKIPPED: PyPI can't be reached, or has no minknow-api and readfish for this Python"; exit 77; }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$sluice" run synthetic_reference --length 10000 --seed 5 --output target.fa --quiet
"$sluice" run synthetic_reference --length 15000 --seed 6 --output other.fa --quiet
sed 's/^>/>other_/' other.fa | cat target.fa - >genome.fa
"$sluice" run simulate --reference genome.fa --reads 96 --seed 7 --mean-length 2000 --minimum-length 1000 --output-prefix r --quiet
export SLUICE_PROGRAM=$sluice SLUICE_LIBRARY=$library SLUICE_PYTHON=$environment/bin/python PYTHONPATH=$source/python:$source/tests/python PYTHONDONTWRITEBYTECODE=1
for test in "${tests[@]}"; do
  echo "== $test"
  timeout 900 "$environment/bin/python" "$source/tests/python/$test.py" || exit 1
done
