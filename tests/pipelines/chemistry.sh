#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What the signal file says it is, and what a pipeline is made for: refusals and warnings.
#   chemistry.sh SLUICE
set -uo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }

run synthetic_reference --length 4000 --contigs 5 --seed 1 --output transcripts.fa || exit 1
for pore in rna004 rna_r9; do
  run simulate_rna --reference transcripts.fa --reads 10 --pore $pore --seed 2 --output-prefix $pore || exit 1
done
for pore in r9 r10; do
  run simulate --reference transcripts.fa --reads 10 --mean-length 1000 --pore $pore --synthetic-methylation --seed 3 --output-prefix $pore || exit 1
done
printf 'id\tlabel\n' >labels.tsv

# refuses EXIT_CODE WORDS ARGUMENTS: no output, and these words in the message
refuses() {
  local words=$1 code
  shift
  rm -f out.tsv
  "$sluice" run "$@" --output out.tsv --quiet >/dev/null 2>message
  code=$?
  [ "$code" = 2 ] || fail "exit code $code instead of 2: $*"
  grep -q -- "$words" message || fail "no '$words' in '$(cat message)': $*"
  [ ! -e out.tsv ] || fail "there is an output: $*"
}
for pore in rna004 rna_r9; do
  signal=(--signal $pore.blow5)
  alignments=(--reads $pore.fastq.gz --alignments $pore.bam --reference transcripts.fa)
  refuses "methylation is called on DNA only, and the pore '$pore' is of direct RNA" methylation "${signal[@]}" "${alignments[@]}"
  printf 'kmer\tlevel_mean\tlevel_stdv\n' >any.model
  refuses "methylation is called on DNA only" methylation "${signal[@]}" "${alignments[@]}" --methylation-model any.model
  refuses "methylation is called on DNA only" methylation_from_reads "${signal[@]}" --reads $pore.fastq.gz --reference transcripts.fa
  refuses "strands of DNA have no poly(A) tail, and the pore 'r9' is of DNA" classify_signal "${signal[@]}" --target transcripts.fa --preset rna004 --pore r9
done
for pipeline in classify_signal "read_until --speed 0"; do
  refuses "there are no built-in thresholds for the pore 'rna_r9'" $pipeline --signal rna_r9.blow5 --target transcripts.fa
done
for pipeline in classify_signal "read_until --speed 0" "calibrate_read_until --label other"; do
  output=(--output out.tsv)
  [ "${pipeline%% *}" != calibrate_read_until ] || output=(--scores out.tsv)
  "$sluice" run $pipeline --signal rna004.blow5 --target transcripts.fa "${output[@]}" 2>&1 >/dev/null | grep -q "reads of direct RNA (rna004) begin with adapter and poly(A) tail" ||
    fail "$pipeline: no warning for RNA without a preset"
  "$sluice" run $pipeline --signal r9.blow5 --target transcripts.fa "${output[@]}" --preset rna004 >/dev/null 2>message
  [ $? = 2 ] && grep -q "strands of DNA have no poly(A) tail" message || fail "$pipeline: the preset of RNA for DNA is not refused: $(cat message)"
done
# Whoever knows better says the pore.
"$sluice" run classify_signal --signal rna004.blow5 --target transcripts.fa --pore r9 --output forced.tsv --quiet || fail "--pore r9 on a file that says RNA"
[ "$(wc -l <forced.tsv)" = 11 ] || fail "$(wc -l <forced.tsv) lines with --pore r9"

# warnings ARGUMENTS: how often the built-in thresholds are warned of
warnings() { "$sluice" run "$@" 2>&1 >/dev/null | grep -c "the built-in thresholds were made for R"; }
target=(--target transcripts.fa --output out.tsv)
[ "$(warnings classify_signal --signal r9.blow5 "${target[@]}")" = 0 ] || fail "a warning for what the thresholds were made for"
[ "$(warnings classify_signal --signal r10.blow5 "${target[@]}")" = 1 ] || fail "no warning for R10"
[ "$(warnings read_until --signal r10.blow5 "${target[@]}" --speed 0)" = 1 ] || fail "no warning for R10 in read_until"
[ "$(warnings classify_signal --signal r10.blow5 "${target[@]}" --threshold 0.3)" = 0 ] || fail "a warning where the user has a threshold"
head -2 transcripts.fa >small.fa
[ "$(warnings classify_signal --signal r9.blow5 --target small.fa --output out.tsv)" = 1 ] || fail "no warning for a small target"

# What the header of a signal file says, and the basecaller's model in the reads. `kit` writes a file with these attributes and runs a pipeline over it.
kit() { # FLOW_CELL KIT RATE [HEADER_OF_THE_READ [options]]: what a run says of the chemistry
  printf '#slow5_version\t0.2.0\n#num_read_groups\t1\n' >by_hand.slow5
  printf '@%s\t%s\n' flow_cell_product_code "$1" sequencing_kit "$2" sample_frequency "$3" >>by_hand.slow5
  printf '#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n' >>by_hand.slow5
  printf '#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\n' >>by_hand.slow5
  printf 'a\t0\t8192\t6\t1467.61\t%s\t8\t400,402,500,501,430,431,520,523\n' "$3" >>by_hand.slow5
  printf '@a%b\nACGTACGTAC\n+\n##########\n' "${4:-}" >by_hand.fastq
  "$sluice" run resquiggle --signal by_hand.slow5 --reads by_hand.fastq --output out.tsv --allow-empty "${@:5}" 2>&1 >/dev/null
}
# warned WORDS FLOW_CELL KIT ...: once, with these words
warned() {
  local words=$1 said
  shift
  said=$(kit "$@")
  [ "$(grep -c -- "$words" <<<"$said")" = 1 ] || fail "'$*': no '$words' in '$said'"
}
silent() {
  local said
  said=$(kit "$@")
  grep -q "taken for\|built-in model" <<<"$said" && fail "'$*': $said"
}
warned "of the sequencing kit 'sqk-lsk112', which was used with the pores R10.4 and R9.4.1, and does not say its flow cell: it is taken for dna_r9; if it is another pore's, give --pore" . sqk-lsk112 4000
warned "of the sequencing kit 'sqk-rad004', which was used with the pores R9.4.1, R9.5, R10 and R10.3, and does not say its flow cell" . sqk-rad004 4000
for number in 001 002 003 004 005 006; do
  warned "of the sequencing kit 'sqk-new$number', which sluice does not know: it is taken for dna_r9" . sqk-new$number 4000
done
warned "does not say its sequencing kit or its flow cell" . . 4000
warned "do not belong together: it is taken for dna_r9" FLO-MIN106 SQK-LSK114 4000
warned "as the first runs of RNA004 did: it is taken for rna_004" FLO-PRO002 sqk-rna002 4000
warned "has a sampling rate of 20000 Hz, which runs of dna_r9 do not have" FLO-MIN106 . 20000
warned "is of 260 bases a second, and what is built in is of 400" FLO-MIN114 SQK-LSK114-260 4000
silent . . 4000 "" --pore r9
silent FLO-MIN106 sqk-rad004 4000
silent FLO-PRO114M . 5000
silent FLO-MIN004RA SQK-DRB004-24 4000
silent flo-min106 sqk-rna001 3012
# No model is built in for R10.4.
for said in sqk-q20ea sqk-lsk112; do
  warned "there is no built-in model for the signal file's chemistry 'dna_r10_4'" FLO-PRO112 $said 4000
done
# The basecaller's model speaks where the header is silent, and is heard where it contradicts.
silent . . 5000 ' runid=x basecall_model_version_id=dna_r10.4.1_e8.2_400bps_sup@v4.2.0'
silent . . 4000 '\tst:Z:2026-01-01\tRG:Z:f00_rna004_130bps_sup@v5.1.0'
warned "was basecalled as dna_r10 ('dna_r10.4.1_e8.2_400bps_hac@v4.1.0'): it is taken for dna_r9; if it is another pore's, give --pore" FLO-MIN106 sqk-lsk109 4000 \
  '\tRG:Z:f00_dna_r10.4.1_e8.2_400bps_hac@v4.1.0'
warned "no built-in model for the signal file's chemistry 'dna_r10_4'; the file was basecalled as dna_r10" FLO-PRO112 sqk-lsk112 4000 ' model_version_id=dna_r10.4.1_e8.2_400bps_fast@v3.5.2'
kit . . 5000 "" >/dev/null
printf '@HD\tVN:1.6\n@SQ\tSN:c\tLN:1000\n@RG\tID:x\tDS:runid=1 basecall_model=dna_r10.4.1_e8.2_400bps_sup@v5.0.0\na\t0\tc\t1\t60\t10M\t*\t0\t0\tACGTACGTAC\t*\n' >by_hand.sam
printf '>c\n%01000d\n' 0 | tr 0 A >c.fa
said=$("$sluice" run eventalign --signal by_hand.slow5 --reads by_hand.fastq --alignments by_hand.sam --reference c.fa --output out.tsv --allow-empty 2>&1)
grep -q "taken for" <<<"$said" && fail "the model in @RG is not heard: $said"
sed 's/sup@v5.0.0/x/; s/dna_r10.4.1_e8.2_400bps/rna002_70bps/' by_hand.sam >rna.sam
kit FLO-MIN106 sqk-lsk109 4000 >/dev/null
said=$("$sluice" run eventalign --signal by_hand.slow5 --reads by_hand.fastq --alignments rna.sam --reference c.fa --output out.tsv --allow-empty 2>&1)
grep -q "was basecalled as rna_r9 ('rna002_70bps_x'): it is taken for dna_r9" <<<"$said" || fail "the model in @RG that contradicts: $said"
# Strands that are slower than those that the thresholds were made of: unrelated reads fit anywhere.
run synthetic_reference --length 40000 --seed 5 --output home.fa
run synthetic_reference --length 40000 --seed 6 --output elsewhere.fa
for dwell in 31 45; do
  run simulate_rna --reference home.fa --reads 120 --mean-length 700 --tail-length 80 --mean-dwell $dwell --seed 4 --output-prefix dwell$dwell
  "$sluice" run classify_signal --preset rna004 --signal dwell$dwell.blow5 --target elsewhere.fa --output out.tsv --quiet 2>dwell$dwell.txt >/dev/null
done
grep -q "a base stays in the pore" dwell31.txt && fail "a warning of strands of the usual speed: $(cat dwell31.txt)"
grep -Eq "a base stays in the pore for (3[7-9]|4[0-9])\.[0-9] samples \(median of [0-9]+ reads, where they were aligned\), and for 30.8 in the reads that the built-in thresholds" dwell45.txt ||
  fail "no warning of slow strands: $(cat dwell45.txt)"
echo "$failures failures"
[ "$failures" = 0 ]
