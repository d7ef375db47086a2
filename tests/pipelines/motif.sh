#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Motifs other than CpG, as a user calls them: simulated, trained, called, counted and written as modBAM, against the simulator's truth.
#   motif.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 200000 --seed 5 --output reference.fa
call() { run methylation --signal reads.blow5 --alignments reads.bam --reference reference.fa "$@"; }

# What the column `sequence` of a single site shows from its sixth letter on, by strand.
check_sites() {
  awk -F'\t' -v strand="$1" -v motif="^.....$2" 'NR > 1 && $2 == strand && $10 == 1 && $11 !~ motif { wrong++ } NR > 1 && $2 == strand { rows++ }
    END { if (wrong || rows < 50) { print wrong + 0 " of " rows + 0 " rows of strand " strand; exit 1 } }' calls.tsv || fail "$motif: $2 is not where the table says"
}

for motif in gpc dam dcm CAR:1:a; do
  run simulate --reference reference.fa --reads 60 --seed 6 --motif $motif --synthetic-methylation --output-prefix reads
  call --motif $motif --synthetic-methylation --output calls.tsv --frequency sites.tsv --modbam calls.bam --bedmethyl counted.bed --call-threshold 0 \
    --set stages.modbam.params.keep_failed=false
  case $motif in
    gpc) check_sites + GC; check_sites - GC; tag=C+m ;;
    dam) check_sites + GATC; check_sites - GATC; tag=A+a ;;
    dcm) check_sites + 'CC[AT]GG'; check_sites - 'CC[AT]GG'; tag=C+m ;;
    *) check_sites + 'CA[AG]'; check_sites - '[CT]TG'; tag=A+a ;;
  esac

  # The truth.
  run methylation_accuracy --calls calls.tsv --site-truth reads.truth.tsv --read-truth reads.truth_reads.tsv --reference reference.fa --output accuracy.json
  auc=$(sed -n 's/.*"auc": 0\.\([0-9][0-9][0-9]\).*/\1/p' accuracy.json)
  grep -q '"calls_without_truth": 0,' accuracy.json || fail "$motif: sites that the simulator does not know: $(cat accuracy.json)"
  [ "${auc:-0}" -ge 930 ] || fail "$motif: $(cat accuracy.json)"
  echo "$motif: AUC 0.$auc"

  # Other threads and batches, and frequencies from the table.
  call --motif $motif --synthetic-methylation --output - --threads 1 --batch-work 20000 | cmp - calls.tsv
  run frequency --calls calls.tsv --motif $motif --call-threshold 0 --output - | cmp - sites.tsv
  run frequency --calls calls.tsv --motif $motif --split-groups --format bedmethyl --output split.bed
  run frequency --calls calls.tsv --motif $motif --format bedmethyl --output - | cmp - split.bed

  # modBAM, counted: the same places and classes as of the calls themselves.
  run pileup --alignments calls.bam --reference reference.fa --motif $motif --filter-threshold 0 --output pileup.bed
  cut -f 1-10,14-18 pileup.bed > expected
  cut -f 1-10,14-18 counted.bed | cmp - expected || fail "$motif: counts of calls are not those of modBAM"
  [ "$(wc -l < pileup.bed)" -gt 300 ] || fail "$motif: $(wc -l < pileup.bed) rows"
  run pileup --alignments calls.bam --output - | cut -f 4 | sort -u | cmp - <(echo "${tag#*+}") || fail "$motif: other codes in modBAM"
done

# A free motif may be a named one.
run simulate --reference reference.fa --reads 60 --seed 6 --motif dam --synthetic-methylation --output-prefix reads
call --motif dam --synthetic-methylation --output calls.tsv --bedmethyl apart.bed
call --motif GATC:1:a --synthetic-methylation --output - | cmp - calls.tsv
call --motif dam --synthetic-methylation --output - --bedmethyl combined.bed --combine-strands | cmp - calls.tsv
[ "$(awk '{ sum += $10 } END { print sum }' apart.bed)" = "$(awk '{ sum += $10 } END { print sum }' combined.bed)" ] || fail "strands combined are not their sum"

# A model of dam, trained on reads with M, which says so.
run simulate --reference reference.fa --reads 300 --seed 7 --motif dam --synthetic-methylation --modified-bases --output-prefix learned
run train_kmer_model --signal learned.blow5 --reads learned.fastq.gz --rounds 3 --alphabet methylation --motif dam --output dam.model
grep -q '^#alphabet	dam$' dam.model || fail "$(head dam.model)"
run methylation_accuracy --calls calls.tsv --site-truth reads.truth.tsv --read-truth reads.truth_reads.tsv --reference reference.fa --output true.json
call --motif dam --methylation-model dam.model --output calls.tsv
run methylation_accuracy --calls calls.tsv --site-truth reads.truth.tsv --read-truth reads.truth_reads.tsv --reference reference.fa --output trained.json
auc() { sed -n 's/.*"auc": 0\.\([0-9][0-9][0-9]\).*/\1/p' "$1"; }
[ "$(auc trained.json)" -ge $(($(auc true.json) - 15)) ] || fail "AUC 0.$(auc trained.json) with the trained model, 0.$(auc true.json) with the simulator's"
echo "dam: AUC 0.$(auc true.json) with the simulator's model, 0.$(auc trained.json) with the trained one"

# What is refused, with the reason.
refuses() {
  local reason=$1
  shift
  "$@" 2> err.txt && fail "not refused: $*"
  grep -q -- "$reason" err.txt || fail "$* says: $(cat err.txt)"
}
refuses "M in this model is the modified base of cpg, not that of dam" call --motif dam --output none.tsv
refuses "M in this model is the modified base of dam, not that of gpc" call --motif gpc --methylation-model dam.model --output none.tsv
refuses "M in this model is the modified base of cpg, not that of dcm" run simulate --reference reference.fa --motif dcm --output-prefix none
refuses "16 are the most" call --motif ACGTACGTACGTACGTT:0:a --output none.tsv
refuses "lies outside its 4 letters" call --motif GATC:4:a --output none.tsv
refuses "'m' is a modification of C" call --motif GATC:1:m --output none.tsv
refuses "can overlap itself" call --motif CHH:0:m --output none.tsv
refuses "not its own reverse complement" run frequency --calls calls.tsv --motif CAR:1:a --format bedmethyl --combine-strands --output none.bed
refuses "for a model with modified bases" run train_kmer_model --signal learned.blow5 --reads learned.fastq.gz --motif dam --output none.model
