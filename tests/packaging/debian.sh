#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The Debian packages of this build, installed in a Debian 12 that has nothing else: the README's example runs there with the bytes that it has
# here, a plugin is built with what sluice-dev brings, and nothing is left when the packages are removed.
#   debian.sh BUILD_DIR SOURCE_DIR CACHE_DIR       (the empty Debian is kept in CACHE_DIR)
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
mkdir -p "$3"
cache=$(realpath "$3")
mirror=${SLUICE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
for tool in debootstrap cpack dpkg-deb dpkg-shlibdeps unshare curl; do command -v $tool >/dev/null || skip "there is no $tool"; done
grep -q '^VERSION_ID="12"' /etc/os-release || skip "this is no Debian 12, so the packages are not for one"
curl -fsI --max-time 20 "$mirror/dists/bookworm/InRelease" >/dev/null 2>&1 || skip "the mirror $mirror can't be reached"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" >"$work/log" 2>&1 || { tail -30 "$work/log"; fail "cpack"; }
packages=("$work"/packages/*.deb)
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
expected=(sluice sluice-dev)
[ ! -e "$build/bin/plugins/cuda_devices.so" ] || expected+=(sluice-cuda)
[ ! -e "$build/bin/plugins/fast5_reader" ] || expected+=(sluice-fast5)
[ ${#packages[@]} = ${#expected[@]} ] || fail "packages: ${packages[*]}"
for name in "${expected[@]}"; do
  package=("$work/packages/${name}_${version}_"*.deb)
  [ -s "${package[0]}" ] || fail "there is no package $name"
  dpkg-deb --contents "${package[0]}" | awk '{print $6}' | grep -v '/$' | sort >"$work/$name.files"
  grep -qx "./usr/share/doc/$name/copyright" "$work/$name.files" || fail "$name says under which licences it is"
  printf '%s: %s files, %s kB\n' "$name" "$(wc -l <"$work/$name.files")" "$(($(stat -c %s "${package[0]}") / 1024))"
done
shared=$(cat "$work"/*.files | sort | uniq -d)
[ -z "$shared" ] || fail "in two packages: $shared"
for file in usr/bin/sluice usr/lib/sluice/plugins/abea.so usr/share/sluice/pipelines/map.toml usr/share/man/man1/sluice.1.gz usr/share/zsh/vendor-completions/_sluice \
  usr/share/bash-completion/completions/sluice usr/share/doc/sluice/examples/demo.sh; do
  grep -qx "./$file" "$work/sluice.files" || fail "sluice has $file"
done
for file in usr/include/sluice/abi.h usr/lib/cmake/sluice/sluice-config.cmake usr/lib/libsluice_testing.a; do
  grep -qx "./$file" "$work/sluice-dev.files" || fail "sluice-dev has $file"
done
depends=$(dpkg-deb --field "$work"/packages/sluice_*.deb Depends)
for library in libc6 libstdc++6 libtbb12 libhts3 libhwy1 libboost-filesystem; do
  [[ $depends == *$library* ]] || fail "sluice depends on $library, but says: $depends"
done
[[ $depends != *libhdf5* ]] || fail "sluice depends on HDF5, which is for sluice-fast5"
[ "$(dpkg-deb --field "$work"/packages/sluice-dev_*.deb Depends)" = "sluice (= $version)" ] || fail "sluice-dev depends on its sluice"

# An empty Debian, and what a command there sees of this machine: nothing but the processes, without which $ORIGIN leads nowhere.
if [ ! -s "$cache/debian12.tar" ]; then
  debootstrap --variant=minbase bookworm "$cache/debian12.new" "$mirror" >"$work/log" 2>&1 || { tail -5 "$work/log"; rm -rf "$cache/debian12.new"; skip "debootstrap failed, see above"; }
  tar -C "$cache/debian12.new" -cf "$cache/debian12.tar.new" .
  rm -rf "$cache/debian12.new"
  mv "$cache/debian12.tar.new" "$cache/debian12.tar"
fi
root=$work/debian
mkdir "$root"
tar -C "$root" -xf "$cache/debian12.tar"
cp /etc/resolv.conf "$root/etc/"
inside() { # COMMAND...
  unshare --mount --fork bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@"
}
inside_as_user() { inside setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs env HOME=/home/reader "$@"; }
mkdir "$root/packages"
cp "${packages[@]}" "$root/packages/"
inside apt-get update -qq >"$work/log" 2>&1 || { tail -5 "$work/log"; skip "apt-get update failed in the chroot"; }
inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/*.deb' >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "apt-get install"; }
[ "$(inside sluice --version)" = "sluice $version" ] || fail "the installed program has another version"

# The README's example, by somebody who may write only to a folder of their own; the demonstration is the packaged one.
mkdir -p "$root/home/reader" "$work/here"
sed -n '/^```bash$/,/^```$/{/^```/!p}' "$root/usr/share/doc/sluice/README.md" >"$root/home/reader/example.sh"
grep -q 'sluice methylation' "$root/home/reader/example.sh" || fail "the README's example was not found"
cp "$root/home/reader/example.sh" "$work/here/"
chown -R 1000:1000 "$root/home/reader"
inside_as_user sh -ec 'cd; /usr/share/doc/sluice/examples/demo.sh sluice demo; sh -e example.sh' >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "the README's example in the chroot"; }
(cd "$work/here" && PATH=$build/bin:$PATH && "$source/examples/demo.sh" sluice demo && sh -e example.sh) >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "the README's example here"; }
for file in demo/reads.blow5 demo/reads.bam demo/calls.tsv demo/frequency.tsv demo/reads.mod.bam aligned.bam calls.tsv sites.bed corrected.fa decisions.tsv; do
  [ -s "$work/here/$file" ] || fail "the example writes $file"
  # The name of the command is in the header of BAM files: both were called the same.
  cmp "$work/here/$file" "$root/home/reader/$file" || fail "$file has other bytes with the installed program"
done
echo "the README's example: $(($(wc -l <"$work/here/calls.tsv") - 1)) calls, the bytes of the build tree"

# The compiler is this machine's, all else the package's.
cmake -S "$source/examples/read_length_plugin" -B "$work/plugin" -DCMAKE_PREFIX_PATH="$root/usr" -DCMAKE_BUILD_TYPE=Release -G Ninja >"$work/log" 2>&1 &&
  cmake --build "$work/plugin" >>"$work/log" 2>&1 || { tail -20 "$work/log"; fail "a plugin is built with what sluice-dev brings"; }
grep -q "^sluice_DIR:PATH=$root/" "$work/plugin/CMakeCache.txt" || fail "the plugin was built with another sluice"
cp "$work/plugin/read_length.so" "$root/home/reader/"
inside_as_user sluice inspect read_length --plugin-dir /home/reader | grep -q read_length || fail "the packaged program loads that plugin"

inside sh -c 'dpkg --purge sluice-cuda sluice-dev sluice' >"$work/log" 2>&1 || { tail -5 "$work/log"; fail "dpkg --purge"; }
left=$(find "$root/usr" "$root/etc" -path '*sluice*' | head)
[ -z "$left" ] || fail "left behind: $left"
echo "all good"
