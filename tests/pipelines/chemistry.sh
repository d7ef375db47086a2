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

# A kit that does not tell the pore.
kit() { # KIT [options]: what a run says of reads of this kit
  "$sluice" run simulate --reference transcripts.fa --reads 5 --mean-length 1000 --output-prefix no --sequencing-kit "$1" --flow-cell . --quiet || fail "a file of the kit '$1'"
  "$sluice" run resquiggle --signal no.blow5 --reads no.fastq.gz --output out.tsv "${@:2}" 2>&1 >/dev/null
}
[ "$(kit sqk-lsk112 | grep -c "of the sequencing kit 'sqk-lsk112', which was used with the pores R10.4 and R9.4.1, and does not say its flow cell: it is taken for dna_r9")" = 1 ] ||
  fail "a kit of two pores: $(kit sqk-lsk112)"
[ "$(kit sqk-new006 | grep -c "of the sequencing kit 'sqk-new006', which sluice does not know: it is taken for dna_r9")" = 1 ] || fail "an unknown kit: $(kit sqk-new006)"
[ "$(kit . | grep -c "does not say its sequencing kit")" = 1 ] || fail "no kit: $(kit .)"
kit . --pore r9 | grep -q "sequencing kit" && fail "a warning where the pore is given"
kit sqk-rad004 | grep -q "sequencing kit" && fail "a warning for a kit of R9"
echo "$failures failures"
[ "$failures" = 0 ]
