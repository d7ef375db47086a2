#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every table as an Arrow and as a Parquet file: the cells of the text, from every pipeline that writes one; the same bytes for threads and batches; and read back by
# pyarrow, polars and duckdb where PyPI can be reached.
#   arrow.sh SLUICE ARROW_MATCHES PYTHON_ENVIRONMENT
set -euo pipefail
sluice=$1 matches=$2 environment=$3 readers=$(dirname "$(realpath "$0")")/arrow_readers.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*"; exit 1; }
run() { "$sluice" run "$@" --quiet; }
pairs=()
# NAME OPTION PIPELINE [options]: the table that --OPTION names, as text, Arrow and Parquet.
both() {
  local name=$1 option=$2
  shift 2
  run "$@" "--$option" "$name.txt" || fail "$name as text"
  for ending in arrow parquet; do
    run "$@" "--$option" "$name.$ending" || fail "$name as $ending"
    # shellcheck disable=SC2086
    "$matches" "$name.$ending" "$name.txt" ${no_names:-} || fail "$name.$ending"
    pairs+=("$name.$ending" "$name.txt")
  done
}

run synthetic_reference --length 30000 --seed 2 --output ref.fa
run simulate --reference ref.fa --reads 30 --seed 2 --mean-length 2500 --output-prefix r
signal=(--signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa)

both plain output eventalign "${signal[@]}"
both full output eventalign "${signal[@]}" --print-read-names --scale-events --samples --signal-index
both collapsed output eventalign "${signal[@]}" --collapse-events --summary /dev/null
both m6anet output eventalign "${signal[@]}" --format m6anet-f5c
both m6anet_names output eventalign "${signal[@]}" --format m6anet-f5c --print-read-names
both summary summary eventalign "${signal[@]}" --output /dev/null
both kmers output resquiggle --signal r.blow5 --reads r.fastq.gz --max-bad-reads 0.5
both calls output methylation "${signal[@]}"
both calls_v1 output methylation "${signal[@]}" --meth-out-version 1
both frequency frequency methylation "${signal[@]}" --output /dev/null
both decisions output classify_signal --signal r.blow5 --target ref.fa
no_names=-
both event_paf output eventalign "${signal[@]}" --format paf
both kmer_paf output resquiggle --signal r.blow5 --reads r.fastq.gz --format paf --max-bad-reads 0.5
both bedmethyl frequency methylation "${signal[@]}" --output /dev/null --frequency-format bedmethyl
both hits output map --reference ref.fa --reads r.fastq.gz
both aligned output map --reference ref.fa --reads r.fastq.gz --cigar --cs
both aligned_md output map --reference ref.fa --reads r.fastq.gz --cigar --md --paf-no-hit
both overlaps output overlap --reads r.fastq.gz
both seeds output seed --reference ref.fa --reads r.fastq.gz
both seed_places output seed --reference ref.fa --reads r.fastq.gz --places contig
run methylation "${signal[@]}" --output /dev/null --modbam mod.bam
both pileup output pileup --alignments mod.bam --reference ref.fa
no_names=

# The tables of the simulator's truth, which have their names from a prefix.
cat >truth.toml <<'TOML'
[pipeline]
name = "truth"
extends = "simulate"
[parameters.table]
type = "path"
required = true
[parameters.reads_table]
type = "path"
required = true
[stages.truth_files]
params = { output = "${table}", reads_output = "${reads_table}" }
TOML
if run truth.toml --reference ref.fa --reads 30 --seed 2 --mean-length 2500 --output-prefix s --table truth.txt --reads-table truth_reads.txt; then
  run truth.toml --reference ref.fa --reads 30 --seed 2 --mean-length 2500 --output-prefix s --table truth.arrow --reads-table truth_reads.parquet
  for file in truth.arrow truth_reads.parquet; do
    "$matches" $file "${file%.*}.txt" || fail $file
    pairs+=("$file" "${file%.*}.txt")
  done
else
  fail "truth tables"
fi
cat >columns.toml <<'TOML'
[pipeline]
name = "columns"
[parameters.reads]
type = "path"
required = true
[parameters.output]
type = "path"
required = true
[stages.reads]
use = "read_reader"
params = { path = "${reads}" }
[stages.table]
use = "table_writer"
params = { output = "${output}", columns = "read_id,bases" }
TOML
both columns output columns.toml --reads r.fastq.gz

# Tables of calibration, which are made in the end; `scores` takes the lines of an earlier run over, whatever stands between them.
gzip -dc r.fastq.gz | awk 'NR % 4 == 1 { print substr($1, 2) "\t" (n++ % 2 ? "target" : "other") }' >labels.tsv
calibrate=(calibrate_read_until --signal r.blow5 --target ref.fa)
run "${calibrate[@]}" --label other --scores earlier.txt
{ echo "# of another run"; cat earlier.txt; echo; } >others.txt
for ending in txt arrow parquet; do
  run "${calibrate[@]}" --labels labels.tsv --other-scores others.txt --scores scores.$ending --thresholds thresholds.$ending --roc roc.$ending
done
grep -v '^#\|^$' scores.txt | sed '1i read_id\tlabel\tprefix_bases\tlevels\tscore' >plain_scores.txt
for ending in arrow parquet; do
  "$matches" scores.$ending plain_scores.txt || fail "scores of calibration"
  for name in thresholds roc; do
    [ "$(wc -l <$name.txt)" -gt 1 ] || fail "no $name"
    "$matches" $name.$ending $name.txt || fail "$name of calibration"
  done
  pairs+=("scores.$ending" plain_scores.txt "thresholds.$ending" thresholds.txt "roc.$ending" roc.txt)
done

# The same file from every run.
for option in "--threads 1" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial"; do
  # shellcheck disable=SC2086
  for ending in arrow parquet; do
    run eventalign "${signal[@]}" --print-read-names --scale-events --samples --signal-index --output again.$ending $option
    cmp full.$ending again.$ending || fail "$option gives another $ending file"
  done
done
for ending in arrow parquet; do
  [ "$(stat -c %s full.$ending)" -lt "$(($(stat -c %s full.txt) / 2))" ] || fail "the $ending file is not smaller than half of the text"
done

# A table of nothing; what is no table.
: | gzip >none.fastq.gz
run map --reference ref.fa --reads none.fastq.gz --output none.arrow 2>/dev/null || true
[ ! -e none.arrow ] || "$matches" none.arrow /dev/null - || fail "no hits"
run seed --reference ref.fa --reads r.fastq.gz --format fastmap --output bad.parquet 2>refusal && fail "fastmap as Parquet"
grep -q "no table" refusal || fail "refused with other words: $(cat refusal)"

python=$environment/bin/python3
if ! "$python" -c 'import pyarrow, polars, duckdb' 2>/dev/null; then
  { python3 -m venv "$environment" && timeout 300 "$environment/bin/pip" install --quiet pyarrow polars duckdb; } >venv.log 2>&1 || true
fi
if "$python" -c 'import pyarrow, polars, duckdb' 2>/dev/null; then
  "$python" "$readers" "${pairs[@]}" || fail "other readers"
else
  echo "SKIPPED: pyarrow, polars and duckdb, which can't be installed here: $(tail -n 1 venv.log)"
fi
