#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# All that is published of a version, built from its tag: source tarball, Debian packages, the wheel where there is python/, release notes (the
# version's part of CHANGELOG.md) and SHA256SUMS of all of it.
#   packaging/release.sh [--rehearse BUILD_DIR] TAG FOLDER
# --rehearse takes the binaries of a build folder instead of building them, and lets the changelog say "unreleased".
set -euo pipefail
fail() { echo "release: $*" >&2; exit 1; }
say() { printf '%s\n' "$*" >&2; }
rehearsed=""
if [ "${1:-}" = --rehearse ]; then
  [ $# -ge 2 ] || fail "--rehearse needs a build folder"
  rehearsed=$(realpath "$2")
  shift 2
fi
[ $# = 2 ] || fail "usage: packaging/release.sh [--rehearse BUILD_DIR] TAG FOLDER"
tag=$1 folder=$2
cd "$(dirname "$0")/.."
git rev-parse --verify --quiet "refs/tags/$tag^{commit}" >/dev/null || fail "there is no tag '$tag': make it with git tag -a v..."
[ ! -e "$folder" ] || [ -z "$(ls -A "$folder")" ] || fail "'$folder' is not empty: give a new folder"
mkdir -p "$folder"
folder=$(realpath "$folder")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(git show "$tag:CMakeLists.txt" | sed -n 's/^project(sluice VERSION \([0-9.]*\) .*/\1/p')
[ "$tag" = "v$version" ] || fail "the tag is '$tag', and CMakeLists.txt of its commit has the version '$version': they must agree"
git show "$tag:CHANGELOG.md" >"$work/changelog"
heading=$(sed -n 's/^## //p' "$work/changelog" | head -1)
[[ $heading == "$version, "* ]] || fail "CHANGELOG.md begins with '$heading', not with '$version, DATE'"
[ -n "$rehearsed" ] || [[ $heading =~ ,\ [0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || fail "CHANGELOG.md says '$heading': give the day of the release"
awk '/^## / {++part} part == 1' "$work/changelog" >"$folder/RELEASE_NOTES.md"
[ "$(wc -l <"$folder/RELEASE_NOTES.md")" -gt 2 ] || fail "CHANGELOG.md has no entry for $version"

say "source tarball"
git archive --format=tar --prefix="sluice-$version/" "$tag" | gzip -9n >"$folder/sluice-$version.tar.gz"
tar -C "$work" -xf "$folder/sluice-$version.tar.gz"
source=$work/sluice-$version

build=$rehearsed
if [ -z "$build" ]; then
  say "building"
  (cd "$source" && ./dev build release program >"$work/log" 2>&1) || { tail -30 "$work/log" >&2; fail "the build of $tag"; }
  build=$source/build/release
fi
"$source/tests/packaging/versions.sh" "$build/bin/sluice" "$build" "$source" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "version numbers differ"; }

say "Debian packages"
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; fail "cpack"; }
mv "$work"/packages/*.deb "$folder/"

if [ -z "$rehearsed" ] && [ -e "$source/python/pyproject.toml" ]; then
  say "wheel"
  "$source/packaging/wheel.sh" "$build" "$folder" >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; fail "the wheel"; }
fi

cd "$folder"
shopt -s nullglob
sha256sum -- *.tar.gz *.deb *.whl RELEASE_NOTES.md >SHA256SUMS
say "$folder:"
cat "$folder/SHA256SUMS"
