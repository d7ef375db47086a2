#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# FAST5 in place of BLOW5: the same bytes from the same reads, in every form that was ever written; one file, several, a folder of single reads; files
# that come. What can't be read is named, and so is what is missing where sluice was built without HDF5.
#   fast5.sh SLUICE SIGNAL_AS_FAST5 SHARED_DIR
set -euo pipefail
sluice=$1 as_fast5=$2 real=$3/data/ecoli_r9_real
# shellcheck source=tests/pipelines/run_in_background.sh
source "$(dirname "$0")/run_in_background.sh"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 30000 --seed 1 --output reference.fa
run simulate --reference reference.fa --reads 30 --mean-length 2000 --seed 5 --output-prefix r
for form in vbz vbz:5000 vbz-unpacked vbz-flat:700 gzip:1000 shuffle none contiguous; do
  "$as_fast5" $form fixed multi r.blow5 "$form.fast5"
done
"$as_fast5" vbz variable shared r.blow5 variable.fast5
mkdir parts single
for part in 0 1 2; do "$as_fast5" vbz fixed multi r.blow5 parts/$part.fast5 $((10 * part)) 10; done
"$as_fast5" gzip variable single r.blow5 single

aligned=(--alignments r.bam --reference reference.fa --reads r.fastq.gz)
call() { run methylation "${aligned[@]}" --output - "$@"; }
align() { run eventalign "${aligned[@]}" --samples --signal-index --output - "$@"; }
squiggle() { run resquiggle --reads r.fastq.gz --output - "$@"; }
# Reads in the order of the file.
classify() { run classify_signal --target reference.fa --output - "$@" | sort; }
for of in call align squiggle classify; do
  $of --signal r.blow5 >$of.tsv
  [ "$(wc -l <$of.tsv)" -gt 30 ] || fail "$of: $(wc -l <$of.tsv) lines"
done
same() { # SIGNAL...: as from BLOW5
  for of in call align squiggle classify; do
    for threads in 1 3; do $of "$@" --threads $threads 2>err.txt | cmp - $of.tsv || fail "$of of $*: $(cat err.txt)"; done
  done
}
for file in *.fast5; do same --signal "$file"; done
same --signal parts
same --signal parts/0.fast5 --signal 'parts/[12].fast5'
same --signal single
[ -z "$(find . -name '*.fast5.idx')" ] || fail "an index beside a FAST5 file"

# Of a beginning, and where each read came from.
"$sluice" run classify_signal --target reference.fa --signal vbz:5000.fast5 --prefix-bases 100 --output - --quiet | sort >some.tsv
"$sluice" run classify_signal --target reference.fa --signal r.blow5 --prefix-bases 100 --output - --quiet | sort | cmp - some.tsv || fail "beginnings"
run summary --signal single --reads r.fastq.gz --output summary.tsv
[ "$(grep -c 'read_0000[0-9]*.fast5' summary.tsv)" = 30 ] || fail "summary: $(head -n 3 summary.tsv)"

# Reads that come twice; another format beside it; a file without reads is nothing.
cp parts/0.fast5 parts/again.fast5
call --signal parts 2>err.txt | cmp - call.tsv || fail "a file twice"
grep -q "have 10 records of reads that an earlier record has" err.txt || fail "a file twice: $(cat err.txt)"
rm parts/again.fast5
call --signal vbz.fast5 --signal r.blow5 >/dev/null 2>err.txt && fail "FAST5 and BLOW5 together"
grep -q "differ: format" err.txt || fail "FAST5 and BLOW5 together: $(cat err.txt)"
"$as_fast5" vbz fixed multi r.blow5 parts/none.fast5 0 0
same --signal parts
mv parts/none.fast5 parts/00none.fast5
same --signal parts

# Damaged, and cut.
half=$(($(stat -c %s vbz.fast5) / 2))
head -c $half vbz.fast5 >cut.fast5
for of in call classify; do
  $of --signal cut.fast5 >/dev/null 2>err.txt && fail "$of of a cut file"
  grep -q "'cut.fast5' cannot be read as FAST5" err.txt || fail "a cut file: $(cat err.txt)"
done
cp cut.fast5 parts/9.fast5
call --signal parts >/dev/null 2>err.txt && fail "a cut file among others"
grep -q "parts/9.fast5" err.txt || fail "a cut file among others: $(cat err.txt)"
rm parts/9.fast5

# Files that come.
mkdir in
begin classify_signal --target reference.fa --signal in --follow --follow-settle 0.5 --output followed.tsv
will_say "waits for the first file"
for part in 0 1 2; do cp parts/$part.fast5 in/.coming && mv in/.coming in/$part.fast5; done
will_say "takes up 'in/2.fast5'"
touch in/sluice.stop
end
[ $code = 0 ] || fail "followed: exit code $code: $(cat err.txt)"
sort followed.tsv | cmp - classify.tsv || fail "followed files give other bytes"

# Without the program that has HDF5.
bin=$(dirname "$sluice")
mkdir bare && cp -r "$bin/sluice" "$bin/plugins" "$bin/pipelines" bare/ && rm bare/plugins/fast5_reader
bare/sluice run methylation "${aligned[@]}" --signal vbz.fast5 --output - >/dev/null 2>err.txt && fail "FAST5 was read without the program"
for words in "'vbz.fast5' is a FAST5 file" "sluice-fast5" "pod5 convert fast5" "slow5tools f2s"; do
  grep -q "$words" err.txt || fail "without the program: $(cat err.txt)"
done

if [ -e "$real/fast5.tar" ]; then
  tar -xf "$real/fast5.tar"
  gzip -dc "$real/draft.fa.gz" >draft.fa
  cp "$real/reads.fasta" "$real/reads.bam" "$real/reads.bam.bai" "$real/reads.blow5" .
  of_real() { run "$1" --reads reads.fasta --alignments reads.bam --reference draft.fa --signal "$2" --output - --account "$3"; }
  for pipeline in methylation eventalign; do
    of_real $pipeline fast5_files account.tsv >$pipeline.fast5.tsv
    of_real $pipeline reads.blow5 all.tsv >$pipeline.blow5.tsv
  done
  [ "$(wc -l <methylation.fast5.tsv)" -gt 500 ] || fail "real FAST5 files: $(wc -l <methylation.fast5.tsv) lines"
  # The rows of these reads among those of all.
  grep -F -x -f methylation.blow5.tsv methylation.fast5.tsv | cmp - methylation.fast5.tsv || fail "real FAST5 files give other rows"
else
  echo "SKIPPED in part: $real/fast5.tar is not there"
fi
