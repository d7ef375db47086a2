#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Files that are read as they are written: the bytes of the same files at once, in the order in which they were taken up.
#   follow.sh SLUICE
set -euo pipefail
sluice=$1
# shellcheck source=tests/pipelines/run_in_background.sh
source "$(dirname "$0")/run_in_background.sh"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }
part() { head -c $(($1 + $2)) "$3" | tail -c "$2"; } # FROM BYTES FILE
rows_taken() { grep -o "'$1': [0-9]* rows" account.tsv | grep -o '[0-9]* rows' | cut -d' ' -f1; }
# The first COUNT reads of a file.
first_reads() { { zcat -f "$2" 2>/dev/null || true; } | sed -n "1,$((4 * $1))p"; }

run synthetic_reference --length 30000 --seed 1 --output reference.fa
mkdir all
for i in {10..49}; do
  case $i in 17 | 31) reads=40 ;; *) reads=6 ;; esac # two of several blocks
  run simulate --reference reference.fa --reads $reads --mean-length 4000 --seed "$i" --output-prefix "all/$i"
done
map() { echo map --reference reference.fa "$@"; }

# ---- 40 files: one grows, one stays cut, one is renamed into the folder
mkdir in
begin $(map --reads in --follow --follow-settle 3600 --follow-order order.txt --account account.tsv --output followed.paf --batch-work 4000)
will_say "waits for more in in"
bytes=$(stat -c %s all/17.fastq.gz)
half=$((bytes / 2)) piece=$((bytes / 13))
head -c $half all/17.fastq.gz >in/17.fastq.gz # it has its turn alone
will_say "takes up 'in/17.fastq.gz'"
next=10
others() { for _ in 1 2 3 4; do
  case $next in 17 | 31 | 40) ;; *) cp all/$next.fastq.gz in/.coming && mv in/.coming in/$next.fastq.gz ;; esac
  next=$((next + 1))
done; }
mv in/17.fastq.gz in/.17 && mv in/.17 in/17.fastq.gz # which changes nothing
for n in 1 2 3 4 5; do
  others
  part $((half + piece * (n - 1))) $piece all/17.fastq.gz >>in/17.fastq.gz
  sleep 0.3
done
tail -c +$((half + piece * 5 + 1)) all/17.fastq.gz >>in/17.fastq.gz
while [ $next -lt 50 ]; do others; done
will_say "takes up 'in/49.fastq.gz'"
bytes=$(stat -c %s all/31.fastq.gz)
head -c $((bytes * 2 / 3)) all/31.fastq.gz >in/31.fastq.gz # cut for good
will_say "takes up 'in/31.fastq.gz'"
cp all/40.fastq.gz in/.40.fastq.gz.part && mv in/.40.fastq.gz.part in/40.fastq.gz
touch in/sluice.stop
end
[ $code = 0 ] || fail "exit code $code: $(cat err.txt)"
[ "$(wc -l <order.txt)" = 40 ] || fail "$(wc -l <order.txt) files in the order"
[ "$(head -1 order.txt)" = in/17.fastq.gz ] || fail "the order: $(head order.txt)"
grep "incomplete_file" account.tsv | grep -q "in/31.fastq.gz" || fail "the truncated file is not named: $(cat account.tsv)"
[ "$(grep -c incomplete_file account.tsv)" = 1 ] || fail "$(cat account.tsv)"
taken=$(rows_taken in/31.fastq.gz)
first_reads "$taken" all/31.fastq.gz >cut.fastq
[ "$taken" -gt 10 ] || fail "only $taken reads of the truncated file were taken"
sed 's|in/31.fastq.gz|cut.fastq|' order.txt >list
run $(map --reads @list --output at_once.paf)
cmp followed.paf at_once.paf
[ "$(cut -f1 at_once.paf | sort -u | wc -l)" -gt 150 ] || fail "few reads were mapped"
grep -q "incomplete: 'in/31.fastq.gz'" err.txt || fail "$(cat err.txt)"

# ---- one plain file that grows, until nothing comes any more; Ctrl-C
zcat all/1*.fastq.gz >whole.fastq
run $(map --reads whole.fastq --output at_once.paf)
head -c 5000 whole.fastq >growing.fastq
begin $(map --reads growing.fastq --follow --follow-idle 2 --output followed.paf)
will_say "takes up 'growing.fastq'"
part 5000 30001 whole.fastq >>growing.fastq
sleep 0.5
tail -c +35002 whole.fastq >>growing.fastq
end
[ $code = 0 ] || fail "idle: exit code $code: $(cat err.txt)"
grep -q "nothing new came for 2 s" err.txt || fail "$(cat err.txt)"
cmp followed.paf at_once.paf

rm growing.fastq && head -c 50000 whole.fastq >growing.fastq
begin $(map --reads growing.fastq --follow --account account.tsv --output followed.paf)
will_say "waits for more"
part 50000 40000 whole.fastq >>growing.fastq
kill -INT $pid
end
[ $code = 0 ] || fail "Ctrl-C: exit code $code: $(cat err.txt)"
grep -q "nothing more is waited for" err.txt || fail "$(cat err.txt)"
first_reads "$(rows_taken growing.fastq)" whole.fastq >first.fastq
run $(map --reads first.fastq --output at_once.paf)
cmp followed.paf at_once.paf
[ -s followed.paf ] && [ ! -e followed.paf.partial ] || fail "what Ctrl-C left"

# Plain files in a folder are whole when they have been quiet; the second Ctrl-C stops.
mkdir plain
for i in 11 12 13; do zcat all/$i.fastq.gz >plain/$i.fastq; done
begin $(map --reads plain --follow --follow-settle 1 --follow-until now --follow-order order.txt --output followed.paf)
will_say "takes up 'plain/13.fastq'"
zcat all/10.fastq.gz >plain/10.fastq
will_say "takes up 'plain/10.fastq'"
zcat all/14.fastq.gz >>plain/11.fastq # it had been taken for whole
will_say "takes up 'plain/11.fastq' again"
touch now
end
[ $code = 0 ] || fail "plain files: exit code $code: $(cat err.txt)"
for i in 11 12 13 10 14; do zcat all/$i.fastq.gz; done >whole.fastq
run $(map --reads whole.fastq --output at_once.paf)
cmp followed.paf at_once.paf
rm now followed.paf
begin $(map --reads plain --follow --output followed.paf)
will_say "waits for more"
kill -STOP $pid && kill -INT $pid && kill -CONT $pid
will_say "nothing more is waited for"
kill -INT $pid 2>/dev/null || true
end
[ $code = 130 ] || [ $code = 0 ] || fail "two Ctrl-C: exit code $code"
[ $code = 0 ] || [ ! -e followed.paf ] || cmp followed.paf at_once.paf || fail "two Ctrl-C left a part of an output"

# ---- what is no file of reads
mkdir bad
head -c 3000 /dev/urandom >bad/garbage.fastq
: >bad/empty.fastq
cp all/10.blow5 bad/signal.fastq
cp all/10.bam bad/10.bam
mkdir bad/folder.fastq
ln -s nowhere bad/link.fastq
mkfifo bad/pipe.fastq
zcat all/10.fastq.gz >bad/10.fastq
zcat all/11.fastq.gz | sed '10s/.*/!!/' >bad/broken.fastq
touch -h -d '1 minute ago' bad/*.fastq # quiet: whole
touch bad/sluice.stop
begin $(map --reads bad/10.fastq --reads bad --follow --account account.tsv --output followed.paf)
end
[ $code = 0 ] || fail "bad files: exit code $code: $(cat err.txt)"
[ "$(grep -c incomplete_file account.tsv)" = 4 ] && grep -q "bad/empty.fastq.* is empty" err.txt || fail "bad files: $(cat account.tsv err.txt)"
for name in garbage.fastq signal.fastq 10.bam broken.fastq; do grep -q "bad/$name': [0-9]* rows were taken, then: " account.tsv || fail "$name: $(cat account.tsv)"; done
run $(map --reads all/10.fastq.gz --output at_once.paf)
grep -q . at_once.paf
head -c "$(stat -c %s at_once.paf)" followed.paf | cmp - at_once.paf

refused() { local expected=$1; shift; "$sluice" run "$@" --quiet >out.txt 2>&1 && fail "'$*' was not refused"; grep -q -e "$expected" out.txt || fail "$(cat out.txt)"; }
refused "can't be followed" $(map --reads - --follow --output x.paf)
refused "can't be followed" $(map --reads bad/pipe.fastq --follow --output x.paf)
refused "cannot open 'missing'" $(map --reads missing --follow --output x.paf)

# ---- signal: BLOW5 that comes, grows and stays cut
mkdir signal
classify() { echo classify_signal --target reference.fa "$@"; }
begin $(classify --signal signal --follow --follow-settle 3600 --follow-order order.txt --account account.tsv --output followed.tsv)
will_say "waits for the first file"
half=$(($(stat -c %s all/20.blow5) / 2))
head -c $half all/20.blow5 >signal/20.blow5
will_say "takes up 'signal/20.blow5'"
for i in 21 22 19; do cp all/$i.blow5 signal/.$i && mv signal/.$i signal/$i.blow5; done
part $half 10000 all/20.blow5 >>signal/20.blow5
sleep 0.5
tail -c +$((half + 10001)) all/20.blow5 >>signal/20.blow5
will_say "takes up 'signal/22.blow5'"
bytes=$(stat -c %s all/23.blow5)
head -c $((bytes - 1000)) all/23.blow5 >signal/23.blow5
will_say "takes up 'signal/23.blow5'"
head -c 1000 /dev/urandom >signal/garbage.blow5
cp all/10.fastq.gz signal/reads.blow5
run simulate --reference reference.fa --reads 2 --mean-length 2000 --record-compression none --output-prefix plain/signal
cp plain/signal.blow5 signal/another.blow5
kill -INT $pid
end
[ $code = 0 ] || fail "signal: exit code $code: $(cat err.txt)"
[ "$(head -1 order.txt)" = signal/20.blow5 ] || fail "$(cat order.txt)"
[ "$(rows_taken signal/23.blow5)" = 5 ] || fail "$(cat account.tsv)"
for name in 23 garbage reads another; do grep incomplete_file account.tsv | grep -q "signal/$name.blow5" || fail "$name: $(cat account.tsv)"; done
grep -v "23.blow5\|another.blow5" order.txt >list
echo all/23.blow5 >>list
run $(classify --signal @list --output at_once.tsv)
head -n -1 at_once.tsv | cmp - followed.tsv
mkdir none
refused "no BLOW5, SLOW5, POD5 or FAST5 file that can be read has come in 'none'" $(classify --signal none --follow --follow-idle 1 --output x.tsv)

# ---- alignments: one BAM file that grows, from before its header on
call() { echo methylation --signal all/17.blow5 --reads all/17.fastq.gz --reference reference.fa --account account.tsv "$@"; }
run $(call --alignments all/17.bam --output at_once.tsv)
[ "$(wc -l <at_once.tsv)" -gt 100 ] || fail "$(wc -l <at_once.tsv) calls"
bytes=$(stat -c %s all/17.bam)
third=$((bytes / 3))
head -c 20 all/17.bam >growing.bam
begin $(call --alignments growing.bam --follow --follow-until enough --output followed.tsv --batch-work 9000)
will_say "waits for the header of 'growing.bam'"
part 20 $third all/17.bam >>growing.bam
will_say "takes up 'growing.bam'"
part $((20 + third)) 1000 all/17.bam >>growing.bam
sleep 0.5
tail -c +$((1021 + third)) all/17.bam >>growing.bam
touch enough
end
[ $code = 0 ] || fail "alignments: exit code $code: $(cat err.txt)"
cmp followed.tsv at_once.tsv
head -c $((2 * third)) all/17.bam >growing.bam
begin $(call --alignments growing.bam --follow --follow-until enough --output followed.tsv)
end
[ $code = 0 ] || fail "cut alignments: exit code $code: $(cat err.txt)"
grep incomplete_file account.tsv | grep -q "'growing.bam': [1-9][0-9]* rows were taken" || fail "cut alignments: $(cat account.tsv)"
head -c "$(stat -c %s followed.tsv)" at_once.tsv | cmp - followed.tsv
refused "is not BAM" $(call --alignments all/17.fastq.gz --follow --output x.tsv)
