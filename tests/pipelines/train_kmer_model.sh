#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# train_kmer_model as a user runs it: a methylation model from reads with M, which then calls reads that it has not seen.
#   train_kmer_model.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 400000 --seed 1 --output reference.fa
run simulate --reference reference.fa --reads 250 --seed 2 --modified-bases --output-prefix learned
run simulate --reference reference.fa --reads 60 --seed 3 --output-prefix judged
lines_with_m() { gzip -dc "$1" | sed -n 2~4p | grep -c MG || true; }
[ "$(lines_with_m learned.fastq.gz)" = 250 ] || fail "no M in bases with --modified-bases"
[ "$(lines_with_m judged.fastq.gz)" = 0 ] || fail "M in bases without it"

train() { run train_kmer_model --signal learned.blow5 --reads learned.fastq.gz --rounds 3 "$@"; }
train --alphabet methylation --output trained.model
train --alphabet methylation --output - --threads 1 --batch-work 20000 | cmp - trained.model
[ "$(grep -c '^[ACGMT]' trained.model)" = 15625 ] || fail "$(wc -l <trained.model) lines"

# Area under the curve of single-CpG calls, in thousandths.
auc() {
  run methylation --signal judged.blow5 --reads judged.fastq.gz --alignments judged.bam --reference reference.fa --output calls.tsv "$@"
  run methylation_accuracy --calls calls.tsv --site-truth judged.truth.tsv --read-truth judged.truth_reads.tsv --reference reference.fa --output accuracy.json
  sed -n 's/.*"auc": 0\.\([0-9][0-9][0-9]\).*/\1/p' accuracy.json
}
true_model=$(auc) trained=$(auc --methylation-model trained.model)
[ "${trained:-0}" -ge $((true_model - 10)) ] || fail "AUC 0.$trained with the trained model, 0.$true_model with the simulator's"
echo "AUC 0.$true_model with the simulator's model, 0.$trained with the trained one"

# One read teaches what it can, and the model is usable.
gzip -dc learned.fastq.gz | sed -n 1,4p >one.fastq
"$sluice" run train_kmer_model --signal learned.blow5 --reads one.fastq --max-bad-reads 1 --alphabet methylation --output one.model 2>message || fail "$(cat message)"
grep -q "k-mers that were seen: [1-9][0-9]* of 4096 without M, [1-9][0-9]* of [0-9]* with M" message || fail "how much was seen: $(cat message)"
one=$(auc --methylation-model one.model)
[ "${one:-0}" -ge 800 ] || fail "AUC 0.$one with a model of one read"

# Bases without M teach nothing of it: the training says so, and methylation refuses the model.
run train_kmer_model --signal judged.blow5 --reads judged.fastq.gz --alphabet methylation --rounds 2 --output untold.model 2>message
grep -q "no k-mer with M was seen" message || fail "a training without M: $(cat message)"
run methylation --signal judged.blow5 --reads judged.fastq.gz --alignments judged.bam --reference reference.fa --methylation-model untold.model --output calls.tsv 2>message &&
  fail "a model that tells nothing was taken"
grep -q "the methylation model tells nothing" message || fail "$(cat message)"

# A nucleotide model of nucleotide reads, and a model that can't be begun with.
train --output nucleotides.model --model trained.model 2>err.txt && fail "a methylation model was taken for nucleotides"
grep -q "letter outside the nucleotide alphabet" err.txt || fail "$(cat err.txt)"
run train_kmer_model --signal judged.blow5 --reads judged.fastq.gz --rounds 1 --output nucleotides.model
[ "$(grep -c '^[ACGT]*	' nucleotides.model)" = 4096 ] || fail "$(wc -l <nucleotides.model) lines of nucleotides"
run train_kmer_model --signal judged.blow5 --reads judged.fastq.gz --rounds 1 --model nucleotides.model --max-bases 100000 --output again.model --account account.tsv
grep -q beyond_max_bases account.tsv || fail "reads beyond --max-bases are not in the account"
