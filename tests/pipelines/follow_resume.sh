#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Runs that follow files, are killed while these still come and grow, and are gone on with: the bytes of the same files at once, in the order in which
# they were taken up.
#   follow_resume.sh SLUICE
set -euo pipefail
sluice=$1
# shellcheck source=tests/pipelines/run_in_background.sh
source "$(dirname "$0")/run_in_background.sh"
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

begin_saving() { begin "$@" --checkpoint 0.05 --threads 2; }
journal() { stat -c %i%y ."$1".*.resume 2>/dev/null || true; } # NAME: beside its first output
# Killed behind the next checkpoint but one, which has what was taken until now.
kill_later() { # NAME
  local before
  for _ in 1 2; do
    before=$(journal "$1")
    until_true "[ \"\$(journal $1)\" != '$before' ]"
  done
  kill_now
}
kill_now() {
  kill -9 $pid
  end
  [ $code = 137 ] || fail "it was not killed: $code: $(cat err.txt)"
}
part() { head -c $(($1 + $2)) "$3" | tail -c "$2"; } # FROM BYTES FILE
comes() { cp "$1" "$2/.coming" && mv "$2/.coming" "$2/$(basename "$1")"; } # FILE FOLDER

run synthetic_reference --length 30000 --seed 1 --output reference.fa
mkdir all
for i in {10..17}; do
  case $i in 17) reads=80 ;; *) reads=8 ;; esac # several blocks
  run simulate --reference reference.fa --reads $reads --mean-length 4000 --seed "$i" --output-prefix "all/$i"
done

# follows NAME KIND ENDING COMMAND...: files of an ending; IN, the folder, stands in the command.
follows() {
  local name=$1 ending=$2 option=$3
  shift 3
  local in=$name.in bytes half
  mkdir "$in"
  local command=("$@" "$option" "$in" --follow --follow-settle 3600 --follow-order "$name.order" --account "$name.account" --output "$name.out")
  for i in 10 11; do comes all/$i.$ending "$in"; done
  begin_saving "${command[@]}"
  will_say "takes up '$in/11"
  bytes=$(stat -c %s all/17.$ending)
  half=$((bytes * 2 / 3))
  head -c $half all/17.$ending >"$in/17.$ending"
  will_say "takes up '$in/17"
  kill_later "$name"
  # While nobody looks: one file that was read is renamed, one comes, and one grows.
  mv "$in/10.$ending" "$in/read-$name.$ending"
  comes all/12.$ending "$in"
  part $half 5000 all/17.$ending >>"$in/17.$ending"
  begin_saving "${command[@]}" --resume
  will_say "continues with '$in/17"
  sleep 0.5 # what came may be no whole block: then there is nothing to be kept
  kill_now
  begin_saving "${command[@]}" --resume
  tail -c +$((half + 5001)) all/17.$ending >>"$in/17.$ending"
  for i in 13 14; do comes all/$i.$ending "$in"; done
  will_say "takes up '$in/14"
  touch "$in/sluice.stop"
  end
  [ $code = 0 ] || fail "$name: exit code $code: $(cat err.txt)"
  [ -z "$(journal "$name")" ] || fail "$name: its journal is still there"
  [ "$(sort "$name.order" | uniq -d | wc -l)" = 0 ] || fail "$name: taken twice: $(cat "$name.order")"
  [ "$(wc -l <"$name.order")" = 6 ] || fail "$name: $(cat "$name.order")"
  sed "s|$in/|all/|" "$name.order" >list
  run "$@" "$option" @list --output at_once
  cmp "$name.out" at_once || fail "$name: other bytes than at once"
  [ "$(wc -l <at_once)" -gt 20 ] || fail "$name: only $(wc -l <at_once) lines"
}
follows reads fastq.gz --reads map --reference reference.fa
follows signal blow5 --signal classify_signal --target reference.fa
zcat all/1?.fastq.gz >reads.fastq
mkdir blow5 fastq && cp all/1?.blow5 blow5/ && cp all/1?.fastq.gz fastq/
follows alignments bam --alignments methylation --signal blow5 --reads fastq --reference reference.fa
follows records bam --alignments eventalign --signal blow5 --reads fastq --reference reference.fa

# One plain file that grows, on which two runs were killed.
grown=(map --reference reference.fa --reads growing.fastq --follow --follow-until now --output grown.paf)
head -c 300001 reads.fastq >growing.fastq
begin_saving "${grown[@]}"
for end in 500000 700003; do
  will_say "takes up\|continues with"
  kill_later grown
  part "$(stat -c %s growing.fastq)" $((end - $(stat -c %s growing.fastq))) reads.fastq >>growing.fastq
  begin_saving "${grown[@]}" --resume
done
will_say "continues with"
tail -c +$(($(stat -c %s growing.fastq) + 1)) reads.fastq >>growing.fastq
touch now
end
[ $code = 0 ] || fail "a growing file: exit code $code: $(cat err.txt)"
run map --reference reference.fa --reads reads.fastq --output at_once.paf
cmp grown.paf at_once.paf || fail "a growing file: other bytes"

# There are no parts of what grows.
"$sluice" run map --reference reference.fa --reads reads.in --follow --shard 1/2 --output x.paf --quiet >out.txt 2>&1 && fail "a part of what is followed"
grep -q "nobody knows the parts" out.txt || fail "$(cat out.txt)"
