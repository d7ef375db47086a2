#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The Python package over the library of this build, in a virtual environment with pyarrow, polars, duckdb and mypy from PyPI.
#   package.sh SLUICE LIBSLUICE SOURCE_DIR PYTHON_ENVIRONMENT [TEST...]
set -euo pipefail
sluice=$1 library=$2 source=$3 environment=$4
shift 4
tests=("$@")
here=$source/tests/python
[ ${#tests[@]} -gt 0 ] || tests=(runs_test processes_test locale_test streams_test stages_test workers_test hints_test skeleton_test leaks_test documented example)
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
if ! "$environment/bin/python" -c 'import numpy, pyarrow, polars, duckdb, mypy' 2>/dev/null; then
  rm -rf "$environment"
  { python3 -m venv "$environment" && "$environment/bin/pip" install --quiet --disable-pip-version-check numpy pyarrow polars duckdb mypy; } ||
    { echo "SKIPPED: PyPI can't be reached, or python3 has no venv"; exit 77; }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$sluice" run synthetic_reference --length 20000 --seed 2 --output ref.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 60 --seed 2 --mean-length 1500 --output-prefix r --quiet
"$sluice" run synthetic_reference --length 20 --contigs 2000 --seed 3 --output many.fa --quiet
export SLUICE_PROGRAM=$sluice SLUICE_LIBRARY=$library PYTHONPATH=$source/python:$here PYTHONDONTWRITEBYTECODE=1
for test in "${tests[@]}"; do
  echo "== $test"
  case $test in
    documented)
      timeout 300 "$environment/bin/python" "$here/documented.py" "$source/docs/python.md" >documented.log 2>&1 || { cat documented.log; exit 1; }
      continue ;;
    example)
      timeout 300 "$environment/bin/python" "$source/examples/python/methylation_region.py" r.blow5 r.fastq.gz r.bam ref.fa synthetic_1:1000-15000 region.svg |
        tee example.log
      grep -q '^[1-9][0-9]* sites, [1-9][0-9]* calls, mean methylation 0\.[0-9]' example.log || { echo "FAILED: the example has no sites"; exit 1; }
      grep -q 'no matplotlib' example.log || [ -s region.svg ] || { echo "FAILED: the example has no picture"; exit 1; }
      continue ;;
  esac
  timeout 900 "$environment/bin/python" -W error::ResourceWarning "$here/$test.py" || exit 1
done
