#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run eventalign` on simulated reads: every form is the same bytes for thread counts, batch sizes, budgets and transports; BGZF and BAM hold what
# the text does; forms agree with each other; what does not go together is refused.
#   eventalign.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*"; exit 1; }
"$sluice" run synthetic_reference --length 30000 --seed 2 --output ref.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 30 --seed 2 --mean-length 2500 --output-prefix r --quiet
run() { "$sluice" run eventalign --signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa --quiet "$@"; }

all_forms() { # [options]
  run --output plain.tsv --summary summary.tsv "$@"
  run --output full.tsv --print-read-names --scale-events --samples --signal-index "$@"
  run --output collapsed.tsv --collapse-events "$@"
  run --output m6anet.tsv --format m6anet-f5c "$@"
  run --output all.paf --format paf "$@"
  run --output two.sam --format sam "$@"
  run --output one.sam --format sam --sam-version 1 "$@"
  grep -v '^@PG' two.sam >two.txt
  grep -v '^@PG' one.sam >one.txt
  cat plain.tsv summary.tsv full.tsv collapsed.tsv m6anet.tsv all.paf two.txt one.txt | cksum
}
first=$(all_forms)
for option in "--threads 1" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 64MiB"; do
  # shellcheck disable=SC2086
  [ "$(all_forms $option)" = "$first" ] || fail "$option gives other bytes"
  echo "same bytes: $option"
done

rows=$(($(wc -l <plain.tsv) - 1))
[ "$rows" -gt 50000 ] || fail "only $rows aligned events"
[ "$(cut -f6 summary.tsv | awk 'NR > 1 { sum += $1 } END { print sum }')" = "$rows" ] || fail "the summary counts other events than the table has"
[ "$(wc -l <collapsed.tsv)" = "$(wc -l <m6anet.tsv)" ] || fail "m6anet's table has other positions"
[ "$(cut -f10 all.paf | awk '{ sum += $1 } END { print sum }')" = "$(($(wc -l <collapsed.tsv) - 1))" ] || fail "PAF counts other positions"
cmp <(sed 's/.*\tss:Z://' all.paf) <(grep -v '^@' two.sam | sed 's/.*\tss:Z:\([^\t]*\).*/\1/') || fail "SAM and PAF differ in ss"
[ "$(grep -vc '^@' one.sam)" = "$(wc -l <all.paf)" ] || fail "nanopolish's SAM has other records"
cmp <(cut -f1-3,6 plain.tsv | tail -n +2) <(cut -f1-3,6 full.tsv | tail -n +2) || fail "options change the path"

run --output full.tsv.gz --print-read-names --scale-events --samples --signal-index
gzip -dc full.tsv.gz | cmp - full.tsv || fail "BGZF holds another table"
run --output two.bam --format sam
if command -v samtools >/dev/null; then
  cmp <(samtools view --no-PG two.bam) <(grep -v '^@' two.sam) || fail "BAM holds other records"
else
  echo "SKIPPED: no samtools, so it did not look at the BAM"
fi
run --output region.tsv --region synthetic_1:5001-6000
awk -F'\t' 'NR > 1 && ($2 < 4990 || $2 > 6000) { exit 1 }' region.tsv || fail "events outside of the region"
[ "$(wc -l <region.tsv)" -gt 500 ] || fail "no events in the region"

refused() { # WORDS options
  local words=$1
  shift
  if run "$@" 2>refusal; then fail "not refused: $*"; fi
  grep -q "$words" refusal || { cat refusal; fail "refused with other words: $*"; }
}
refused "exclude each other" --output x --samples --collapse-events
refused "samples is an option of the event table, not of PAF" --output x --format paf --samples
refused "scale_events is an option of the event table, not of SAM" --output x --format sam --scale-events
refused "contradicts --output .x.bam." --output x.bam --format tsv
[ ! -e x ] && [ ! -e x.bam ] || fail "a refused run left a file"
echo "all good"
