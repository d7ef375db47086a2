#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Mapping and overlaps of reads: the lines of minimap2 2.24 (recorded ones, and those of the program itself where it is installed), the same bytes however
# it ran, every kind of input file, and inputs that are wrong.
#   mapping.sh SLUICE MAKE_TEST_INPUT SHARED_DIR [DATA_DIR]
# DATA_DIR: the sets of shared/tools/make-data; with it every set is compared as a whole (minutes).
set -euo pipefail
sluice=$1 make_test_input=$2 shared=$3 data=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
map() { "$sluice" run map --quiet "$@"; }
overlap() { "$sluice" run overlap --quiet "$@"; }

"$make_test_input" mapping_reference 1 >ref.fa
"$make_test_input" mapping_reads 1 60 100000 >reads.fq

# ---- recorded lines of minimap2 2.24
map --reference ref.fa --reads reads.fq --output hits.paf --paf-no-hit
cmp hits.paf "$here/mapping_expected.paf" || fail "hits differ from minimap2's recorded lines"
echo "the recorded lines"

# ---- the same bytes
options=("--threads 1" "--threads 2" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 64MiB" "--device cpu")
for option in "${options[@]}"; do
  # shellcheck disable=SC2086
  map --reference ref.fa --reads reads.fq --output now.paf --paf-no-hit $option
  cmp now.paf hits.paf || fail "$option gives other bytes"
  echo "same bytes: $option"
done

# ---- kinds of input
gzip -k ref.fa reads.fq
awk 'NR % 4 == 1 { print ">" substr($1, 2) } NR % 4 == 2' reads.fq >reads.fa
map --reference ref.fa.gz --reads reads.fq.gz --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "gzip input gives other bytes"
map --reference ref.fa --reads reads.fa --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "FASTA input gives other bytes"
map --reference ref.fa --output - --paf-no-hit <reads.fq >now.paf && cmp now.paf hits.paf || fail "standard input and output give other bytes"
if command -v samtools >/dev/null; then
  tr u t <reads.fq | awk 'NR % 4 == 2 { gsub("U", "T") } { print }' | samtools import -0 - -o reads.bam 2>/dev/null
  samtools view -h reads.bam -o reads.sam
  # A secondary record of a read, and a primary one that is stored as the reverse strand.
  awk 'BEGIN { OFS = "\t" } /^@/ { print; next } { print; $2 = 256; print }' reads.sam >twice.sam
  samtools view -C -o reads.cram reads.bam
  for reads in reads.bam reads.sam twice.sam reads.cram; do
    map --reference ref.fa --reads "$reads" --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "$reads gives other bytes"
  done
  awk 'BEGIN { OFS = "\t" } /^@/ { print; next } { $2 = 20; out = ""; for (i = length($10); i > 0; i--) out = out substr("TGCAtgcaNn", index("ACGTacgtNn", substr($10, i, 1)), 1); $10 = out; print }' \
    reads.sam >reverse.sam
  map --reference ref.fa --reads reverse.sam --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "reads stored as the reverse strand give other bytes"
  # Aligned reads are kept as differences from a reference, which the file's header names.
  printf '>whole\n%s\n' "$(awk 'NR == 2' reads.fa)" >whole.fa
  awk 'BEGIN { OFS = "\t" } NR == FNR { if (FNR == 2) print "@HD\tVN:1.6\n@SQ\tSN:whole\tLN:" length($0); next } /^@/ { next }
       ++rows == 1 { $2 = 0; $3 = "whole"; $4 = 1; $5 = 60; $6 = length($10) "M" } { print }' whole.fa reads.sam >aligned.sam
  samtools view -C -T whole.fa -o aligned.cram aligned.sam
  map --reference ref.fa --reads aligned.cram --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "aligned.cram gives other bytes"
else
  echo "SKIPPED: no samtools, so BAM and SAM were not tried"
fi
echo "every kind of input"

# ---- wrong inputs
expect_error() { # CODE TEXT OPTIONS...
  local code=$1 text=$2 got=0
  shift 2
  rm -f bad.paf
  map --output bad.paf "$@" 2>errors || got=$?
  [ "$got" = "$code" ] || { cat errors >&2; fail "exit code $got instead of $code: $*"; }
  grep -q -- "$text" errors || { cat errors >&2; fail "no '$text' in the message: $*"; }
  [ ! -e bad.paf ] || fail "an output in spite of the error: $*"
}
head -c 3000 reads.fq >cut.fq
printf '>same\nACGT\n>same\nACGT\n' >twice.fa
: >empty.fa
expect_error 4 "cut.fq" --reference ref.fa --reads cut.fq
expect_error 4 "same" --reference twice.fa --reads reads.fq
expect_error 4 "empty.fa" --reference empty.fa --reads reads.fq
expect_error 2 "no_such" --reference no_such.fa --reads reads.fq
printf '>one\n\n>two\n' >empty.fa
expect_error 4 "empty.fa.*none of its sequences has a base" --reference empty.fa --reads reads.fq
: >empty.fq
got=0
map --output bad.paf --reference ref.fa --reads empty.fq 2>errors || got=$?
[ "$got" = 3 ] && grep -q "empty.fq' is empty" errors || { cat errors >&2; fail "reads without any: exit code $got"; }
while IFS='|' read -r words record; do
  # shellcheck disable=SC2059
  { head -n 8 reads.fq; printf "$record"; sed 's/^@/@other_/' reads.fq; } >broken.fq
  expect_error 4 "broken.fq', line [0-9]*, record 3: $words" --reference ref.fa --reads broken.fq
done <<'END'
the qualities of 'read' are too short|@read\nACGT\n+\nIII\n
the qualities of 'read' are longer|@read\nACGT\n+\nIIIII\n
sequence 'read', position 5: 'I' is not a base|@read\nACGT\nIIII!\n
sequence 'read', position 3: '!' is not a base|@read\nAC!T\n+\nIIII\n
the record has no name|@\nACGT\n+\nIIII\n
a record must begin with|read\nACGT\n+\nIIII\n
END
{ head -n 8 reads.fq; head -n 8 reads.fq; } >twice.fq
map --reference ref.fa --reads twice.fq --output now.paf
head -n 8 reads.fq >once.fq
map --reference ref.fa --reads once.fq --output once.paf
cat once.paf once.paf | cmp - now.paf || fail "of two reads with one name each is mapped as if it were alone"
gzip -c reads.fq | head -c 2000 >cut.fq.gz
expect_error 4 "cut.fq.gz.*truncated or damaged" --reference ref.fa --reads cut.fq.gz
if [ -e reads.cram ]; then
  for kind in bam cram; do
    head -c 5000 reads.$kind >cut.$kind
    expect_error 4 "cut.$kind.* is truncated" --reference ref.fa --reads cut.$kind
  done
  mv whole.fa moved.fa
  REF_PATH=none expect_error 4 "aligned.cram.*REF_PATH" --reference ref.fa --reads aligned.cram
fi
# Index files.
cp ref.fa mine.fa
"$sluice" run index --quiet --reference mine.fa --output mine.idx --contigs contigs.tsv
map --reference mine.idx --reads reads.fq --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "an index gives other bytes"
expect_error 2 "long reads only" --reference ref.fa --reads reads.fq -x sr
expect_error 2 "mine.idx' was made with k = 15, not 19" --reference mine.idx --reads reads.fq --k 19
expect_error 2 "mine.idx' was made with w = 10, not 5" --reference mine.idx --reads reads.fq --w 5
expect_error 2 "mine.idx' was made with k = 15, not 19" --reference mine.idx --reads reads.fq --preset map-hifi
for bytes in 20 300 5000 $(($(wc -c <mine.idx) - 1)); do
  head -c "$bytes" mine.idx >cut.idx
  expect_error 4 "cut.idx' is truncated" --reference cut.idx --reads reads.fq
done
{ cat mine.idx; echo; } >longer.idx
expect_error 4 "longer.idx' has something behind its end" --reference longer.idx --reads reads.fq
{ head -c 20000 mine.idx; printf 'changed'; tail -c +20008 mine.idx; } >changed.idx
expect_error 4 "changed.idx' is damaged" --reference changed.idx --reads reads.fq
echo ">late" >>mine.fa
expect_error 4 "mine.idx' is stale" --reference mine.idx --reads reads.fq
# Exact matches as seeds.
map --reference ref.fa --reads reads.fq --seeds mem --output mem.paf --paf-no-hit --save-mem-index mine.fmi
[ "$(awk '$6 != "*" { print $1 }' mem.paf | sort -u | wc -l)" -ge 40 ] || fail "exact matches map few reads"
"$sluice" run seed --quiet --reference ref.fa --reads once.fq --output /dev/null --allow-empty --save-index forward.fmi
"$sluice" run index --quiet --reference ref.fa --output made.idx --contigs contigs.tsv
for index in mine.fmi forward.fmi; do
  for reference in ref.fa made.idx; do
    map --reference "$reference" --reads reads.fq --seeds mem --mem-index "$index" --output now.paf --paf-no-hit
    cmp now.paf mem.paf || fail "exact matches by $reference and $index: other bytes than by the sequences"
  done
done
for bytes in 20 300 $(($(wc -c <mine.fmi) - 1)); do
  head -c "$bytes" mine.fmi >cut.fmi
  expect_error 4 "cut.fmi' is truncated" --reference ref.fa --reads reads.fq --seeds mem --mem-index cut.fmi
done
{ head -c 20000 mine.fmi; printf 'changed'; tail -c +20008 mine.fmi; } >changed.fmi
expect_error 4 "changed.fmi' is damaged" --reference ref.fa --reads reads.fq --seeds mem --mem-index changed.fmi
expect_error 4 "made.idx', line 1.*an index that fm_index saved" --reference ref.fa --reads reads.fq --seeds mem --mem-index made.idx
sed 's/^>/>other_/' ref.fa >other.fa
"$sluice" run seed --quiet --reference other.fa --reads once.fq --output /dev/null --allow-empty --save-index other.fmi
expect_error 4 "not of the same contigs" --reference ref.fa --reads reads.fq --seeds mem --mem-index other.fmi
echo "exact matches as seeds, by sequences and by index files"
expect_error 2 "preset" --reference ref.fa --reads reads.fq --preset map-nothing
expect_error 2 "k" --reference ref.fa --reads reads.fq --k 29
echo "wrong inputs have an error each"

# ---- the program itself
if ! command -v minimap2 >/dev/null || [[ $(minimap2 --version) != 2.24* ]]; then
  echo "SKIPPED: no minimap2 2.24, so nothing but the recorded lines was compared"
  exit 0
fi
compare() { # NAME ORDER PIPELINE "OPTIONS OF MINIMAP2" "OPTIONS OF SLUICE" TARGETS READS
  local name=$1 order=$2 pipeline=$3 theirs=$4 ours=$5 targets=$6 reads=$7
  local files=(--reference "$targets" --reads "$reads")
  [ "$pipeline" = map ] || files=(--targets "$targets" --reads "$reads")
  if [ "$pipeline" = map ]; then
    ours+=" --compat minimap2=2.24"
    [[ $ours == *--max-chain-skip* ]] || ours+=" --max-chain-skip 1000000"
  fi
  # shellcheck disable=SC2086
  minimap2 $theirs "$targets" "$reads" 2>/dev/null >expected.paf
  # shellcheck disable=SC2086
  "$sluice" run "$pipeline" --quiet $ours "${files[@]}" --output now.paf
  if [ "$order" = any_order ]; then
    sort -o expected.paf expected.paf
    sort -o now.paf now.paf
  fi
  cmp now.paf expected.paf || fail "$name: other lines than minimap2 $theirs"
  [ -s now.paf ] || fail "$name: no lines"
  echo "minimap2's lines: $name, $ours ($(wc -l <now.paf))"
}
exact=--max-chain-skip=1000000
presets() { # NAME TARGETS READS
  for preset in map-ont map-pb map-hifi; do
    compare "$1" in_order map "-x $preset $exact" "--preset $preset" "$2" "$3"
    compare "$1" in_order map "-x $preset" "--preset $preset --max-chain-skip 25" "$2" "$3"
  done
  for preset in ava-ont ava-pb; do compare "$1" any_order overlap "-x $preset $exact" "--preset $preset" "$3" "$3"; done
}
presets "made for the test" ref.fa reads.fq
for seed in 2 3; do
  "$make_test_input" mapping_reference $seed >ref$seed.fa
  "$make_test_input" mapping_reads $seed 60 $((seed * 30000)) >reads$seed.fq
  compare "seed $seed" in_order map "-x map-ont $exact" "--preset map-ont" ref$seed.fa reads$seed.fq
done
while IFS='|' read -r theirs ours; do
  compare "options" in_order map "$exact $theirs" "$ours" ref2.fa reads2.fq
done <<'END'
-k 13 -w 5|--k 13 --w 5
-k 28 -w 1|--k 28 --w 1
-k 11 -w 50 -H|--k 11 --w 50 --hpc
-f 3|--f 3
-f 0.2 -U 2,1000|--f 0.2 --min-occ 2 --max-occ 1000
-U 1,3 -e 100|--min-occ 1 --max-occ 3 --occ-dist 100
-U 1,3 -e 0|--min-occ 1 --max-occ 3 --occ-dist 0
--q-occ-frac 0.001 -U 1,2|--q-occ-frac 0.001 --min-occ 1 --max-occ 2
-g 200|--max-gap 200
-r 50,3000|--bw 50 --bw-long 3000
-r 2000 --no-long-join|--bw 2000 --bw-long 0
-n 10 -m 200|--min-cnt 10 --min-chain-score 200
-P|--all-chain
-p 0.1 -N 50|--secondary-ratio 0.1 --best-count 50
-p 0|--secondary-ratio 0
-N 0|--no-secondary
-M 0.1|--mask-level 0.1
-M 0.9 --hard-mask-level|--mask-level 0.9 --hard-mask-level
--mask-len 50|--mask-len 50
--rmq=yes|--rmq yes
--max-chain-iter 10|--max-chain-iter 10
--chain-gap-scale 2|--chain-gap-scale 2
--for-only|--for-only
--rev-only|--rev-only
--secondary=no|--no-secondary
--paf-no-hit|--paf-no-hit
--seed 1|--seed 1
--no-hash-name|--no-hash-name
END
head -n 100 reads2.fq >few.fq
compare "two sets of reads" any_order overlap "-x ava-ont $exact --dual=yes" "--preset ava-ont --dual" reads2.fq few.fq

# ---- letters, index files of minimap2, and a read of 10 Mb
# Every 97th letter of the reference and every 131st of the reads is none of A, C, G and T, and stretches of both are in lower case.
letters='{ out = ""
  for (i = 1; i <= length($0); i++) {
    letter = substr($0, i, 1)
    if (++count % every == 0) letter = substr("NnRYKMSWBDHVrykmswbdhv", 1 + count / every % 22, 1)
    out = out (count % 1000 < 300 ? tolower(letter) : letter)
  }
  $0 = out }'
awk -v every=97 "!/^>/ $letters"' { print }' ref2.fa >letters.fa
awk -v every=131 "NR % 4 == 2 $letters"' { print }' reads2.fq >letters.fq
compare "ambiguous and small letters" in_order map "-x map-ont $exact" "--preset map-ont" letters.fa letters.fq
compare "ambiguous and small letters" in_order map "-x map-ont $exact -k 11 -w 5" "--k 11 --w 5" letters.fa letters.fq
compare "ambiguous and small letters" in_order map "-x map-pb $exact" "--preset map-pb" letters.fa letters.fq
minimap2 -x map-ont -d ref2.mmi ref2.fa 2>/dev/null
compare "an index file of minimap2" in_order map "-x map-ont $exact" "--preset map-ont" ref2.mmi reads2.fq
expect_error 2 "ref2.mmi' was made with w = 10, not 5" --reference ref2.mmi --reads reads2.fq --w 5
for bytes in 3 10 100 5000 $(($(wc -c <ref2.mmi) - 1)); do
  head -c "$bytes" ref2.mmi >cut.mmi
  if [ "$bytes" = 3 ]; then expect_error 4 "cut.mmi" --reference cut.mmi --reads reads2.fq
  else expect_error 4 "cut.mmi' is truncated" --reference cut.mmi --reads reads2.fq; fi
done
"$sluice" run synthetic_reference --quiet --length 10000000 --seed 9 --output long.fa
"$make_test_input" one_long_read 5 3 <long.fa >long_read.fa
compare "a read of 10 Mb" in_order map "-x map-ont $exact" "--preset map-ont" long.fa long_read.fa

if [ ! -d "$shared/data" ]; then
  echo "SKIPPED: no $shared, so no real reads were compared"
  exit 0
fi
real=$shared/data
presets "lambda_ont_real" "$real/lambda_ont_real/sample_reference.fasta.gz" "$real/lambda_ont_real/sample_reads.fasta.gz"
presets "hg002_correction_real" "$real/hg002_correction_real/ref.fasta" "$real/hg002_correction_real/reads.fq"
gzip -dc "$real/sarscov2_amplicons_real/reads.fasta.gz" >amplicons.fa
head -n 600 amplicons.fa >few.fa
presets "sarscov2_amplicons_real" few.fa few.fa
compare "sarscov2_amplicons_real" in_order map "-x map-ont $exact" "--preset map-ont" few.fa amplicons.fa

[ -n "$data" ] || exit 0
for set in "ecoli20x ecoli" "ecoli_long ecoli" "repeats50_8k repeats50" "repeats50_long repeats50"; do
  read -r reads reference <<<"$set"
  compare "$reads" in_order map "-x map-ont $exact" "--preset map-ont" "$data/$reference.fa" "$data/$reads.fq"
  compare "$reads" in_order map "-x map-ont" "--preset map-ont --max-chain-skip 25" "$data/$reference.fa" "$data/$reads.fq"
done
compare "satellite" in_order map "-x map-ont $exact -f 100000" "--preset map-ont --f 100000" "$data/satellite.fa" "$data/satellite.fq"
compare "satellite" in_order map "-x map-ont $exact" "--preset map-ont" "$data/satellite.fa" "$data/satellite.fq"
