#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice map -o x.bed`: the places of the run's alignments, six columns, and twelve where introns are looked for: what the SAM of the same run says, and
# the bytes of bedtools bamtobed where that is installed.
#   bed.sh SLUICE MAKE_TEST_INPUT
set -euo pipefail
sluice=$1 make_test_input=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
map() { "$sluice" map --quiet "$@"; }

# The same from the fields of SAM: names, flags, places and CIGARs.
places() { # SAM COLUMNS
  awk -F '\t' -v columns="$2" '
    /^@/ || $3 == "*" { next }
    {
      end = block = $4 - 1; sizes = starts = ""; blocks = 0
      for (cigar = $6; match(cigar, /^[0-9]+./); cigar = substr(cigar, RLENGTH + 1)) {
        length_ = substr(cigar, 1, RLENGTH - 1) + 0; code = substr(cigar, RLENGTH, 1)
        if (code == "N") { sizes = sizes (end - block) ","; starts = starts (block - $4 + 1) ","; block = end + length_; ++blocks }
        if (code ~ /[MD=XN]/) end += length_
      }
      line = $3 "\t" $4 - 1 "\t" end "\t" $1 "\t" $5 "\t" (int($2 / 16) % 2 ? "-" : "+")
      if (columns == 12) line = line "\t" $4 - 1 "\t" end "\t255,0,0\t" blocks + 1 "\t" sizes end - block "\t" starts block - $4 + 1
      print line
    }' "$1"
}
compare() { # NAME COLUMNS OPTIONS...
  local name=$1 columns=$2
  shift 2
  map "$@" -o hits.sam
  map "$@" -o hits.bed
  [ -s hits.bed ] || fail "$name: no lines"
  places hits.sam "$columns" | cmp - hits.bed || fail "$name: not the places of the SAM"
  if command -v bedtools >/dev/null; then
    map "$@" -o hits.bam
    bedtools bamtobed -i hits.bam $([ "$columns" = 6 ] || echo -bed12) | cmp - hits.bed || fail "$name: not what bedtools bamtobed says"
  fi
  echo "$name: $(wc -l <hits.bed) lines"
}
command -v bedtools >/dev/null || echo "SKIPPED: comparison with bedtools (it is not installed)"

"$sluice" synthetic_reference --length 60000 --seed 3 --output ref.fa --quiet
"$sluice" simulate --reference ref.fa --reads 80 --seed 3 --mean-length 2000 --output-prefix r --quiet
"$make_test_input" spliced_genome 1 24 >genome.fa
"$make_test_input" spliced_reads 1 24 150 60000 >spliced.fa
compare "reads" 6 ref.fa r.fastq.gz
compare "primary alignments" 6 ref.fa r.fastq.gz --no-secondary
compare "cDNA without introns in mind" 6 genome.fa spliced.fa
compare "introns" 12 genome.fa spliced.fa -x splice
[ "$(awk '$10 > 1' hits.bed | wc -l)" -gt 50 ] || fail "few alignments have blocks"

# The ending says it, in any case, and how the bytes are stored; --format says it for standard output.
map genome.fa spliced.fa -x splice -o hits.BED.gz
gzip -dc hits.BED.gz | cmp - hits.bed || fail "other lines in .BED.gz"
map genome.fa spliced.fa -x splice --format bed | cmp - hits.bed || fail "other lines on standard output"
for threads in 1 3; do map genome.fa spliced.fa -x splice -t $threads --format bed | cmp - hits.bed || fail "other lines with $threads threads"; done
map genome.fa spliced.fa -x splice --cs -o hits.bed 2>errors || fail "--cs with .bed: $(cat errors)"
# Reads without an alignment have no line.
printf '>nothing\nACGTTGCATGCATCGATCGATGCATCGATCGTACG\n' >nothing.fa
map genome.fa nothing.fa -o none.bed --allow-empty
[ ! -s none.bed ] || fail "a read without an alignment has a line"
echo "ok"
