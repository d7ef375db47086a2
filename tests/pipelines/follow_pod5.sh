#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A folder of POD5 that is being written, with the alignments there: the bytes of the folder at once.
#   follow_pod5.sh SLUICE SHARED_DIR
set -euo pipefail
sluice=$1 real=$2/data/ecoli_r9_real
[ -e "$real/pod5_folder" ] || { echo "SKIPPED: $real/pod5_folder is not there"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
says() { # TEXT: waits until the run has said so
  for _ in {1..1200}; do
    grep -q -e "$1" err.txt && return
    kill -0 $pid 2>/dev/null || fail "it ended without '$1': $(cat err.txt)"
    sleep 0.05
  done
  fail "it does not say '$1': $(cat err.txt)"
}

gzip -dc "$real/draft.fa.gz" >draft.fa
cp "$real/reads.fasta" "$real/reads.bam" .
eventalign() { echo eventalign --reads reads.fasta --alignments reads.bam --reference draft.fa --print-read-names --summary "$1.summary" --output "$1.tsv" "${@:2}"; }
"$sluice" run $(eventalign at_once --signal "$real/pod5_folder") --account at_once.account --quiet
[ "$(wc -l <at_once.tsv)" -gt 10000 ] || fail "$(wc -l <at_once.tsv) rows"

mkdir folder
: >err.txt
env --default-signal=INT "$sluice" run $(eventalign followed --signal folder --follow --follow-settle 0) --account account.tsv >out.txt 2>err.txt &
pid=$!
says "waits for the first file"
mapfile -t files < <(cd "$real/pod5_folder" && find . -name '*.pod5' | sort -r)
[ ${#files[@]} -gt 2 ] || fail "few files"
for file in "${files[@]}"; do
  name=$(basename "$file")
  bytes=$(stat -c %s "$real/pod5_folder/$file")
  head -c $((bytes / 2)) "$real/pod5_folder/$file" >"folder/$name" # what it holds stands at its end
  [ "$file" != "${files[1]}" ] || says "signal: waits for" # once: of the same read it is not said again
  ! grep -q -e "signal: takes up 'folder/$name'" err.txt || fail "it takes up a half of $name"
  tail -c +$((bytes / 2 + 1)) "$real/pod5_folder/$file" >>"folder/$name"
  says "signal: takes up 'folder/$name'"
done
head -c 3000 "$real/reads.pod5" >folder/cut.pod5
kill -INT $pid
timeout 120 tail --pid=$pid -s 0.05 -f /dev/null || fail "it does not end: $(cat err.txt)"
wait $pid || fail "it failed: $(cat err.txt)"
cmp followed.tsv at_once.tsv
cmp followed.summary at_once.summary
[ "$(grep -c incomplete_file account.tsv)" = 1 ] && grep incomplete_file account.tsv | grep -q "folder/cut.pod5" || fail "$(cat account.tsv)"
grep -v incomplete_file account.tsv | cmp - at_once.account
