#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# One version of the program and one of the ABI, wherever they stand: what is released under one number says that number everywhere.
#   versions.sh SLUICE BUILD_DIR SOURCE_DIR
set -euo pipefail
sluice=$(realpath "$1") build=$(realpath "$2") source=$(realpath "$3")
cd "$source"
failures=0
same() { # WHERE EXPECTED FOUND
  [ "$3" = "$2" ] && printf '%s: %s\n' "$1" "$3" && return
  echo "FAILED: $1 says '$3', expected '$2'"
  failures=$((failures + 1))
}
# The first match in a file, which has to be there.
first() { sed -n "s/$2/\1/p" "$1" | head -1; }

version=$(first CMakeLists.txt '^project(sluice VERSION \([0-9.]*\) .*')
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "FAILED: CMakeLists.txt has the version '$version'"; exit 1; }
same "sluice --version" "sluice $version" "$("$sluice" --version)"
same "sluice-config-version.cmake" "$version" "$(first "$build/sdk/sluice-config-version.cmake" '^set(PACKAGE_VERSION "\(.*\)")$')"
same "the package" "$version" "$(first "$build/CPackConfig.cmake" '^set(CPACK_PACKAGE_VERSION "\(.*\)")$')"
same "the head of CHANGELOG.md" "$version" "$(first CHANGELOG.md '^## \([0-9.]*\).*')"
same "the manual page" "sluice $version" "$("$sluice" docs --manual | first /dev/stdin '^\.TH SLUICE 1 "[^"]*" "\([^"]*\)".*')"
same "packaging/conda/meta.yaml" "$version" "$(first packaging/conda/meta.yaml '^{% set version = "\(.*\)" %}$')"
same "packaging/docker/Dockerfile" "$version" "$(first packaging/docker/Dockerfile '^LABEL org.opencontainers.image.version="\(.*\)"$')"
same "the package's name in README.md" "$version" "$(first README.md '^apt-get install \.\/sluice_\([0-9.]*\)_amd64\.deb$')"
same "the wheel's name in README.md" "$version" "$(first README.md '^pip install \.\/sluice_nanopore-\([0-9.]*\)-\*\.whl$')"
for file in python/pyproject.toml pyproject.toml; do
  [ ! -e $file ] || grep -q 'dynamic.*version' $file || same $file "$version" "$(first $file '^version *= *"\(.*\)"$')"
done

major=$(first sdk/include/sluice/abi.h '^#define SLUICE_ABI_MAJOR \([0-9]*\)$') minor=$(first sdk/include/sluice/abi.h '^#define SLUICE_ABI_MINOR \([0-9]*\)$')
[ -n "$major" ] && [ -n "$minor" ] || { echo "FAILED: no ABI number in abi.h"; exit 1; }
same "sluice-config.cmake, ABI" "$major.$minor" "$(first "$build/sdk/sluice-config.cmake" '^set(SLUICE_ABI_VERSION \([0-9.]*\)).*')"
same "what the package provides, ABI" "sluice-abi (= $major.$minor)" "$(first "$build/CPackConfig.cmake" '^set(CPACK_DEBIAN_PROGRAM_PACKAGE_PROVIDES "\(.*\)")$')"
# The number is in the plugins themselves, as data of the symbol that the host looks at first.
plugin=$build/bin/plugins/event_detection.so
address=$((16#$(LC_ALL=C readelf --dyn-syms --wide "$plugin" | awk '$8 == "sluice_plugin_abi" {print $2}')))
read -r file_address file_offset < <(LC_ALL=C readelf --sections --wide "$plugin" | tr -d '[]' | awk '$2 == ".rodata" {print $4, $5}')
number=$(od -An -tu4 -j $((address - 16#$file_address + 16#$file_offset)) -N4 "$plugin" | tr -d ' ')
same "a built plugin, ABI" "$major.$minor" "$((number >> 16)).$((number & 65535))"
grep -qE "ABI $major\.$minor|C ABI \($major\.$minor\)" CHANGELOG.md || { echo "FAILED: CHANGELOG.md does not mention ABI $major.$minor"; failures=$((failures + 1)); }

# "sluice" on PyPI is somebody else's. What is installed is a wheel of ours, a folder, or the packages of others.
if grep -rnE "pip3? install[^#|]*[ '\"]sluice(-nanopore)?([][ '\"\`=<>~]|$)" README.md CHANGELOG.md CONTRIBUTING.md docs python sdk core examples packaging workflows plugins; then
  echo "FAILED: these fetch what a registry has under the name of sluice"
  failures=$((failures + 1))
fi

tag=$(git describe --exact-match --tags --match 'v[0-9]*' 2>/dev/null || true)
[ -z "$tag" ] || same "the tag of this commit" "v$version" "$tag"
echo "$failures failures"
[ $failures = 0 ]
