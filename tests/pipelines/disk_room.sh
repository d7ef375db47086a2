#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A disk that is too small for an output of known size: an error before any work where the output can't fit, a warning where it usually does not. The
# disk is a library's word (small_disk.c), so nobody needs rights, and nothing is filled.
#   disk_room.sh SLUICE LIBRARY      LIBRARY: libsmall_disk.so
set -uo pipefail
sluice=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
with_room() { # BYTES ARGUMENTS...
  DISK_ROOM=$1 LD_PRELOAD=$library "$sluice" "${@:2}" --quiet >out 2>err
}
refused() { # TEXT BYTES ARGUMENTS...: exit code 2, one line, nothing is written
  local text=$1
  shift
  ls -A >before
  with_room "$@"
  [ $? = 2 ] || fail "$*: not refused: $(cat err)"
  [ "$(wc -l <err)" = 1 ] || fail "$*: not one line: $(cat err)"
  grep -qF -- "$text" err || fail "$*: nobody says '$text': $(cat err)"
  ls -A | cmp -s - before || fail "$*: it has written something"
}
runs() { # BYTES ARGUMENTS...: without a word
  with_room "$@" || fail "$*: refused: $(cat err)"
  [ ! -s err ] || fail "$*: it says $(cat err)"
}
: >out; : >err; : >before

# Bases of a reference: one byte each, of a compressed one a tenth of it.
new=(synthetic_reference --length 50000 --contigs 2)
refused "--output: 'ref.fa' takes at least 97.7 KiB, and the disk has room for 97.7 KiB (make room, or name a file on another disk)" 99999 "${new[@]}" --output ref.fa
runs 100000 "${new[@]}" --output ref.fa
[ "$(stat -c %s ref.fa)" -ge 100000 ] || fail "a reference takes less than is said: $(stat -c %s ref.fa)"
refused "at least 9.77 KiB" 9999 "${new[@]}" --output ref.fa.gz
runs 10000 "${new[@]}" --output ref.fa.gz
[ "$(stat -c %s ref.fa.gz)" -ge 10000 ] || fail "a compressed reference takes less than is said: $(stat -c %s ref.fa.gz)"
runs 5 "${new[@]}" --output -
runs 5 "${new[@]}" --output /dev/null

# Reads: what the files of a prefix come to. The least holds for whatever the options make easy to compress, too.
reads=(simulate ref.fa --mean-length 2000 --reads 100)
refused "--output-prefix: './r' takes at least 19.5 KiB" 19999 "${reads[@]}" --output-prefix ./r
runs 10000000 "${reads[@]}" --output-prefix r
all=$(cat r.* | wc -c)
[ "$all" -ge 20000 ] && [ "$all" -le 10000000 ] || fail "the files of 100 reads have $all bytes"
"$sluice" "${reads[@]}" --noise 0 --level-noise 0 --length-distribution fixed --output-prefix easy --quiet || fail "reads without noise"
[ "$(cat easy.* | wc -c)" -ge 20000 ] || fail "the files of reads without noise have $(cat easy.* | wc -c) bytes"
with_room 300000 "${reads[@]}" --output-prefix r2 || fail "a warning ends the run: $(cat err)"
grep -q "warning: --output-prefix: 'r2' takes about 1.72 MiB, and the disk has room for 293 KiB" err || fail "no warning: $(cat err)"

# Alignments are about as many when they are sorted. The input's size is known where it is a file.
bytes=$(stat -c %s r.bam)
refused "--output: 'sorted.bam' takes at least" $((bytes / 50 - 1)) sort r.bam --output sorted.bam
with_room $((bytes - 1)) sort r.bam --output sorted.bam || fail "sort is refused: $(cat err)"
grep -q "warning: --output: 'sorted.bam' takes about" err || fail "sort does not warn: $(cat err)"
runs "$bytes" sort r.bam --output sorted.bam
runs 5 sort - --output sorted.bam <r.bam

# Of a shard its part; of samples each is looked at; in Python and --params the parameter is named.
refused "at least 4.88 KiB" 4999 "${reads[@]}" --output-prefix part --shard 1/4
printf 'sample\tlength\na\t50000\nb\t500000\n' >samples.tsv
refused "sample 'b': --output: 'b.fa' takes at least 488 KiB" 60000 synthetic_reference --samples samples.tsv --output '{sample}.fa'
printf 'length = 50000\noutput = "params.fa"\n' >params.toml
refused "params.toml:2:1: parameter 'output': 'params.fa' takes at least" 60 synthetic_reference --params params.toml
# Files that are not there are what is said.
refused "there is no folder 'nowhere'" 5 "${new[@]}" --output nowhere/ref.fa
echo "$failures failures"
[ $failures = 0 ]
