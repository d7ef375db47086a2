#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Alignments, reads and signal that come as they are written, in any order: the bytes of the set at once, in the order of the alignments.
#   follow_lookups.sh SLUICE
set -euo pipefail
sluice=$1
# shellcheck source=tests/pipelines/run_in_background.sh
source "$(dirname "$0")/run_in_background.sh"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }
ends_well() { end && [ $code = 0 ] || fail "exit code $code: $(cat err.txt)"; }
names() { zcat "all/reads/$1.fastq.gz" | sed -n '1~4s/^@\([^ \t]*\).*/\1/p'; }
waits_for() { # NUMBER: for the signal of a read of this file
  names "$1" >wanted
  for _ in {1..1200}; do
    grep "signal: waits for [0-9]* reads of a batch" err.txt | grep -q -F -f wanted && return
    kill -0 $pid 2>/dev/null || fail "it ended without waiting for $1: $(cat err.txt)"
    sleep 0.05
  done
  fail "it does not wait for $1: $(cat err.txt)"
}
comes() { cp "$1" "$2/.coming" && mv "$2/.coming" "$2/$(basename "$1")"; } # FILE FOLDER: all at once
named() { [ "$(grep -c incomplete_file account.tsv)" = "$1" ] || fail "not $1 files are named: $(cat account.tsv)"; }

run synthetic_reference --length 30000 --seed 1 --output reference.fa
mkdir -p all/{signal,reads,alignments}
for i in {10..23}; do
  case $i in 11 | 20) reads=20 ;; *) reads=3 ;; esac
  run simulate --reference reference.fa --reads $reads --mean-length 2000 --seed "$i" --output-prefix "all/$i"
  mv all/$i.blow5 all/signal && mv all/$i.fastq.gz all/reads && mv all/$i.bam all/alignments
done
options=(--reference reference.fa --min-recalib-events 50)
# What the set at once gives in this order, without some reads.
at_once() { # PIPELINE WITHOUT OPTIONS...
  run "$1" --signal all/signal --reads all/reads "${options[@]}" "${@:3}" --output whole.tsv
  grep -v -F -f "$2" whole.tsv >at_once.tsv
  [ "$(wc -l <at_once.tsv)" -gt 100 ] || fail "$1: $(wc -l <at_once.tsv) rows"
}
printf 'none\n' >nobody

# ---- 42 files: the first alignments come before everything else of theirs, signal grows, and one file of it stays cut
mkdir signal reads alignments
begin methylation --signal signal --reads reads --alignments alignments "${options[@]}" --follow --follow-settle 3600 --follow-order order.txt \
  --account account.tsv --output followed.tsv --modbam followed.sam --batch-work 9000
will_say "waits for the first file in signal"
half=$(($(stat -c %s all/signal/11.blow5) / 2))
head -c $half all/signal/11.blow5 >signal/11.blow5
will_say "waits for the header of 'alignments'"
comes all/alignments/10.bam alignments
will_say "takes up 'alignments/10.bam'"
will_say "bases: waits for [0-9]* reads of a batch"
head -c 1000 all/reads/10.fastq.gz >reads/10.fastq.gz # it has no end yet
comes all/reads/11.fastq.gz reads
will_say "takes up 'reads/11.fastq.gz'"
tail -c +1001 all/reads/10.fastq.gz >>reads/10.fastq.gz
will_say "signal: waits for [0-9]* reads of a batch"
grep -q "signal: takes up 'signal/11.blow5'" err.txt || fail "what grows is not taken up: $(cat err.txt)"
comes all/alignments/11.bam alignments
comes all/signal/10.blow5 signal
head -c $(($(stat -c %s all/signal/20.blow5) * 2 / 3)) all/signal/20.blow5 >signal/20.blow5 # cut for good
for i in 21 22 12; do comes all/alignments/$i.bam alignments; done
for kind in signal reads alignments; do
  for i in {23..12}; do
    [ $kind$i = signal20 ] || [ $kind$i = alignments20 ] || [ -e $kind/$i.* ] || comes all/$kind/$i.* $kind
  done
done
head -c $((half + 5000)) all/signal/11.blow5 | tail -c 5000 >>signal/11.blow5
waits_for 11
tail -c +$((half + 5001)) all/signal/11.blow5 >>signal/11.blow5
will_say "takes up 'alignments/23.bam'"
comes all/alignments/20.bam alignments
will_say "takes up 'alignments/20.bam'"
waits_for 20
touch signal/sluice.stop # which is for all
ends_well
[ "$(wc -l <order.txt)" = 14 ] || fail "the order: $(cat order.txt)"
[ "$(head -1 order.txt)" = alignments/10.bam ] || fail "the order: $(cat order.txt)"
named 1
grep incomplete_file account.tsv | grep -q "'signal/20.blow5': [1-9][0-9]* reads were taken, then: .*truncated" || fail "$(cat account.tsv)"
grep no_signal account.tsv | cut -f1 >lost
taken=$(grep -o "20.blow5': [0-9]* reads" account.tsv | grep -o '[0-9]* reads' | cut -d' ' -f1)
names 20 | tail -n +$((taken + 1)) | sort >expected
[ -s expected ] || fail "no read was lost"
sort -u lost | grep -v -x -F -f expected && fail "reads were lost: $(cat lost)"
at_once methylation expected --alignments @order.txt --modbam whole.sam
cmp followed.tsv at_once.tsv
grep -v '^@' whole.sam | grep -v -F -f expected >at_once.sam
grep -v '^@' followed.sam | grep -v -F -f expected | cmp - at_once.sam
[ "$(grep -c MM:Z at_once.sam)" -gt 20 ] || fail "few records have calls"

# ---- a small budget, all signal missing, and Ctrl-C: nothing is waited for by anybody else
rm -r signal && mkdir signal
cp all/signal/15.blow5 signal
begin methylation --signal signal --reads all/reads --alignments all/alignments "${options[@]}" --follow --account account.tsv --output followed.tsv \
  --batch-work 3000 --memory 16MiB
will_say "signal: waits for [0-9]* reads of a batch"
kill -INT $pid
ends_well
at_once methylation nobody --alignments all/alignments
names 15 >present
(head -1 at_once.tsv && grep -F -f present at_once.tsv) | cmp - followed.tsv
[ "$(grep -c no_signal account.tsv)" -gt 40 ] || fail "$(grep -c no_signal account.tsv) rows without signal"

# ---- idle; signal as text that grows; files that are none, or of another kind
mkdir text
"$sluice" run eventalign --help-all | grep -- --follow-settle >/dev/null || fail "eventalign has no --follow"
for i in 10 11 12; do cp all/signal/$i.blow5 text; done
head -c 1000 reference.fa >text/garbage.blow5
cp all/reads/10.fastq.gz text/reads.blow5
run simulate --reference reference.fa --reads 2 --mean-length 2000 --record-compression none --output-prefix text/other
mv text/other.blow5 text/zz.blow5
head -c 2000 all/alignments/13.bam >text/13.bam
cp all/alignments/1[02].bam text
printf '>contig\n%s\n' "$(sed -n '2,$p' reference.fa | tr -d '\n' | head -c 20000)" >shorter.fa
run simulate --reference shorter.fa --reads 2 --mean-length 2000 --seed 99 --output-prefix shorter
cp shorter.bam text/99.bam
begin eventalign --signal text --reads 'all/reads/1[012].fastq.gz' --alignments text "${options[@]}" --print-read-names --follow --follow-idle 2 \
  --follow-order order.txt --account account.tsv --output followed.tsv
ends_well
grep -q "nothing new came for 2 s" err.txt || fail "idle: $(cat err.txt)"
for name in garbage.blow5 reads.blow5 zz.blow5 13.bam 99.bam; do
  grep incomplete_file account.tsv | grep -q "text/$name'" || fail "$name is not named: $(cat account.tsv; cat err.txt)"
done
named 5
grep -v "13.bam\|99.bam" order.txt >list
at_once eventalign nobody --alignments @list --print-read-names
cmp followed.tsv at_once.tsv

# ---- reads first, their signal later
rm -r signal && mkdir signal
cp all/signal/12.blow5 signal
begin resquiggle --signal signal --reads all/reads --min-recalib-events 50 --follow --follow-until enough --output followed.tsv --max-bad-reads 1
will_say "signal: waits for [0-9]* reads of a batch"
for i in {23..10}; do [ -e signal/$i.blow5 ] || comes all/signal/$i.blow5 signal; done
will_say "takes up 'all/reads/23.fastq.gz'"
touch enough
ends_well
run resquiggle --signal all/signal --reads all/reads --min-recalib-events 50 --output at_once.tsv --max-bad-reads 1
cmp followed.tsv at_once.tsv
[ "$(wc -l <at_once.tsv)" -gt 1000 ] || fail "resquiggle: $(wc -l <at_once.tsv) rows"

# ---- the first rows are enough: no end is told, and what waits is not lost
rm -r signal reads && mkdir signal reads
cp all/signal/11.blow5 signal
cp all/reads/1[01].fastq.gz reads
head -c 1000 all/signal/12.blow5 >signal/12.blow5 # a file that grows, and that nobody needs
cat >first.toml <<'TOML'
[pipeline]
name = "first"
extends = "eventalign"
[stages.first]
use = "head"
inputs = ["signal"]
params.rows = 15
[stages.decode]
inputs = ["first"]
TOML
begin first.toml --signal signal --reads reads --alignments all/alignments/11.bam --alignments all/alignments/10.bam "${options[@]}" --print-read-names \
  --follow --account account.tsv --output followed.tsv --batch-work 9000
ends_well
grep -q "no_signal\|read_not_in_file\|incomplete" account.tsv err.txt && fail "what was not needed is lost: $(cat account.tsv err.txt)"
grep -q "not_needed" account.tsv || fail "nothing waited: $(cat account.tsv err.txt)"
run eventalign --signal all/signal/11.blow5 --reads all/reads --alignments all/alignments/11.bam "${options[@]}" --print-read-names --output whole.tsv
cut -f4 followed.tsv | tail -n +2 | uniq | sort -u >first_reads
[ "$(wc -l <first_reads)" -ge 10 ] && [ "$(wc -l <first_reads)" -le 15 ] || fail "$(wc -l <first_reads) reads come first"
(head -1 whole.tsv && grep -F -f first_reads whole.tsv) | cmp - followed.tsv

refused() { local expected=$1; shift; "$sluice" run "$@" --quiet >out.txt 2>&1 && fail "'$*' was not refused"; grep -q -e "$expected" out.txt || fail "$(cat out.txt)"; }
mkfifo pipe.blow5
refused "can't be followed" eventalign --signal all/signal --reads pipe.blow5 --alignments all/alignments "${options[@]}" --follow --output x.tsv
refused "can't be merged" eventalign --signal all/signal --alignments all/alignments "${options[@]}" --follow --merge --output x.tsv
mkdir none
refused "no BAM, SAM or CRAM file that can be read has come in 'none'" eventalign --signal all/signal --alignments none "${options[@]}" --follow --follow-idle 1 --output x.tsv
