#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# event_alignment against the rows that f5c 1.6 eventalign wrote for the same reads: every event, position and bad event is the same, in the same order;
# and the same on any number of threads and in batches of any size.
#   event_alignment.sh SLUICE SHARED_DIR
set -uo pipefail
sluice=$1 shared=$2
if [ ! -d "$shared/data/ecoli_r9_real" ]; then
  echo "SKIPPED: the test data folder '$shared' is not there"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

{
  printf '[pipeline]\nname = "eventalign_rows"\nsummary = "rows of event_alignment"\n'
  for name in signal reads alignments reference output region model; do printf '[parameters.%s]\ntype = "%s"\nhelp = "%s"\n' "$name" "$([ "$name" = region ] && echo string || echo path)" "$name"; done
  cat <<'TOML'
[resources.signal_file]
use = "signal_file"
params = { path = "${signal}" }
[resources.reference]
use = "reference_sequence"
params = { path = "${reference}" }
[resources.model]
use = "kmer_model"
resources = { signal = "signal_file" }
params = { path = "${model}", alphabet = "nucleotide" }
[stages.alignments]
use = "alignment_reader"
resources = { reference = "reference" }
params = { path = "${alignments}", reference = "${reference}", region = "${region}", min_mapq = 20 }
[stages.bases]
use = "read_bases"
params = { path = "${reads}" }
[stages.signal]
use = "signal_lookup"
resources = { signal = "signal_file" }
[stages.decode]
use = "signal_decode"
resources = { signal = "signal_file" }
[stages.events]
use = "event_detection"
[stages.scaling]
use = "event_scaling"
resources = { model = "model" }
[stages.abea]
use = "abea"
resources = { model = "model" }
[stages.recalibration]
use = "event_recalibration"
resources = { model = "model" }
[stages.eventalign]
use = "event_alignment"
resources = { reference = "reference", model = "model" }
params = { region = "${region}", compat = "f5c" }
[stages.table]
use = "table_writer"
params = { output = "${output}", columns = "read_id,contig,path_event,path_position,path_state" }
TOML
} >"$work/rows.toml"

# One line per event: contig, position, event, 1 for a match and 0 for a bad event.
align() { # SET REFERENCE READS OUTPUT [options]
  local data="$shared/data/$1" reference=$2 reads=$3 output=$4
  shift 4
  "$sluice" run "$work/rows.toml" --signal "$data/reads.blow5" --reads "$data/$reads" --alignments "$data/reads.bam" --reference "$reference" \
    --output "$work/table.tsv" --model "$shared/models/r9.4_450bps.nucleotide.6mer.template.model" --quiet "$@" ||
    { echo "FAILED: exit code $? for $data $*"; failures=$((failures + 1)); }
  awk -F'\t' 'NR > 1 && $3 != "" { n = split($3, e, ","); split($4, p, ","); split($5, s, ","); for (i = 1; i <= n; ++i) print $1, $2, p[i], e[i], s[i] }' "$work/table.tsv" >"$output"
}
expect_same() { # NAME A B
  if cmp -s "$2" "$3"; then echo "same rows: $1 ($(wc -l <"$3"))"
  else echo "FAILED: $1 differs"; failures=$((failures + 1)); fi
}

real=$shared/data/ecoli_r9_real
align ecoli_r9_real "$real/draft.fa.gz" reads.fasta "$work/core" --region tig00000001:199960-202040
xz -dc "$real/expected/f5c_eventalign.core.tsv.xz" | awk -F'\t' 'NR > 1 { print $1, $2, $6, ($10 ~ /^N+$/ ? 0 : 1) }' >"$work/expected"
cut -d' ' -f2- "$work/core" >"$work/core.rows"
expect_same "f5c's rows of ecoli_r9_real, core" "$work/expected" "$work/core.rows"
align ecoli_r9_real "$real/draft.fa.gz" reads.fasta "$work/alone" --region tig00000001:199960-202040 --threads 1
expect_same "one thread" "$work/core" "$work/alone"
align ecoli_r9_real "$real/draft.fa.gz" reads.fasta "$work/small" --region tig00000001:199960-202040 --threads 3 --batch-work 20000
expect_same "small batches" "$work/core" "$work/small"

# Both strands, whole reads; f5c's file has 30 of them.
align lambda_r9 "$shared/data/reference/lambda.fa" reads.fastq.gz "$work/lambda"
xz -dc "$shared/data/lambda_r9/expected/f5c_eventalign.30.tsv.xz" | awk -F'\t' 'NR > 1 { print $4, $1, $2, $6, ($10 ~ /^N+$/ ? 0 : 1) }' >"$work/expected"
awk 'NR == FNR { known[$1] = 1; next } $1 in known' "$work/expected" "$work/lambda" | sort -s -k1,1 >"$work/lambda.rows"
sort -s -k1,1 "$work/expected" >"$work/expected.rows"
expect_same "f5c's rows of lambda_r9, 30 reads" "$work/expected.rows" "$work/lambda.rows"

[ "$failures" = 0 ] || exit 1
