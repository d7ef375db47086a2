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

# Each window a file: FASTA in a folder, repeated options, windows among them; the consensuses of the file of all windows.
mkdir folder
awk '/^>/ { window = sprintf("folder/%s.fa", substr($1, 2)); number = 0; printf "" >window; next } { print ">s" number++ "\n" $0 >window } ' windows.txt
[ "$(find folder -name '*.fa' | wc -l)" = 400 ] || fail "not 400 files"
paste - - <heaviest_bundle.fa | sort >expected.txt
for options in "--threads 1" "--threads 7" "--batch-work 1" "--device cpu"; do
  # shellcheck disable=SC2086
  "$sluice" run consensus --windows folder --output now.fa --quiet $options
  paste - - <now.fa | sort | cmp - expected.txt || fail "a folder of FASTA gives another consensus"
  grep '>' now.fa | LC_ALL=C sort -c || fail "the files of a folder don't come by name"
done
first=$(grep -m1 '>' windows.txt | cut -c2- | cut -d' ' -f1)
"$sluice" run consensus --windows "folder/$first.fa" --windows windows.txt --output now.fa --quiet
cmp now.fa <(head -2 heaviest_bundle.fa; cat heaviest_bundle.fa) || fail "a file of FASTA and one of windows"

# FASTQ: qualities are weights, as in spoa.
mkdir reads
for window in 1 2 3 4 5 6; do
  "$sluice" run synthetic_reference --length 800 --contigs 1 --seed $window --output template.fa --quiet
  "$sluice" run simulate --reference template.fa --reads 12 --mean-length 600 --seed $window --output-prefix reads --quiet
  gzip -dc reads.fastq.gz >reads/$window.fastq
done
scores="--alignment global --match 5 --mismatch -4 --gap-open -8 --gap-extend -8"
# shellcheck disable=SC2086
"$sluice" run consensus --windows reads $scores --output weighted.fa --msa weighted.msa --quiet
[ "$(grep -c '>' weighted.fa)" = 6 ] || fail "not 6 windows"
mkdir bases
for window in 1 2 3 4 5 6; do awk 'NR % 4 == 1 { print ">" substr($0, 2) } NR % 4 == 2' reads/$window.fastq >bases/$window.fasta; done
# shellcheck disable=SC2086
"$sluice" run consensus --windows bases $scores --output unweighted.fa --quiet
cmp -s weighted.fa unweighted.fa && fail "qualities weigh nothing"
if command -v spoa >/dev/null; then
  for window in 1 2 3 4 5 6; do
    spoa -l 1 -m 5 -n -4 -g -8 -e -8 -r 0 reads/$window.fastq | sed "s/^>.*/>$window/"
  done | cmp - weighted.fa || fail "spoa has another consensus of FASTQ"
  for window in 1 2 3 4 5 6; do
    spoa -l 1 -m 5 -n -4 -g -8 -e -8 -r 0 bases/$window.fasta | sed "s/^>.*/>$window/"
  done | cmp - unweighted.fa || fail "spoa has another consensus of FASTA"
  spoa -l 1 -m 5 -n -4 -g -8 -e -8 -r 1 reads/3.fastq | grep -v '>' | cmp - <(grep -A1 '^>3/' weighted.msa | grep -v '^[->]*-$' | grep -v '>') || fail "spoa has another alignment"
  # What spoa does without options; its names of segments and paths are ours without the window.
  defaults="--alignment local --match 5 --mismatch -4 --gap-open -8 --gap-extend -6 --second-gap-open -10 --second-gap-extend -4"
  for strands in as_given either; do
    option=; [ $strands = as_given ] || option=-s
    for window in 1 2 3 4 5 6; do
      # shellcheck disable=SC2086
      "$sluice" run consensus --windows reads/$window.fastq $defaults --strands $strands --output now.fa --msa now.msa --gfa now.gfa --compat spoa --graphviz now.dot --quiet
      differs() { fail "spoa has another $1 of reads/$window.fastq, strands $strands"; }
      # shellcheck disable=SC2086
      spoa -r 0 $option reads/$window.fastq | tail -1 | cmp - <(tail -1 now.fa) || differs consensus
      # shellcheck disable=SC2086
      spoa -r 1 $option reads/$window.fastq | grep -v '>' | cmp - <(grep -v '>' now.msa) || differs alignment
      # shellcheck disable=SC2086
      spoa -r 4 $option -d expected.dot reads/$window.fastq | awk -F'\t' -v OFS='\t' '$1 == "P" { $2 = $2 == "Consensus" ? "consensus" : n++ } 1' |
        cmp - <(sed -e "s/\b$window://g" -e "s/^P\t$window\//P\t/" now.gfa) || differs GFA
      cmp <(tail -n +2 expected.dot) <(tail -n +2 now.dot) || differs DOT
      [ $strands = as_given ] || grep -q -- '-,' now.gfa || fail "no sequence was turned"
    done
  done
  echo "spoa's consensus, alignment, GFA and DOT with convex gaps, on given strands and on either"
else
  echo "SKIPPED: the comparison with spoa, which is not installed"
fi

# Graphs: the same bytes however it runs, and every path spells its sequence.
"$sluice" run consensus --windows windows.txt --output first.fa --gfa first.gfa --graphviz first.dot --quiet
for options in "--threads 1" "--batch-work 1" "--executor serial"; do
  # shellcheck disable=SC2086
  "$sluice" run consensus --windows windows.txt --output now.fa --gfa now.gfa --graphviz now.dot --quiet $options
  cmp first.gfa now.gfa || fail "$options gives another GFA"
  cmp first.dot now.dot || fail "$options gives another DOT"
done
[ "$(grep -c '^digraph' first.dot)" = 400 ] || fail "not 400 graphs"
# GFA 1 as its specification has it: names, strands, overlaps as CIGARs, paths of names with strands. spoa's overlaps on request.
is_gfa() { # FILE: 0 if every line is one
  awk -F'\t' '
    function is_name(text) { return text ~ /^[!-)+-<>-~][!-~]*$/ }
    /^H\t/ { fine = $2 == "VN:Z:1.0" }
    /^S\t/ { fine = is_name($2) && $3 ~ /^[A-Za-z=.]+$/ }
    /^L\t/ { fine = is_name($2) && $3 ~ /^[-+]$/ && is_name($4) && $5 ~ /^[-+]$/ && $6 ~ /^(\*|([0-9]+[MIDNSHPX=])+)$/ }
    /^P\t/ { fine = is_name($2) && $4 == "*"; n = split($3, at, ","); for (i = 1; i <= n; ++i) fine = fine && is_name(at[i]) && at[i] ~ /.[-+]$/ }
    { if (!fine) { print "line " NR ": " $0; exit 1 } fine = 0 }' "$1"
}
is_gfa first.gfa || fail "no GFA 1"
[ "$(grep -c '^L.*	0M	' first.gfa)" = "$(grep -c '^L' first.gfa)" ] || fail "overlaps are not 0M"
"$sluice" run consensus --windows windows.txt --output now.fa --gfa now.gfa --compat spoa --quiet
sed 's/	OM	/	0M	/' now.gfa | cmp - first.gfa || fail "--compat spoa changes more than the overlaps"
! is_gfa now.gfa >/dev/null || fail "--compat spoa has no overlaps of spoa's"
printf '>1\nACGT\n>2\nAGT\n' >'*odd, name.fa'
"$sluice" run consensus --windows '*odd, name.fa' --output now.fa --gfa now.gfa --quiet
is_gfa now.gfa || fail "a window's name is no name of GFA"
grep -q '^S' now.gfa || fail "no graph of a window with an odd name"
awk -F'\t' '$1 == "S" { letter[$2] = $3 } $1 == "P" && $2 !~ /consensus/ { n = split($3, at, ","); text = ""; for (i = 1; i <= n; ++i) text = text letter[substr(at[i], 1, length(at[i]) - 1)]; print text }' first.gfa >spelt.txt
grep -v '>' windows.txt | tr a-z A-Z | grep . | cmp - spelt.txt || fail "paths do not spell the sequences"

# Two haplotypes that differ at some places, and one that is only noisy.
"$make_test_input" haplotypes 5 60 >haplotypes.txt
"$sluice" run consensus --windows haplotypes.txt --haplotypes 2 --algorithm majority --output apart.fa --quiet
awk '/^>/ { split($3, a, "/"); name = substr($1, 2); first[name] = a[1]; second[name] = a[2] } FNR == NR && /^>/ { ++windows } FNR != NR { exit }
     END { for (name in first) print name, first[name], second[name] }' haplotypes.txt | sort >truths.txt
awk '/^>/ { split(substr($1, 2), a, "/"); name = a[1]; next } { print name, $0 }' apart.fa | sort >made.txt
awk 'FNR == NR { ++wanted[$1 " " $2]; two[$1] = $3 != ""; if ($3 != "") ++wanted[$1 " " $3]; next }
     { ++records[$1]; right += ($1 " " $2) in wanted; ++all } END { for (w in two) good += records[w] == 1 + two[w]; printf "%d %d %d %d\n", good, length(two), right, all }' truths.txt made.txt >score.txt
read -r good windows right all <score.txt
[ "$windows" = 60 ] && [ "$good" -ge 57 ] && [ $((right * 10)) -ge $((all * 9)) ] || { cat score.txt; fail "haplotypes are not told apart"; }
grep -q '^>w[0-9]*/2 sequences=' apart.fa || fail "no haplotype has a name and a number of sequences"
echo "haplotypes: $good of $windows windows have the right number, $right of $all consensuses are right"

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
head -n -1 reads/1.fastq >cut.fastq
refused "cut.fastq:.*the file ends within the qualities" cut.fastq
mkdir -p empty
refused "there is no input in 'empty'" empty
echo "all good"
