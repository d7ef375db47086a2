#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Direct RNA without tags: the adapter is found in the signal, also of reads as short as tRNA; poly(A) tails are measured.
#   direct_rna.sh SLUICE SHARED_DIR
set -euo pipefail
sluice=$1 real=$2/data/modern_real
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 3000 --contigs 4 --seed 3 --output transcripts.fa
adapter=CTTCTTATTTCTTCTTTTCTCGATTCTTATCTTCTATCTATTCTTTCTTCTCTTCATCTTATCTTCTTCTTTCATCTTCTTCTATCTTATTTCTTCTCTCT
simulate() { run simulate_rna --reference transcripts.fa --seed 4 --adapter $adapter --adapter-level 64 "$@"; }

# Short reads. Column 14 is the first sample of an event; the adapter ends at ts, which the FASTQ says.
simulate --reads 60 --mean-length 115 --minimum-length 100 --length-distribution fixed --output-prefix short
align() { run eventalign --alignments short.bam --reference transcripts.fa --reads bare.fastq --signal short.blow5 --print-read-names --signal-index --output "$@"; }
zcat short.fastq.gz | cut -f1 >bare.fastq
zcat short.fastq.gz | awk -F'\t' 'NR % 4 == 1 { for (i = 2; i <= NF; ++i) if ($i ~ /^ts:i:/) print substr($1, 2), substr($i, 6) }' >ts.txt
# begins TABLE NAME START: reads of a table, and how many of them begin near ts; the columns of the read and of the first sample.
begins() { awk -F'\t' -v name="$2" -v start="$3" '
             FNR == NR { split($0, a, " "); ts[a[1]] = a[2]; next } FNR > 1 && $start != "." { if (!($name in least) || $start < least[$name]) least[$name] = $start }
             END { for (read in least) { ++reads; if (least[read] > ts[read] - 400 && least[read] < ts[read] + 600) ++right } print reads + 0, right + 0 }' ts.txt "$1"; }
align found.tsv
read -r reads right < <(begins found.tsv 4 14)
[ "$reads" -ge 55 ] && [ "$right" -ge $((reads - 3)) ] || fail "of 60 short reads $reads are written, of which $right begin behind the adapter"
align f5c.tsv --compat f5c --min-recalib-events 50
read -r reads right < <(begins f5c.tsv 4 14)
[ "$right" -lt $((reads / 2)) ] || fail "--compat f5c leaves the adapters out: $right of $reads"

# dorado --no-trim says that nothing was cut (ts 0): the adapter is found none the less.
zcat short.fastq.gz | sed 's/\tts:i:[0-9]*/\tts:i:0/' >untrimmed.fastq
run resquiggle --reads untrimmed.fastq --signal short.blow5 --output untrimmed.tsv
read -r reads right < <(begins untrimmed.tsv 1 3)
[ "$reads" -ge 55 ] && [ "$right" -ge $((reads - 3)) ] || fail "with ts 0 $reads of 60 short reads are written, of which $right begin behind the adapter"

# What m6anet and xpore read: the same with any threads, and sites of every transcript.
run simulate_rna --reference transcripts.fa --seed 6 --reads 200 --mean-length 900 --output-prefix sites
for threads in 1 4; do
  for format in m6anet xpore; do
    mkdir "$format.$threads"
    run eventalign --signal sites.blow5 --alignments sites.bam --reference transcripts.fa --kmer-model-size 5 --format $format --output $format.$threads --threads $threads
  done
done
for format in m6anet xpore; do diff -r $format.1 $format.4 || fail "$format: other bytes with four threads"; done
[ "$(cut -d, -f1 xpore.1/data.readcount | sort -u | wc -l)" = 5 ] || fail "xpore: not all transcripts have reads"
[ "$(wc -l <m6anet.1/data.info)" = $(($(wc -l <m6anet.1/data.json) + 1)) ] && [ "$(wc -l <m6anet.1/data.json)" -gt 20 ] || fail "m6anet: $(wc -l <m6anet.1/data.json) sites"
if run eventalign --signal sites.blow5 --alignments sites.bam --reference transcripts.fa --format m6anet --output m6anet.1 2>refused.txt; then fail "9-mers are taken for m6anet"; fi
grep -q -- "--kmer-model-size 5" refused.txt || fail "no remedy for 9-mers: $(cat refused.txt)"
# These tools are of RNA: reads of DNA make files that look right.
run simulate --reference transcripts.fa --reads 20 --pore r9 --seed 7 --output-prefix dna
for format in m6anet xpore nanocompore; do
  mkdir -p dna
  output=dna
  [ $format != nanocompore ] || output=dna.db
  if run eventalign --signal dna.blow5 --alignments dna.bam --reference transcripts.fa --kmer-model-size 5 --format $format --output $output 2>refused.txt; then
    fail "$format takes reads of DNA"
  fi
  grep -q "read direct RNA, and the pore 'r9' is of DNA" refused.txt || fail "$format: another reason: $(cat refused.txt)"
done
if run direct_rna transcripts.fa dna.bam --signal dna.blow5 --m6anet dna --output dna_again.bam 2>refused.txt; then fail "direct_rna takes signal of DNA"; fi
# A pore that contradicts the signal's header is said.
run eventalign --signal sites.blow5 --alignments sites.bam --reference transcripts.fa --pore r9 --output other.tsv 2>warned.txt || true
grep -q "says that its reads are of rna_004, and they are taken for the pore r9" warned.txt || fail "nothing is said of RNA with --pore r9: $(cat warned.txt)"

# Tails. Lengths are gamma-distributed around 80, and found within a fifth or 10 bases.
simulate --reads 80 --mean-length 700 --tail-length 80 --estimate-poly-a --output-prefix tailed
zcat tailed.fastq.gz | cut -f1 >untagged.fastq
run poly_a --signal tailed.blow5 --reads untagged.fastq --output tails.tsv
zcat tailed.fastq.gz | awk -F'\t' 'NR % 4 == 1 { for (i = 2; i <= NF; ++i) if ($i ~ /^pt:i:/) print substr($1, 2), substr($i, 6) }' >true.txt
awk 'FNR == NR { bases[$1] = $2; next } FNR > 1 { off = $2 - bases[$1]; if (off < 0) off = -off; if (off <= 10 || off <= bases[$1] / 5) ++right; ++reads } END { print right + 0, reads }' true.txt tails.tsv >right.txt
read -r right reads <right.txt
[ "$reads" = 80 ] && [ "$right" -ge 75 ] || fail "$right of $reads tails are right"
# What the basecaller said is taken.
run poly_a --signal tailed.blow5 --reads tailed.fastq.gz --output said.tsv
cmp <(tail -n +2 said.tsv | cut -f1,2,5) <(awk '{ print $1 "\t" $2 "\tbasecaller" }' true.txt) || fail "the tag pt is not used"
# So is the place of its tag pa, in samples of the sequencer's read.
zcat tailed.fastq.gz | awk -F'\t' 'NR % 4 == 1 { for (i = 2; i <= NF; ++i) if ($i ~ /^pa:B:i,/) { split($i, pa, ","); print substr($1, 2) "\t" pa[3] "\t" pa[4] } }' >places.txt
cmp <(tail -n +2 said.tsv | cut -f1,3,4) places.txt || fail "the tag pa is not used"
# Behind a cut front samples still count from the read's first one.
zcat tailed.fastq.gz | sed 's/\tp[ta]:[^\t]*//g' >cut.fastq
run poly_a --signal tailed.blow5 --reads cut.fastq --output cut.tsv
awk -F'\t' 'FNR == NR { begin[$1] = $2; next } FNR > 1 && $3 >= 0 { ++found; off = $3 - begin[$1]; near += off < 400 && off > -400 } END { exit !(found >= 70 && near >= found * 0.9) }' places.txt cut.tsv ||
  fail "tails of reads without adapter lie elsewhere"
# Records with tags: what is measured is read back from them, also as what the basecaller said.
awk 'NR % 4 == 1 { name = substr($1, 2) } NR % 4 == 2 { bases = $1 } NR % 4 == 0 { print name "\t4\t*\t0\t0\t*\t*\t0\t0\t" bases "\t" $1 }' untagged.fastq >untagged.sam
run poly_a --signal tailed.blow5 --reads untagged.sam --output of_sam.tsv --tagged-bam tagged.bam
cmp tails.tsv of_sam.tsv || fail "--tagged-bam changes the table"
run poly_a --signal tailed.blow5 --reads tagged.bam --output again.tsv
cmp <(cut -f1-4 tails.tsv) <(cut -f1-4 again.tsv) || fail "tags are not those of the table"
[ "$(tail -n +2 again.tsv | cut -f5 | sort -u)" = basecaller ] || fail "records without pt"
# What is said already stays, aligned records, too; a line a read.
run poly_a --signal tailed.blow5 --reads tailed.bam --output aligned.tsv --tagged-bam aligned.bam
cmp <(sort aligned.tsv) <(sort said.tsv) || fail "aligned records have other tails"
simulate --reads 40 --mean-length 700 --output-prefix bare
run poly_a --signal bare.blow5 --reads bare.fastq.gz --output none.tsv
[ "$(awk -F'\t' 'NR > 1 && $2 > 0' none.tsv | wc -l)" -le 4 ] || fail "tails where there are none"

# Tails of cDNA, at the front or at the rear, with and without moves: whole copies of transcripts of 900 bases that end in 60 A.
run synthetic_reference --length 840 --contigs 20 --seed 9 --output bodies.fa
awk -v tail="$(printf 'A%.0s' {1..60})" '/^>/ { if (bases) print bases tail; bases = ""; print; next } { bases = bases $0 } END { print bases tail }' bodies.fa >cdna.fa
run simulate --reference cdna.fa --reads 80 --pore r10 --mean-dwell 10 --mean-length 900 --minimum-length 900 --length-distribution fixed --error-rate 0.02 --moves --seed 5 --output-prefix cdna
zcat cdna.fastq.gz | sed 's/\tmv:[^\t]*//' >unmoved.fastq
for reads in cdna.fastq.gz unmoved.fastq; do
  run poly_a --signal cdna.blow5 --reads $reads --output cdna.tsv
  read -r right reads_in < <(awk 'NR > 1 { ++reads; right += $2 >= 45 && $2 <= 72 } END { print right + 0, reads + 0 }' cdna.tsv)
  [ "$reads_in" = 80 ] && [ "$right" -ge 72 ] || fail "$reads: $right of $reads_in tails of 60 bases are within 45 and 72"
done
run simulate --reference bodies.fa --reads 40 --pore r10 --mean-dwell 10 --mean-length 840 --minimum-length 840 --length-distribution fixed --seed 6 --output-prefix tailless
run poly_a --signal tailless.blow5 --reads tailless.fastq.gz --output tailless.tsv
[ "$(awk -F'\t' 'NR > 1 && $2 > 0' tailless.tsv | wc -l)" -le 2 ] || fail "tails of cDNA that has none"

if [ -e "$real/rna004_trna.pod5" ]; then
  cp "$real"/rna004_trna.* .
  run resquiggle --reads rna004_trna.fastq.gz --signal rna004_trna.pod5 --output real.tsv
  written=$(tail -n +2 real.tsv | cut -f1 | sort -u | wc -l)
  [ "$written" -ge 170 ] || fail "$written of 180 real tRNA reads are written"
else
  echo "SKIPPED: real tRNA reads, as $real/rna004_trna.pod5 is not there"
fi
