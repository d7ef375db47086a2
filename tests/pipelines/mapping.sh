#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Mapping and overlaps of reads: the lines of minimap2 2.24 (recorded ones, and those of the program itself where it is installed), the same bytes however
# it ran, every kind of input file, and inputs that are wrong.
#   mapping.sh SLUICE SHARED_DIR [DATA_DIR]
# DATA_DIR: the sets of shared/tools/make-data; with it every set is compared as a whole (minutes).
set -euo pipefail
sluice=$1 shared=$2 data=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
map() { "$sluice" run map --quiet "$@"; }
overlap() { "$sluice" run overlap --quiet "$@"; }

make() { awk -v what="$1" -v seed="$2" -v reads="${3:-0}" -v error="${4:-0}" -f "$here/mapping_reads.awk"; }
make reference 1 >ref.fa
make reads 1 60 0.1 >reads.fq

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
  for reads in reads.bam reads.sam twice.sam; do
    map --reference ref.fa --reads "$reads" --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "$reads gives other bytes"
  done
  awk 'BEGIN { OFS = "\t" } /^@/ { print; next } { $2 = 20; out = ""; for (i = length($10); i > 0; i--) out = out substr("TGCAtgcaNn", index("ACGTacgtNn", substr($10, i, 1)), 1); $10 = out; print }' \
    reads.sam >reverse.sam
  map --reference ref.fa --reads reverse.sam --output now.paf --paf-no-hit && cmp now.paf hits.paf || fail "reads stored as the reverse strand give other bytes"
else
  echo "skipped: no samtools, so BAM and SAM were not tried"
fi
echo "every kind of input"

# ---- wrong inputs
expect_error() { # CODE TEXT OPTIONS...
  local code=$1 text=$2 got=0
  shift 2
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
expect_error 4 "no_such" --reference no_such.fa --reads reads.fq
expect_error 2 "preset" --reference ref.fa --reads reads.fq --preset map-nothing
expect_error 2 "k" --reference ref.fa --reads reads.fq --k 29
echo "wrong inputs have an error each"

# ---- the program itself
if ! command -v minimap2 >/dev/null || [[ $(minimap2 --version) != 2.24* ]]; then
  echo "skipped: no minimap2 2.24, so nothing but the recorded lines was compared"
  exit 0
fi
compare() { # NAME ORDER PIPELINE "OPTIONS OF MINIMAP2" "OPTIONS OF SLUICE" TARGETS READS
  local name=$1 order=$2 pipeline=$3 theirs=$4 ours=$5 targets=$6 reads=$7
  local files=(--reference "$targets" --reads "$reads")
  [ "$pipeline" = map ] || files=(--targets "$targets" --reads "$reads")
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
  make reference $seed >ref$seed.fa
  make reads $seed 60 0.0$((seed * 3)) >reads$seed.fq
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
-N 0|--best-count 0
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

if [ ! -d "$shared/data" ]; then
  echo "skipped: no $shared, so no real reads were compared"
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
