#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# POD5 that sluice writes: the same results as from BLOW5 of the same reads, the same bytes from any number of threads, and read by the pod5 package
# where PyPI can be reached.
#   pod5_output.sh SLUICE PYTHON_ENVIRONMENT
set -euo pipefail
sluice=$1 environment=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --length 30000 --seed 1 --output reference.fa
simulate() { run simulate --reference reference.fa --mean-length 1500 --seed 5 --reads "$@"; }
simulate 40 --output-prefix b
simulate 40 --output-prefix p --signal-format pod5
[ ! -e p.blow5 ] || fail "BLOW5 beside POD5"
for threads in 1 3; do
  simulate 40 --output-prefix q --signal-format pod5 --threads $threads
  cmp q.pod5 p.pod5 || fail "$threads threads give other bytes"
done
cmp b.bam p.bam || fail "other alignments beside POD5"
for signal in b.blow5 p.pod5; do
  run eventalign --alignments b.bam --reference reference.fa --reads b.fastq.gz --signal $signal --samples --signal-index --output $signal.tsv
  run summary --signal $signal --reads b.fastq.gz --output $signal.summary
done
[ "$(wc -l <b.blow5.tsv)" -gt 1000 ] || fail "$(wc -l <b.blow5.tsv) lines"
cmp b.blow5.tsv p.pod5.tsv || fail "other events from POD5"
cmp <(cut -f 2- b.blow5.summary) <(cut -f 2- p.pod5.summary) || fail "another summary from POD5"
# Its tables are written last: it can't be resumed, and says so before the run.
code=0
simulate 40 --output-prefix resumed --signal-format pod5 --resume 2>said || code=$?
[ $code = 2 ] && grep -q "can't be resumed: stage 'pod5_file' (pod5_writer) can't save what it has" said && [ ! -e resumed.pod5 ] || fail "--resume of POD5: exit code $code, $(cat said)"
simulate 0 --output-prefix none --signal-format pod5 --allow-empty
run summary --signal none.pod5 --output none.txt --allow-empty 2>/dev/null
[ "$(wc -l <none.txt)" = 1 ] || fail "reads of an empty POD5"

python=$environment/bin/python3
if ! "$python" -c 'import pod5' 2>/dev/null; then
  { python3 -m venv "$environment" && timeout 300 "$environment/bin/pip" install --quiet pod5; } >venv.log 2>&1 || true
fi
if "$python" -c 'import pod5' 2>>venv.log; then
  "$python" - p.pod5 none.pod5 b.blow5.summary <<'PYTHON' || fail "the pod5 package reads something else"
import csv, sys
import pod5
rows = {row["read_id"]: row for row in csv.DictReader(open(sys.argv[3]), delimiter="\t")}
with pod5.Reader(sys.argv[1]) as reader:
    reads = list(reader.reads())
    assert len(reads) == len(rows) == 40, len(reads)
    for read in reads:
        row = rows[str(read.read_id)]
        assert len(read.signal) == read.num_samples
        assert abs(read.num_samples / 4000 - float(row["duration"])) < 1e-5
        assert read.pore.channel == int(row["channel"]) and read.pore.well == int(row["mux"])
        assert read.end_reason.name == row["end_reason"], read.end_reason.name
        assert abs(read.start_sample / 4000 - float(row["start_time"])) < 1e-5
        assert 20 < read.signal_pa.mean() < 200
        info = read.run_info
        assert info.acquisition_id == row["run_id"] and info.sample_rate == 4000 and info.sequencing_kit == "sqk-lsk109"
        assert info.flow_cell_product_code == "FLO-MIN106" and info.context_tags["experiment_type"] == "genomic_dna"
        assert info.acquisition_start_time.year == 2026 and (info.adc_min, info.adc_max) == (-4096, 4095)
with pod5.Reader(sys.argv[2]) as reader:
    assert len(list(reader.reads())) == 0
PYTHON
else
  echo "SKIPPED: the pod5 package, which cannot be installed here: $(tail -n 1 venv.log)"
fi
