#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Inputs that do not belong together, or are of another kind than the run is for: one sentence says what to check.
#   wrong_inputs.sh SLUICE
set -euo pipefail
sluice=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CONFIG_HOME="$work/config" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache"
unset SLUICE_PIPELINE_PATH SLUICE_PLUGIN_PATH
failures=0
expect() { # WHAT SENTENCE COMMAND...: the command says the sentence on standard error, with or without --quiet's summary
  "${@:3}" >out 2>err || true
  grep -qF -- "$2" err && { echo "ok: $1"; return; }
  echo "FAILED: $1: nobody says '$2':"
  cat err
  failures=$((failures + 1))
}
run() { "$sluice" run "$@" --quiet; }

for seed in 1 2; do
  run synthetic_reference --length 30000 --seed $seed --output reference$seed.fa
  run simulate --reference reference$seed.fa --reads 60 --mean-length 3000 --seed $seed --output-prefix reads$seed
done
sed 's/^>.*/>another/' reference1.fa >renamed.fa
run synthetic_reference --contigs 3 --length 2000 --output transcripts.fa
run simulate_rna --reference transcripts.fa --reads 20 --output-prefix rna

ours=(--signal reads1.blow5 --alignments reads1.bam --reference reference1.fa --output calls.tsv)
expect "reads of something else" "do they come from this reference" \
  "$sluice" run map --reference reference2.fa --reads reads1.fastq.gz --output hits.paf
# Names and lengths are right: a warning with figures at once, and a sentence at the end, of each pipeline that has alignments and a reference.
for pipeline in methylation eventalign; do
  expect "another reference of the same name and length: $pipeline" "its bases are others" "$sluice" run $pipeline --signal reads1.blow5 \
    --alignments reads1.bam --reference reference2.fa --output calls.tsv --report wrong.json
  grep -q "^warning: .*only [23][0-9] % of the aligned bases of the first [0-9]* records" err || { echo "FAILED: no warning at once:"; cat err; failures=$((failures + 1)); }
  python3 - <<'PYTHON' || { echo "FAILED: no figures of the reference in the report"; failures=$((failures + 1)); }
import json
report = json.load(open("wrong.json"))
assert any("only 0 of " in hint and "agree with the reference" in hint for hint in report["hints"]), report["hints"]
counters = next(stage["counters"] for stage in report["stages"] if stage["id"] == "alignment_reader")
compared, equal = counters["bases compared with the reference"], counters["bases equal to the reference"]
assert compared > 2000 and 0.2 < equal / compared < 0.4, counters
PYTHON
done
expect "a reference with other names" "give the FASTA file that the reads were aligned to" \
  "$sluice" run methylation --signal reads1.blow5 --alignments reads1.bam --reference renamed.fa --output calls.tsv
expect "signal of other reads" "are the signal files those of these reads?" \
  "$sluice" run methylation --signal reads2.blow5 --alignments reads1.bam --reference reference1.fa --output calls.tsv
expect "bases of other reads" "are --reads those of the alignments?" "$sluice" run methylation "${ours[@]}" --reads reads2.fastq.gz
contig=$(sed -n '1s/^>\([^ ]*\).*/\1/p' reference1.fa)
printf '%s\t0\t9000\nchr7\t0\t500\n%s\t30000\t30100\n' "$contig" "$contig" >some.bed
expect "a BED file with regions of another reference" "2 of 3 regions of 'some.bed' are on contigs that" "$sluice" run methylation "${ours[@]}" --bed some.bed
expect "a region of another reference" "region 'chr7:1-500' is not on a contig of" "$sluice" run methylation "${ours[@]}" --region chr7:1-500
# Trimmed, or base-called again under the same names: no event of them is where CIGAR and reference say.
gzip -dc reads1.fastq.gz | sed '2~4s/^.\{40\}//; 4~4s/^.\{40\}//' >trimmed.fastq
for pipeline in methylation eventalign; do
  expect "reads that are not those that were aligned: $pipeline" "are --reads those that were aligned?" \
    "$sluice" run $pipeline "${ours[@]}" --reads trimmed.fastq
done
expect "another chemistry" "the chemistry is probably wrong" "$sluice" run eventalign "${ours[@]}" --pore r10
expect "direct RNA" "RNA" "$sluice" run methylation --signal rna.blow5 --alignments rna.bam --reference transcripts.fa --output calls.tsv
expect "unmapped reads" "do the reads come from this reference?" bash -c \
  "'$sluice' run map --reference reference2.fa --reads reads1.fastq.gz --output hits.bam --quiet --allow-empty
   '$sluice' run methylation --signal reads1.blow5 --alignments hits.bam --reference reference2.fa --output calls.tsv"
# Three of four inputs that are wrong are no less a mistake than all of them.
expect "most reads without signal" "are the signal files those of these reads?" bash -c \
  "'$sluice' run simulate --reference reference1.fa --reads 12 --mean-length 3000 --seed 1 --output-prefix few --quiet
   '$sluice' run methylation --signal few.blow5 --alignments reads1.bam --reference reference1.fa --output calls.tsv"
# Files that are packed in ways that are not read, whatever their names say.
printf 'BZh91AY&SY\x01\x02\x03' >bzip2.fastq
printf '\xfd7zXZ\x00\x00\x04' >xz.fastq
printf 'PK\x03\x04\x14\x00' >zip.fastq
printf '\xff\xfe@\x00r\x00' >utf16.fastq
for packed in "bzip2 is compressed with bzip2" "xz is compressed with xz" "zip is a ZIP archive" "utf16 is UTF-16"; do
  said="'${packed%% *}.fastq' ${packed#* }, which is not read here"
  for arguments in "map --reference reference1.fa --reads" "map --reads reads1.fastq.gz --reference" "pileup --alignments reads1.bam --reference" \
                   "poly_a --signal rna.blow5 --reads" "overlap --reads"; do
    # shellcheck disable=SC2086
    expect "${packed%% *} for ${arguments##* } of ${arguments%% *}" "$said" "$sluice" run $arguments ${packed%% *}.fastq --output hits.out
  done
done
gzip -c rna.blow5 >packed.blow5
expect "BLOW5 in gzip" "it is compressed with gzip as a whole, and has to be decompressed" "$sluice" run poly_a --signal packed.blow5 --reads rna.fastq.gz --output tails.tsv
# An index that is a pipe would be waited for without end.
for index in reference1.fa.fai reads1.blow5.idx reads1.bam.bai reads1.fastq.gz.fai; do
  mkdir pipes
  cp reference1.fa reads1.blow5 reads1.bam reads1.fastq.gz pipes
  mkfifo pipes/$index
  expect "a pipe as an index: $index" "'pipes/$index' is not a regular file" timeout 60 "$sluice" run methylation --signal pipes/reads1.blow5 \
    --alignments pipes/reads1.bam --reference pipes/reference1.fa --reads pipes/reads1.fastq.gz --region "$contig:1-9000" --output calls.tsv
  rm -r pipes
done
"$sluice" run methylation "${ours[@]}" 2>err
! grep -q "^warning" err || { echo "FAILED: a right input is warned of:"; cat err; failures=$((failures + 1)); }
echo "$failures failures"
[ $failures = 0 ]
