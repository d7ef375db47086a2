#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run resquiggle`: simulated DNA and RNA, the same bytes for every way of running, bad input; and what f5c 1.6 wrote for the same reads.
#   resquiggle.sh SLUICE SHARED_DIR
set -uo pipefail
sluice=$1 shared=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }

run synthetic_reference --length 20000 --contigs 5 --seed 1 --output reference.fa || exit 1
run simulate --reference reference.fa --reads 60 --mean-length 1500 --seed 2 --output-prefix r9 || exit 1
for pore in rna004 rna_r9; do
  run simulate_rna --reference reference.fa --reads 60 --pore $pore --seed 2 --output-prefix $pore || exit 1
done
for set in r9 rna004 rna_r9; do
  input=(--signal $set.blow5 --reads $set.fastq.gz)
  for format in tsv paf; do
    run resquiggle "${input[@]}" --format $format --output $set.$format --account $set.account --max-bad-reads 0.1 || fail "$set as $format"
    run resquiggle "${input[@]}" --format $format --output - --threads 1 --batch-work 5000 --max-bad-reads 0.1 2>/dev/null | cmp - $set.$format || fail "$set as $format, one thread"
  done
  run resquiggle "${input[@]}" --output $set.tsv.gz --max-bad-reads 0.1 && gzip -dc $set.tsv.gz | cmp - $set.tsv || fail "$set compressed"
  # Nearly every read is aligned, in the order of the file, with a scale near 1: so the events come in the right order.
  written=$(wc -l <$set.paf) failed=$(($(wc -l <$set.account) - 1))
  [ "$written" -ge 55 ] && [ $((written + failed)) = 60 ] || fail "$set: $written reads written, $failed in the account"
  awk -F'\t' '{ split($13, scale, ":"); if (scale[3] < 0.85 || scale[3] > 1.15) bad++ } END { exit bad > 0 }' $set.paf || fail "$set: scales"
  gzip -dc $set.fastq.gz | awk 'NR % 4 == 1 { print substr($1, 2) }' | grep -Fxf <(cut -f1 $set.paf) | cmp - <(cut -f1 $set.paf) || fail "$set: order of the reads"
  # Table and PAF say the same: places, numbers, and the samples of each k-mer.
  awk -F'\t' -v rna=$([ $set = r9 ] && echo 0 || echo 1) '
    NR == FNR { if (FNR > 1 && $3 != ".") { n[$1]++; sum[$1] += $4 - $3; if ($4 <= $3) exit 1; if ($1 in last && (rna ? $4 != last[$1] : $3 != last[$1])) exit 1; last[$1] = rna ? $3 : $4 } next }
    $10 != n[$1] || $4 - $3 != sum[$1] || $11 != $7 || $12 != 255 || (rna ? $8 <= $9 : $8 >= $9) { exit 1 }' $set.tsv $set.paf || fail "$set: table and PAF differ"
done

# Reads without signal, signal without reads, a truncated file of reads, an impossible output.
gzip -dc r9.fastq.gz >reads.fastq
{ printf '@nobody\nACGTACGTAC\n+\nIIIIIIIIII\n'; head -40 reads.fastq; } >some.fastq
run resquiggle --signal r9.blow5 --reads some.fastq --output some.tsv --account some.account --max-bad-reads 0.5 || fail "a read without signal"
grep -q $'^nobody\tsignal\tno_signal$' some.account || fail "the account: $(cat some.account)"
head -c 5001 reads.fastq >cut.fastq
run resquiggle --signal r9.blow5 --reads cut.fastq --output cut.tsv 2>message && fail "a truncated file of reads"
[ ! -e cut.tsv ] || fail "a truncated file of reads has an output"
: >empty.fastq
run resquiggle --signal r9.blow5 --reads empty.fastq --output empty.tsv 2>message && [ "$(wc -l <empty.tsv)" = 1 ] || grep -qi "empty\|no reads" message || fail "no reads: $(cat message)"
# compat only changes sc and sh.
run resquiggle --signal r9.blow5 --reads r9.fastq.gz --format paf --compat f5c --output compat.paf --max-bad-reads 0.1
cut -f1-12,15 compat.paf | cmp - <(cut -f1-12,15 r9.paf) || fail "--compat f5c changes more than the tags"
[ "$(cut -f13,14 compat.paf | sort -u)" = "$(head -1 r9.paf | cut -f13,14)" ] || fail "--compat f5c: tags"

if [ -d "$shared/data/rna004" ]; then
  unpack() { case $1 in *.xz) xz -dc "$1" ;; *) gzip -dc "$1" ;; esac; }
  f5c() { # SET READS FORMAT EXPECTED
    run resquiggle --signal "$shared/data/$1/reads.blow5" --reads "$shared/data/$1/$2" --format "$3" --compat f5c --output got \
      --model "$shared/models/r9.4_450bps.nucleotide.6mer.template.model" 2>/dev/null || fail "$1"
    if unpack "$shared/data/$1/expected/$4" | cmp -s - got; then echo "same bytes: $1 $4 ($(wc -l <got) lines)"; else fail "differs: $1 $4"; fi
  }
  f5c ecoli_r9_real reads.fasta tsv f5c_resquiggle.tsv.xz
  f5c ecoli_r9_real reads.fasta paf f5c_resquiggle.paf.gz
  f5c lambda_r9 reads.fastq.gz paf f5c_resquiggle.paf.xz
  # RNA: f5c's resquiggle of these was not kept, but its eventalign says which reads align, and their scalings to two decimals (of those with MAPQ >= 20).
  for set in rna_r9:r9.4_70bps.u_to_t_rna.5mer.template.model rna004:rna004.nucleotide.9mer.model.xz; do
    data=$shared/data/${set%%:*}
    run resquiggle --signal "$data/reads.blow5" --reads "$data/reads.fastq.gz" --format paf --output rna.paf --model "$shared/models/${set##*:}" 2>/dev/null || fail "${set%%:*}"
    unpack "$data/expected/f5c_eventalign.paf.gz" | cut -f1,13,14 | sort >expected
    awk -F'\t' '{ printf "%s\tsc:f:%.2f\tsh:f:%.2f\n", $1, substr($13, 6), substr($14, 6) }' rna.paf | sort >got
    missing=$(comm -23 expected got | wc -l) more=$(comm -13 expected got | wc -l)
    echo "${set%%:*}: $(wc -l <got) reads, $(wc -l <expected) of f5c eventalign, $missing of them missing or scaled otherwise"
    [ "$missing" = 0 ] && [ "$more" -le 1 ] || fail "${set%%:*}: $missing missing, $more more"
  done
else
  echo "SKIPPED: the comparison with f5c, as the test data folder '$shared' is not there"
fi
echo "$failures failures"
[ "$failures" = 0 ]
