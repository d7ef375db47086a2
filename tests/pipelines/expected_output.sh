#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run methylation` against what f5c 1.6 wrote for the same reads: identical bytes with --compat f5c for R9, every row within
# upstream's tolerance for R10.
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
echo "$failures failures"
[ "$failures" = 0 ]
