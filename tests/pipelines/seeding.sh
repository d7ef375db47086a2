#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Exact matches of simulated reads: the lines of bwa fastmap and mummer where those are installed, the same bytes however it runs, an index file in place of the
# sequences, and the errors of files that do not fit.
#   seeding.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*"; exit 1; }

"$sluice" run synthetic_reference --length 40000 --seed 4 --output random.fa --quiet
# A second contig with what is hard: a copy of part of the first, a run, a tandem repeat and ambiguous bases.
awk '!/^>/ { text = text $0 }
     END { unit = substr(text, 100, 37); for (i = 0; i < 40; ++i) tandem = tandem unit
           for (i = 0; i < 300; ++i) run = run "A"
           print ">first\n" text; print ">second with words\n" substr(text, 5000, 3000) run "NNNNNNNNNNRYNNNN" tandem substr(text, 20000, 500) }' random.fa >ref.fa
"$sluice" run simulate --reference ref.fa --reads 120 --seed 4 --mean-length 1500 --output-prefix reads --quiet
gzip -dc reads.fastq.gz | awk 'NR % 4 == 1 { print ">" substr($1, 2) } NR % 4 == 2' >reads.fa
printf '>run\n%s\n>empty\n\n>short\nACG\n' "$(printf 'A%.0s' $(seq 500))" >>reads.fa

"$sluice" run seed --reference ref.fa --text both --reads reads.fa --save-index both.fmi --output both.tsv --quiet
"$sluice" run seed --reference ref.fa --reads reads.fa --save-index forward.fmi --output forward.tsv --quiet
[ "$(wc -l <forward.tsv)" -gt 1000 ] || fail "only $(wc -l <forward.tsv) matches"
"$sluice" run seed --reference forward.fmi --reads reads.fa --output now.tsv --quiet
cmp forward.tsv now.tsv
"$sluice" run seed --reference ref.fa --reads reads.fa --sample-interval 5 --k 6 --output now.tsv --quiet
cmp forward.tsv now.tsv
echo "an index file gives the same matches as the sequences, whatever its table and its sampling"

for options in "--threads 1" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 32MiB" "--device cpu"; do
  for definition in 1 2 smem; do
    # shellcheck disable=SC2086
    "$sluice" run seed --reference ref.fa --reads reads.fa --definition $definition --min-length 11 --output now.tsv --quiet $options
    [ -e "first.$definition" ] || cp now.tsv "first.$definition"
    cmp "first.$definition" now.tsv || fail "$options gives other bytes"
  done
  echo "same bytes: $options"
done

if command -v bwa >/dev/null; then
  bwa index -p ref ref.fa 2>/dev/null
  for length in 11 14 20; do
    bwa fastmap -l $length ref reads.fa 2>/dev/null >bwa.txt
    "$sluice" run seed --reference both.fmi --reads reads.fa --format fastmap --min-length $length --output fastmap.txt --quiet
    # A read without bases is no row here, and two lines there.
    awk '/^SQ/ && $3 == 0 { skip = 2 } skip-- > 0 { next } { skip = 0; print }' bwa.txt | cmp - fastmap.txt || fail "other lines than bwa fastmap -l $length"
  done
  echo "bwa fastmap: the same lines"
else
  echo "SKIPPED: bwa is not installed"
fi
if command -v mummer >/dev/null; then
  sorted() { awk '/^>/ { read = $0; next } { print read "|" $1 "|" $2 "|" $3 "|" $4 }' "$1" | LC_ALL=C sort; }
  for length in 11 20; do
    mummer -maxmatch -n -b -l $length ref.fa reads.fa 2>/dev/null >mummer.txt
    "$sluice" run seed --reference forward.fmi --reads reads.fa --format mummer --min-length $length --output matches.txt --quiet
    cmp <(sorted mummer.txt) <(sorted matches.txt) || fail "other matches than mummer -l $length"
  done
  echo "mummer: the same matches"
else
  echo "SKIPPED: mummer is not installed"
fi

refused() {  # WORDS OPTION...
  local words=$1
  shift
  if "$sluice" run seed --reads reads.fa --output refused.tsv --quiet "$@" 2>error.txt; then fail "accepted: $*"; fi
  grep -q "$words" error.txt || { cat error.txt; fail "no word of '$words'"; }
}
head -c 5000 forward.fmi >cut.fmi
refused "truncated" --reference cut.fmi
refused "holds the forward strand, not both strands" --reference forward.fmi --format fastmap
refused "needs an index of the forward strand" --reference both.fmi --format mummer
echo ">late" >>ref.fa
refused "is stale" --reference forward.fmi
echo "all good"
