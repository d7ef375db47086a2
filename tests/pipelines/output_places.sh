#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Outputs behave as those of other filters, whatever the shell gives: files that are open already, deleted ones, closed streams, permissions, limits,
# time zones. The same bytes everywhere.
#   output_places.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
umask 022
"$sluice" run synthetic_reference --length 20000 --seed 2 --output ref.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 60 --seed 2 --mean-length 1500 --output-prefix r --quiet
declare -A command=(
  [text]="run map --reference ref.fa --reads r.fastq.gz --quiet --format paf"
  [bam]="run map --reference ref.fa --reads r.fastq.gz --quiet --format bam"
  [cram]="run sort --alignments r.bam --reference ref.fa --quiet --format cram"
  [bgzf]="run frequency --calls calls.tsv --format bedmethyl --quiet"
)
"$sluice" run methylation --signal r.blow5 --alignments r.bam --reference ref.fa --output calls.tsv --quiet
for kind in "${!command[@]}"; do
  # shellcheck disable=SC2086
  "$sluice" ${command[$kind]} --output "plain.$kind"
  [ -s "plain.$kind" ] || fail "$kind: nothing was written"
done
echo "what others write stays:"
ln -s /dev/stdout link
for kind in "${!command[@]}"; do
  { echo before && cat "plain.$kind" && echo behind; } >wanted
  for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1 "$work/link"; do
    # shellcheck disable=SC2086
    { echo before && "$sluice" ${command[$kind]} --output "$name" && echo behind; } >shared
    cmp wanted shared || fail "$kind to $name: what was before or behind is lost"
    echo before >appended
    # shellcheck disable=SC2086
    { "$sluice" ${command[$kind]} --output "$name" && echo behind; } >>appended
    cmp wanted appended || fail "$kind to $name: appending loses something"
    # shellcheck disable=SC2086
    { echo before && "$sluice" ${command[$kind]} --output "$name" && echo behind; } | cmp wanted - || fail "$kind to $name: not what a pipe gets"
  done
  # shellcheck disable=SC2086
  { echo before >&3 && "$sluice" ${command[$kind]} --output /dev/fd/3 && echo behind >&3; } 3>third
  cmp wanted third || fail "$kind to /dev/fd/3: what was before or behind is lost"
  echo "  $kind"
done
[ "$(readlink link)" = /dev/stdout ] || fail "a link to /dev/stdout was replaced"
# shellcheck disable=SC2086
{ echo before && "$sluice" ${command[text]} --output third.paf --report /dev/stdout && echo behind; } >reported
[ "$(sed -n '1p;$p' reported | tr '\n' ' ')" = "before behind " ] || fail "--report /dev/stdout loses what others write"

# A file that has been deleted since is written, and none gets its name.
exec 4<>deleted
rm deleted
# shellcheck disable=SC2086
"$sluice" ${command[text]} --output /dev/fd/4
cmp plain.text /proc/self/fd/4 || fail "a deleted file has other bytes"
[ -z "$(ls | grep deleted)" ] || fail "a file got the name of one that was deleted: $(ls)"
exec 4>&-

# Streams that the parent has closed: no file of the run gets their numbers.
# shellcheck disable=SC2086
"$sluice" ${command[text]} --output closed.text <&- >&- 2>&-
cmp plain.text closed.text || fail "other bytes with closed streams"
for name in - /dev/stdout; do
  # shellcheck disable=SC2086
  ! "$sluice" ${command[text]} --output "$name" >&- 2>said || fail "$name is closed, and the run says nothing"
  grep -q "cannot write .*: Bad file descriptor" said || fail "$name is closed: $(cat said)"
done

# Permissions: of what is replaced, else as the umask says.
for mode in 600 640 664 444; do
  rm -f kept.bam && touch kept.bam && chmod $mode kept.bam
  # shellcheck disable=SC2086
  (umask 077 && "$sluice" ${command[bam]} --output kept.bam)
  [ "$(stat -c %a kept.bam)" = $mode ] || fail "an output of mode $mode got $(stat -c %a kept.bam)"
  cmp plain.bam kept.bam || fail "other bytes with another umask"
done
# shellcheck disable=SC2086
(umask 077 && "$sluice" ${command[bam]} --output new.bam)
[ "$(stat -c %a new.bam)" = 600 ] || fail "a new output does not follow the umask"

"$sluice" run map --reference ref.fa --reads r.fastq.gz --quiet --sort --output sorted.bam
chmod 640 sorted.bam sorted.bam.bai
"$sluice" run map --reference ref.fa --reads r.fastq.gz --quiet --sort --output sorted.bam
[ "$(stat -c %a sorted.bam sorted.bam.bai | sort -u)" = 640 ] || fail "a file and its index do not keep their mode"

# A limit on file sizes is an error, not a signal.
for kind in bam cram text; do
  for name in limited -; do
    status=0
    # shellcheck disable=SC2086
    (ulimit -f 1; "$sluice" ${command[$kind]} --output $name 2>&1 >limited.out | cat >said; exit "${PIPESTATUS[0]}") || status=$?
    [ $status = 4 ] || fail "$kind to $name with ulimit -f ends with $status: $(cat said)"
    grep -q "File too large (raise the limit of 'ulimit -f' or write elsewhere)" said || fail "$kind to $name with ulimit -f: $(cat said)"
    [ ! -e limited ] || fail "half an output has its final name"
  done
done

for zone in UTC Asia/Kolkata America/St_Johns; do
  # shellcheck disable=SC2086
  TZ=$zone "$sluice" ${command[bam]} --output zone.bam
  cmp plain.bam zone.bam || fail "other bytes in the time zone $zone"
done
echo "ok"
