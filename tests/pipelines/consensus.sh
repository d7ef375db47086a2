#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Consensus of windows: the templates come back, the same bytes however it runs, rows of alignments without gaps are the sequences, and broken files are refused.
#   consensus.sh SLUICE MAKE_TEST_INPUT
set -euo pipefail
sluice=$1 make_test_input=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*"; exit 1; }

# The third word of a header is what the window was made from.
"$make_test_input" windows 7 400 >windows.txt

for algorithm in heaviest_bundle majority; do
  "$sluice" run consensus --windows windows.txt --algorithm $algorithm --output $algorithm.fa --msa $algorithm.msa --quiet
  [ "$(grep -c '>' $algorithm.fa)" = 400 ] || fail "$algorithm: not 400 windows"
  for options in "--threads 1" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 32MiB" "--device cpu"; do
    # shellcheck disable=SC2086
    "$sluice" run consensus --windows windows.txt --algorithm $algorithm --output now.fa --msa now.msa --quiet $options
    cmp $algorithm.fa now.fa || fail "$options gives another consensus"
    cmp $algorithm.msa now.msa || fail "$options gives another alignment"
  done
  # Names are w0/0, w0/1, ...: the rows are in the file's order.
  grep -v '>' $algorithm.msa | tr -d - >rows.txt
  grep -v '>' windows.txt | tr a-z A-Z | cmp - rows.txt || fail "$algorithm: rows without gaps are not the sequences"
done
right() { paste -d' ' <(grep '>' windows.txt) <(grep -v '>' "$1") | awk '$2 >= 12 { ++n; if ($3 == $4) ++right } END { printf "%d", 1000 * right / n }'; }
[ "$(right majority.fa)" -ge 880 ] || fail "majority: only $(right majority.fa) of 1,000 deep windows are right"
[ "$(right heaviest_bundle.fa)" -ge 500 ] || fail "heaviest_bundle: only $(right heaviest_bundle.fa) of 1,000 deep windows are right"
echo "templates come back: majority $(right majority.fa), heaviest bundle $(right heaviest_bundle.fa) of 1,000 deep windows"

gzip -c windows.txt >windows.gz
"$sluice" run consensus --output now.fa --quiet <windows.gz
cmp heaviest_bundle.fa now.fa || fail "compressed standard input gives another consensus"

refused() {  # WORDS FILE
  if "$sluice" run consensus --windows "$2" --output refused.fa --quiet 2>error.txt; then fail "accepted: $2"; fi
  grep -q "$1" error.txt || { cat error.txt; fail "no word of '$1'"; }
  [ ! -e refused.fa ] || fail "an output of a failed run is there"
}
head -n -5 windows.txt >cut.txt  # the last window has 25 sequences
refused "the file ends in window" cut.txt
head -c 3000 windows.gz >cut.gz
refused "truncated or damaged" cut.gz
echo "no window" >other.txt
refused "expected '>'" other.txt
refused "cannot open" absent.txt
: >empty.txt
"$sluice" run consensus --windows empty.txt --output now.fa --quiet --allow-empty
[ ! -s now.fa ] || fail "an empty file gives a consensus"
echo "all good"
