#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Debian's arm64 packages, with all that they depend on, unpacked into a folder for a cross build. Nothing is installed on this machine: two of
# them (libisal-dev, libhdf5-dev) would replace the machine's own.
#   packaging/arm64/libraries.sh FOLDER PACKAGE...
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: packaging/arm64/libraries.sh FOLDER PACKAGE..." >&2; exit 2; }
mkdir -p "$1"
folder=$(realpath "$1")
shift
wanted="$*"
[ "$(cat "$folder/packages" 2>/dev/null)" != "$wanted" ] || [ ! -s "$folder/shlibs" ] || exit 0

state=$folder.apt # apt's lists and archives, of which the machine's apt knows nothing
rm -rf "$folder" "$state"
mkdir -p "$folder" "$state"/{lists/partial,archives/partial,parts}
: >"$state/status"
printf 'Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
  >"$state/parts/debian.sources"
apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$state/parts"
  -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status"
  -o "Dir::State::extended_states=$state/extended_states" -o "Dir::Cache=$state" -o Debug::NoLocking=true -o "APT::Sandbox::User=$(id -un)")
{ "${apt[@]}" update && "${apt[@]}" install --download-only -y --no-install-recommends "$@"; } >"$state/log" 2>&1 ||
  { cat "$state/log" >&2; echo "arm64 packages can't be fetched from deb.debian.org" >&2; exit 2; }

mkdir -p "$folder"/usr/{bin,lib,sbin}
ln -s usr/bin usr/lib usr/sbin "$folder" # as base-files has them
for package in "$state"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x --no-same-owner --keep-directory-symlink -C "$folder"
  dpkg-deb --ctrl-tarfile "$package" | tar -xO ./shlibs 2>/dev/null || true
done >"$folder/shlibs" # for dependencies.sh
ln -sfn hdf5-serial.pc "$folder/usr/lib/aarch64-linux-gnu/pkgconfig/hdf5.pc" # as update-alternatives has it
# Links from the root of a file system would lead to this machine's files.
find "$folder" -type l -lname '/*' | while IFS= read -r link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done
rm -rf "$state"
printf '%s\n' "$wanted" >"$folder/packages"
