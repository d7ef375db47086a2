#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run methylation` and `sluice run eventalign` against what f5c 1.6 wrote for the same reads: identical bytes with --compat f5c for R9, every row
# within a tolerance for R10.
#   expected_output.sh SLUICE SHARED_DIR
set -uo pipefail
sluice=$1 shared=$2
if [ ! -d "$shared/data/ecoli_r9" ]; then
  echo "SKIPPED: the test data folder '$shared' is not there"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
models=(--model "$shared/models/r9.4_450bps.nucleotide.6mer.template.model" --methylation-model "$shared/models/r9.4_450bps.cpg.6mer.template.model")

unpack() { case $1 in *.xz) xz -dc "$1" ;; *) gzip -dc "$1" ;; esac; }
same() { # EXPECTED GOT
  if unpack "$1" | cmp -s - "$2"; then echo "same bytes: ${1#"$shared"/data/} ($(wc -l <"$2") lines)"
  else echo "FAILED: differs from ${1#"$shared"/data/}"; failures=$((failures + 1)); fi
}
call() { # SET REFERENCE READS [options]
  local data="$shared/data/$1" reference=$2 reads=$3
  shift 3
  "$sluice" run methylation --signal "$data/reads.blow5" --reads "$data/$reads" --alignments "$data/reads.bam" --reference "$reference" --output "$work/calls.tsv" --quiet "$@" ||
    { echo "FAILED: exit code $? for $data $*"; failures=$((failures + 1)); }
}

for entry in lambda_r9:lambda.fa ecoli_r9:ecoli536.fa.gz outliers_r9:ecoli536.fa.gz; do
  set=${entry%%:*} reference=$shared/data/reference/${entry##*:}
  expected=$shared/data/$set/expected
  call "$set" "$reference" reads.fastq.gz "${models[@]}" --compat f5c --frequency "$work/frequency.tsv"
  same "$(ls "$expected"/f5c_meth.tsv.*)" "$work/calls.tsv"
  [ ! -e "$(ls "$expected"/f5c_freq.tsv.* 2>/dev/null)" ] || same "$(ls "$expected"/f5c_freq.tsv.*)" "$work/frequency.tsv"
  if [ -e "$(ls "$expected"/f5c_freq_split.tsv.* 2>/dev/null)" ]; then
    call "$set" "$reference" reads.fastq.gz "${models[@]}" --compat f5c --frequency "$work/frequency.tsv" --split-groups
    same "$(ls "$expected"/f5c_freq_split.tsv.*)" "$work/frequency.tsv"
  fi
done
call outliers_r9 "$shared/data/reference/ecoli536.fa.gz" reads.fastq.gz "${models[@]}" --compat f5c --min-recalib-events 50
same "$shared/data/outliers_r9/expected/f5c_meth.minrecalib50.tsv.xz" "$work/calls.tsv"

real=$shared/data/ecoli_r9_real
call ecoli_r9_real "$real/draft.fa.gz" reads.fasta "${models[@]}" --compat f5c --frequency "$work/frequency.tsv"
same "$real/expected/f5c_meth.tsv.gz" "$work/calls.tsv"
same "$real/expected/f5c_freq.tsv.gz" "$work/frequency.tsv"
call ecoli_r9_real "$real/draft.fa.gz" reads.fasta "${models[@]}" --compat f5c --frequency "$work/frequency.tsv" --split-groups
same "$real/expected/f5c_freq_split.tsv.gz" "$work/frequency.tsv"
call ecoli_r9_real "$real/draft.fa.gz" reads.fasta "${models[@]}" --compat f5c --secondary --min-mapq 0 --meth-out-version 1
same "$real/expected/f5c_meth.v1.secondary.mapq0.tsv.gz" "$work/calls.tsv"

# Frequencies from f5c's own tables of calls.
for set in lambda_r9 ecoli_r9 ecoli_r9_real ecoli_r10; do
  expected=$shared/data/$set/expected
  unpack "$(ls "$expected"/f5c_meth.tsv.*)" >"$work/calls.tsv"
  "$sluice" run frequency --calls "$work/calls.tsv" --output "$work/frequency.tsv" --quiet && same "$(ls "$expected"/f5c_freq.tsv.*)" "$work/frequency.tsv"
  # Two tables are counted as one, and merged as tables of frequencies.
  half=$(($(wc -l <"$work/calls.tsv") / 2))
  head -n $half "$work/calls.tsv" >"$work/first.tsv"
  { head -n 1 "$work/calls.tsv"; tail -n +$((half + 1)) "$work/calls.tsv"; } >"$work/second.tsv"
  for part in first second; do "$sluice" run frequency --calls "$work/$part.tsv" --output "$work/$part.frequency.tsv" --quiet; done
  cat "$work"/{first,second}.frequency.tsv | "$sluice" run frequency --frequencies - --output "$work/frequency.tsv" --quiet &&
    same "$(ls "$expected"/f5c_freq.tsv.*)" "$work/frequency.tsv"
  { gzip -c "$work/first.tsv"; gzip -c "$work/second.tsv"; } |
    "$sluice" run frequency --calls - --output "$work/frequency.tsv" --split-groups --quiet && same "$(ls "$expected"/f5c_freq_split.tsv.*)" "$work/frequency.tsv"
done

xz -dc "$shared/models/r10_standin.nucleotide.9mer.model.xz" >"$work/r10.model"
xz -dc "$shared/models/r10_standin.cpg.9mer.model.xz" >"$work/r10.cpg.model"
call ecoli_r10 "$shared/data/reference/ecoli536.fa.gz" reads.fastq.gz --model "$work/r10.model" --methylation-model "$work/r10.cpg.model"
unpack "$shared/data/ecoli_r10/expected/f5c_meth.tsv.gz" >"$work/expected.tsv"
# Columns 6 to 8 are log-likelihoods: |difference| <= 0.1 * |expected| + 0.02; every other column is equal.
paste "$work/expected.tsv" "$work/calls.tsv" | awk -F'\t' '
  function far(a, b) { d = a - b; if (d < 0) d = -d; e = a < 0 ? -a : a; return d > 0.1 * e + 0.02 }
  NR == 1 { next }
  { for (i = 1; i <= 11; ++i) if (i < 6 || i > 8 ? $i != $(i + 11) : far($i, $(i + 11))) { ++bad; break }
    if ($6 == $17 && $7 == $18 && $8 == $19) ++equal }
  END { printf "R10: %d rows, %d with equal text, %d outside the tolerance\n", NR - 1, equal, bad; exit bad > 0 || NR < 2 }' || { echo "FAILED: ecoli_r10"; failures=$((failures + 1)); }
[ "$(wc -l <"$work/expected.tsv")" = "$(wc -l <"$work/calls.tsv")" ] || { echo "FAILED: ecoli_r10 has another number of rows"; failures=$((failures + 1)); }

nucleotide=("${models[@]:0:2}")
align_events() { # SET REFERENCE READS OUTPUT [options]
  local data="$shared/data/$1" reference=$2 reads=$3 output=$4
  shift 4
  "$sluice" run eventalign --signal "$data/reads.blow5" --reads "$data/$reads" --alignments "$data/reads.bam" --reference "$reference" --output "$work/$output" \
    --compat f5c --quiet "$@" || { echo "FAILED: exit code $? for eventalign of $data $*"; failures=$((failures + 1)); }
}
same_records() { # EXPECTED GOT; the headers of SAM name the programs
  if cmp -s <(unpack "$1" | grep -v '^@') <(grep -v '^@' "$2"); then echo "same records: ${1#"$shared"/data/}"
  else echo "FAILED: differs from ${1#"$shared"/data/}"; failures=$((failures + 1)); fi
}
# 99.9 % of the rows are within 0.01 in every number: the 9-mer models that f5c used have more digits than their text.
within_a_hundredth() { # SET EXPECTED
  unpack "$shared/data/$1/expected/$2" | paste - "$work/events.tsv" | awk -F'\t' -v name="$1" '
    function far(a, b) { d = a - b; return d > 0.0101 || d < -0.0101 }
    { rows++; for (i = 1; i <= 15; ++i) if ($i != $(i + 15) && (i < 7 || i > 13 || i == 10 || far($i, $(i + 15)))) { ++bad; break } }
    END { printf "%s: %d aligned events, %d beyond 0.01\n", name, rows - 1, bad; exit bad > rows / 1000 || rows < 1000 }' ||
    { echo "FAILED: aligned events of $1"; failures=$((failures + 1)); }
}
real_events() { align_events ecoli_r9_real "$real/draft.fa.gz" reads.fasta "$@" "${nucleotide[@]}"; }
core=(--region tig00000001:199960-202040)

real_events events.tsv "${core[@]}" --summary "$work/summary.tsv"
same "$real/expected/f5c_eventalign.core.tsv.xz" "$work/events.tsv"
same "$real/expected/f5c_eventalign.core.summary.tsv.gz" "$work/summary.tsv"
real_events events.tsv "${core[@]}" --print-read-names --scale-events --samples --signal-index
same "$real/expected/f5c_eventalign.core.names_scaled_samples_index.tsv.xz" "$work/events.tsv"
real_events events.tsv.gz "${core[@]}" --print-read-names --collapse-events --signal-index
gzip -dc "$work/events.tsv.gz" >"$work/events.tsv"
same "$real/expected/f5c_eventalign.core.collapse.tsv.xz" "$work/events.tsv"
real_events events.tsv "${core[@]}" --format m6anet-f5c --print-read-names
same "$real/expected/f5c_eventalign.core.m6anet.tsv.xz" "$work/events.tsv"
real_events events.sam --format sam
same_records "$real/expected/f5c_eventalign.sam.gz" "$work/events.sam"
real_events events.sam --format sam --sam-version 1
same_records "$real/expected/f5c_eventalign.v1.sam.gz" "$work/events.sam"
real_events events.paf --format paf
same "$real/expected/f5c_eventalign.paf.gz" "$work/events.paf"
for entry in lambda_r9:lambda.fa outliers_r9:ecoli536.fa.gz; do
  set=${entry%%:*}
  align_events "$set" "$shared/data/reference/${entry##*:}" reads.fastq.gz events.paf --format paf "${nucleotide[@]}"
  same "$shared/data/$set/expected/f5c_eventalign.paf.xz" "$work/events.paf"
done

# Direct RNA.
sequins="$shared/data/reference/rna_sequins.fa"
rna_events() { align_events rna_r9 "$sequins" reads.fastq.gz "$@" --model "$shared/models/r9.4_70bps.u_to_t_rna.5mer.template.model"; }
rna_events events.tsv --print-read-names --signal-index
same "$shared/data/rna_r9/expected/f5c_eventalign.tsv.xz" "$work/events.tsv"
rna_events events.paf --format paf
same "$shared/data/rna_r9/expected/f5c_eventalign.paf.gz" "$work/events.paf"
xz -dc "$shared/models/rna004.nucleotide.9mer.model.xz" >"$work/rna004.model"
rna004_events() { align_events rna004 "$sequins" reads.fastq.gz "$@" --model "$work/rna004.model"; }
rna004_events events.tsv --print-read-names --signal-index
within_a_hundredth rna004 f5c_eventalign.tsv.xz
rna004_events events.paf --format paf
same "$shared/data/rna004/expected/f5c_eventalign.paf.gz" "$work/events.paf"

if command -v samtools >/dev/null; then
  # The 30 records that the summary names.
  unpack "$shared/data/lambda_r9/expected/f5c_eventalign.30.summary.tsv.gz" | cut -f2 >"$work/names"
  samtools view -b -N "$work/names" -o "$work/some.bam" "$shared/data/lambda_r9/reads.bam"
  align_events lambda_r9 "$shared/data/reference/lambda.fa" reads.fastq.gz events.tsv --print-read-names --signal-index --summary "$work/summary.tsv" "${nucleotide[@]}" \
    --set stages.alignments.params.path="$work/some.bam"
  same "$shared/data/lambda_r9/expected/f5c_eventalign.30.tsv.xz" "$work/events.tsv"
  same "$shared/data/lambda_r9/expected/f5c_eventalign.30.summary.tsv.gz" "$work/summary.tsv"
  # The first 8 records.
  samtools view -h "$shared/data/ecoli_r10/reads.bam" | awk '/^@/ || i++ < 8' >"$work/some.sam"
  align_events ecoli_r10 "$shared/data/reference/ecoli536.fa.gz" reads.fastq.gz events.tsv --print-read-names --signal-index --model "$work/r10.model" \
    --set stages.alignments.params.path="$work/some.sam"
  within_a_hundredth ecoli_r10 f5c_eventalign.8.tsv.xz
else
  echo "SKIPPED: lambda_r9 (30 records) and ecoli_r10 (8 records), as samtools is not there"
fi
echo "$failures failures"
[ "$failures" = 0 ]
