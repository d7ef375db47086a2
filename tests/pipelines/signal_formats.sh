#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Signal in every format that is read: the same bytes from the same reads, from one file and from several; reads that come twice, or in one of two
# files only, are named and counted; POD5 files are followed. What others' libraries write is read, too, where PyPI can be reached.
#   signal_formats.sh SLUICE SIGNAL_AS_POD5 PYTHON_ENVIRONMENT
set -euo pipefail
sluice=$1 as_pod5=$2 environment=$3 writers=$(dirname "$(realpath "$0")")/signal_writers.py
# shellcheck source=tests/pipelines/run_in_background.sh
source "$(dirname "$0")/run_in_background.sh"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 30000 --seed 1 --output reference.fa
run simulate --reference reference.fa --reads 30 --mean-length 2000 --seed 5 --output-prefix r
"$as_pod5" vbz r.blow5 vbz.pod5
"$as_pod5" plain r.blow5 plain.pod5
mkdir parts overlap fastq
for part in 0 1 2; do "$as_pod5" vbz r.blow5 parts/$part.pod5 $((10 * part)) 10; done
for part in 0 1; do "$as_pod5" plain r.blow5 overlap/$part.pod5 $((10 * part)) 20; done
zcat r.fastq.gz | awk '{ print > ("fastq/" int((NR - 1) / 4) % 10 ".fastq") }'

aligned=(--alignments r.bam --reference reference.fa)
call() { run methylation "${aligned[@]}" --reads r.fastq.gz --output - "$@"; }
align() { run eventalign "${aligned[@]}" --reads r.fastq.gz --samples --signal-index --output - "$@"; }
classify() { run classify_signal --target reference.fa --output - "$@"; }
for of in call align classify; do
  $of --signal r.blow5 >$of.tsv
  [ "$(wc -l <$of.tsv)" -gt 30 ] || fail "$of: $(wc -l <$of.tsv) lines"
done
same() { # SIGNAL...: as from BLOW5
  for of in call align classify; do
    for threads in 1 3; do $of "$@" --threads $threads | cmp - $of.tsv || fail "$of of $*"; done
  done
}
same --signal vbz.pod5
same --signal plain.pod5
same --signal parts
same --signal parts/0.pod5 --signal 'parts/[12].pod5'
run methylation "${aligned[@]}" --reads fastq --signal parts --output - | cmp - call.tsv || fail "ten files of reads"
[ -z "$(find . -name '*.pod5.idx')" ] || fail "an index beside a POD5 file"

# ---- the same reads twice: said each time, and the first of them is used
says() { grep -q -e "$1" err.txt || fail "not '$1': $(cat err.txt)"; }
mkdir twice && cp r.blow5 twice/a.blow5 && cp r.blow5 twice/b.blow5
third=$( "$sluice" run classify_signal --target reference.fa --signal overlap/1.pod5 --output - --quiet | sed -n 2p | cut -f1)
for of in call align; do
  $of --signal overlap 2>err.txt | cmp - $of.tsv || fail "$of of overlapping files"
  says "warning: signal: the signal files have 10 records of reads that an earlier record has, which is used: '$third', '.*' and 7 more"
  for _ in 1 2; do
    $of --signal twice 2>err.txt | cmp - $of.tsv || fail "$of of the same file twice"
    says "the signal files have 30 records of reads that an earlier record has"
  done
done
# All of them are in the account, and none is lost.
named() {
  [ "$(grep -c "repeated_read$" account.tsv)" = "$1" ] || fail "not $1 reads are named: $(cat account.tsv)"
  [ "$(cut -f1 account.tsv | grep -c "^$third$")" = 1 ] || fail "$third is not named: $(cat account.tsv)"
}
call --signal overlap --account account.tsv --report report.json 2>err.txt | cmp - call.tsv
named 10
python3 - <<'PYTHON' || fail "reads that come twice are lost in the report"
import json
report = json.load(open("report.json"))
assert all(path["adds_up"] and not any(loss["reason"] == "repeated_read" for loss in path["losses"]) for path in report["account"]), report["account"]
assert [stage["counters"]["repeated_reads"] for stage in report["stages"] if "repeated_reads" in stage["counters"]] == [10]
PYTHON
classify --signal overlap --report report.json --account account.tsv >both.tsv 2>err.txt
named 10
says "the signal has 10 records of reads that an earlier record has, and all are given: '$third'"
grep -q '"repeated_reads": 10' report.json || fail "the report does not count repeated reads"
[ "$(wc -l <both.tsv)" = 41 ] || fail "$(wc -l <both.tsv) lines of overlapping files"
classify --signal twice 2>err.txt >both.tsv
says "the signal has 30 records of reads that an earlier record has"
cp fastq/3.fastq again.fastq
third=$(sed -n '1s/^@\([^[:space:]]*\).*/\1/p' again.fastq)
run methylation "${aligned[@]}" --reads fastq --reads again.fastq --signal parts --output - 2>err.txt | cmp - call.tsv || fail "reads in two files"
says "'again.fastq' has 3 reads whose name is in an earlier file, too, whose read is used: '"
(zcat r.fastq.gz && cat again.fastq) >repeated.fastq
for _ in 1 2; do
  run methylation "${aligned[@]}" --reads repeated.fastq --signal parts --output - --account account.tsv 2>err.txt | cmp - call.tsv || fail "reads twice in a file"
  says "has 3 reads whose name an earlier one has, which is used: '"
  named 3
done

# Streams of reads and of alignments give all.
zcat r.fastq.gz >once.fastq
run map --reference reference.fa --reads once.fastq --output once.bam
cp once.bam twice.bam
for reads in "once.fastq again.fastq" repeated.fastq; do
  # shellcheck disable=SC2086
  run map --reference reference.fa --reads $reads --output both.paf --account account.tsv 2>err.txt
  says "reads: the input has 3 records of reads that an earlier record has, and all are given: '$third'"
  named 3
done
run map --reference reference.fa --reads once.bam twice.bam --output both.paf --account account.tsv 2>err.txt
says "reads: the input has 30 records of reads that an earlier record has"
named 30
run methylation --reference reference.fa --alignments once.bam --alignments twice.bam --reads r.fastq.gz --signal r.blow5 --output both.tsv --account account.tsv 2>err.txt
says "the alignments have [0-9]* records of reads that an earlier record has, and all are given"
[ "$(grep -c "repeated_read$" account.tsv)" -ge 25 ] || fail "alignments that come twice: $(cat account.tsv)"

# ---- reads without signal, signal without reads
run methylation "${aligned[@]}" --reads r.fastq.gz --signal parts/1.pod5 --account account.tsv --output some.tsv
[ "$(grep -c no_signal account.tsv)" = 20 ] || fail "reads without signal: $(cat account.tsv)"
run methylation "${aligned[@]}" --reads fastq/3.fastq --signal parts --account account.tsv --output some.tsv
[ "$(grep -c read_not_in_file account.tsv)" = 27 ] || fail "signal without reads: $(cat account.tsv)"

# ---- POD5 files that come: one grows, one is renamed into the folder, one stays cut
mkdir in
half=$(($(stat -c %s parts/0.pod5) / 2))
begin classify_signal --target reference.fa --signal in --follow --follow-settle 3600 --follow-order order.txt --account account.tsv --output followed.tsv
will_say "waits for the first file"
head -c $half parts/0.pod5 >in/0.pod5
cp parts/1.pod5 in/.coming && mv in/.coming in/1.pod5
will_say "takes up 'in/1.pod5'"
head -c $((half + 3000)) parts/2.pod5 >in/2.pod5
tail -c +$((half + 1)) parts/0.pod5 >>in/0.pod5
will_say "takes up 'in/0.pod5'"
cp r.blow5 in/another.blow5
will_say "another.blow5"
touch in/sluice.stop
end
[ $code = 0 ] || fail "followed: exit code $code: $(cat err.txt)"
printf 'in/1.pod5\nin/0.pod5\n' | cmp - <(grep -v 'in/2.pod5\|another' order.txt) || fail "order: $(cat order.txt)"
for name in 2.pod5 another.blow5; do grep incomplete_file account.tsv | grep -q "in/$name" || fail "$name: $(cat account.tsv)"; done
classify --signal in/1.pod5 --signal in/0.pod5 | cmp - followed.tsv || fail "followed files give other bytes"

# ---- other writers
python=$environment/bin/python3
if ! "$python" -c 'import pod5, pyslow5' 2>/dev/null; then
  { python3 -m venv "$environment" && timeout 300 "$environment/bin/pip" install --quiet pod5 pyslow5; } >venv.log 2>&1 || true
fi
if "$python" -c 'import pod5, pyslow5' 2>/dev/null; then
  for form in vbz plain ex-zd-none ex-zd-zlib ex-zd-zstd; do
    case $form in ex-zd-*) ending=blow5 ;; *) ending=pod5 ;; esac
    "$python" "$writers" $form r.blow5 written.$form.$ending 2>writer.log || fail "$form: $(cat writer.log)"
    same --signal written.$form.$ending
  done
else
  echo "SKIPPED: not compared with files of pod5 and pyslow5: they can't be installed here ($(tail -n 1 venv.log))"
fi
