#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# packaging/release.sh in a repository of its own: what it publishes, and what it refuses.
#   release.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
for tool in git cpack dpkg-deb dpkg-shlibdeps; do command -v $tool >/dev/null || skip "there is no $tool"; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The sources as they lie here, as a repository with a tag; nobody's git settings.
export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@invalid GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@invalid
export GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"
mkdir "$work/repository"
tar -C "$source" --exclude=./build --exclude=./.git --exclude=./.cache -cf - . | tar -C "$work/repository" -xf -
cd "$work/repository"
git init -q -b main .
git add -A
git commit -q -m "the sources"
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
release() { packaging/release.sh "$@" >"$work/out" 2>"$work/err"; }
refused() { # WORDS ARGUMENTS...
  local words=$1
  shift
  ! release "$@" || fail "release.sh $* should have been refused"
  grep -qF -- "$words" "$work/err" || { cat "$work/err"; fail "release.sh $* was refused without '$words'"; }
}

refused "there is no tag 'v$version'" "v$version" "$work/published"
git tag "v$version"
git tag v99.0.0
refused "they must agree" --rehearse "$build" v99.0.0 "$work/published"
git tag -d v99.0.0 >/dev/null
sed -i "0,/^## .*/s//## $version, unreleased/" CHANGELOG.md
git commit -q --allow-empty -a -m "unreleased" && git tag -f "v$version" >/dev/null
refused "give the day of the release" "v$version" "$work/published"

release --rehearse "$build" "v$version" "$work/published" || { cat "$work/err"; fail "the rehearsal"; }
(cd "$work/published" && sha256sum --quiet -c SHA256SUMS) || fail "the checksums"
[ "$(wc -l <"$work/published/SHA256SUMS")" = "$(find "$work/published" -type f ! -name SHA256SUMS | wc -l)" ] || fail "each file has a checksum"
for file in "sluice-$version.tar.gz" "sluice_${version}_$(dpkg --print-architecture).deb" "sluice-dev_${version}_$(dpkg --print-architecture).deb"; do
  [ -s "$work/published/$file" ] || fail "$file is published"
done
[ "$(head -1 "$work/published/RELEASE_NOTES.md")" = "## $version, unreleased" ] || fail "the release notes begin with the version"
[ "$(grep -c '^## ' "$work/published/RELEASE_NOTES.md")" = 1 ] || fail "the release notes are one version's"
tar -tf "$work/published/sluice-$version.tar.gz" | sed "s,^sluice-$version/,," | grep -v '/$' | grep . | sort >"$work/archived"
git ls-files | sort | diff - "$work/archived" || fail "the tarball has the files of the tag"
refused "is not empty" --rehearse "$build" "v$version" "$work/published"
git archive --format=tar --prefix="sluice-$version/" "v$version" | gzip -9n | cmp - "$work/published/sluice-$version.tar.gz" || fail "the tarball of a tag has always the same bytes"

# A version that is not the same everywhere is not released.
sed -i 's/^{% set version = .*/{% set version = "99.9.9" %}/' packaging/conda/meta.yaml
git commit -q -a -m "another version" && git tag -f "v$version" >/dev/null
refused "version numbers differ" --rehearse "$build" "v$version" "$work/third"
grep -q "meta.yaml says '99.9.9'" "$work/err" || fail "the message names the file"
echo "all good"
