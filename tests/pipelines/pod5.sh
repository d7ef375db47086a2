#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# POD5 in place of BLOW5: the same bytes from the same reads, from one file and from a folder of several; what can't be read is refused.
#   pod5.sh SLUICE SHARED_DIR
set -uo pipefail
sluice=$1 data=$2/data
[ -e "$data/ecoli_r9_real/reads.pod5" ] || { echo "SKIPPED: $data/ecoli_r9_real/reads.pod5 is not there"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }

real=$data/ecoli_r9_real
gzip -dc "$real/draft.fa.gz" >draft.fa
cp "$real/reads.fasta" . && cp "$real/reads.bam" "$real/reads.bam.bai" .
cp "$real/reads.blow5" real.blow5
aligned=(--reads reads.fasta --alignments reads.bam --reference draft.fa)
core=(--region tig00000001:199960-202040)

# NAME PIPELINE [options with {signal}] -- SIGNAL...: each of the signals gives what the first one does, on any number of threads.
same() {
  local name=$1 pipeline=$2 first= signal threads
  shift 2
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  for signal in "$@"; do
    for threads in 2 5; do
      run "$pipeline" --signal "$signal" "${options[@]}" --threads $threads --output "$name.out" 2>messages || { fail "$name from $signal: $(cat messages)"; return; }
      [ -n "$first" ] || { cp "$name.out" "$name.first"; first=$signal; }
      cmp "$name.first" "$name.out" || { fail "$name: $signal gives other bytes than $first"; return; }
    done
  done
  echo "same bytes: $name, $(wc -l <"$name.first") lines"
}
same methylation methylation "${aligned[@]}" -- real.blow5 "$real/reads.pod5" "$real/pod5_folder"
same eventalign eventalign "${aligned[@]}" "${core[@]}" --samples --signal-index -- real.blow5 "$real/reads.pod5" "$real/pod5_folder"
same resquiggle resquiggle --reads reads.fasta --max-bad-reads 1 -- real.blow5 "$real/reads.pod5"
cp "$data/lambda_r9_real/reads.blow5" lambda.blow5
same classify_signal classify_signal --target "$data/reference/lambda.fa" -- lambda.blow5 "$data/lambda_r9_real/reads.pod5"
same classify_ecoli classify_signal --target "$data/reference/lambda.fa" -- real.blow5 "$real/reads.pod5"
# The folder has the reads in an order of its own.
in_any_order() { run classify_signal --target "$data/reference/lambda.fa" --signal "$1" --output - | sort; }
cmp <(in_any_order real.blow5) <(in_any_order "$real/pod5_folder") || fail "classify_signal: the folder gives other rows"
cp "$data/rna004/reads.blow5" rna.blow5
same rna004 eventalign --reads "$data/rna004/reads.fastq.gz" --alignments "$data/rna004/reads.bam" --reference "$data/reference/rna_sequins.fa" -- \
  rna.blow5 "$data/rna004/reads.pod5"
same classify_rna004 classify_signal --preset rna004 --target "$data/reference/rna_sequins.fa" -- rna.blow5 "$data/rna004/reads.pod5"

# Ten files of bases, and the folder of signal.
mkdir ten && awk '/^>/ { n++ } { print > ("ten/" n % 10 ".fasta") }' reads.fasta
ten=(--reads ten --alignments reads.bam --reference draft.fa)
same ten_files methylation "${ten[@]}" -- real.blow5 "$real/reads.pod5" "$real/pod5_folder"
same ten_files_eventalign eventalign "${ten[@]}" "${core[@]}" -- real.blow5 "$real/reads.pod5" "$real/pod5_folder"

# No index beside it; a cut file; BLOW5 and POD5 together.
cp "$real/reads.pod5" here.pod5 && chmod u+w here.pod5
run methylation --signal here.pod5 "${aligned[@]}" "${core[@]}" --output calls.tsv || fail "a copy"
[ ! -e here.pod5.idx ] || fail "an index beside the POD5 file"
head -c 3000000 here.pod5 >cut.pod5
run methylation --signal cut.pod5 "${aligned[@]}" --output cut.tsv 2>message && fail "a cut file was read"
grep -q "truncated" message && grep -q "pod5 recover" message || fail "a cut file: $(cat message)"
[ ! -e cut.tsv ] || fail "a cut file has an output"
run methylation --signal real.blow5 --signal here.pod5 "${aligned[@]}" --output both.tsv 2>message && fail "BLOW5 and POD5 together"
grep -q "differ: format" message || fail "BLOW5 and POD5 together: $(cat message)"
exit $((failures > 0))
