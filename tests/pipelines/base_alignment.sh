#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Base-level alignments of mapped reads, against where the simulator says that the reads come from; methylation from FASTQ beside methylation from the
# simulator's alignments; the same bytes however it ran.
#   base_alignment.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
run() { "$sluice" run "$@" --quiet; }

run synthetic_reference --length 60000 --seed 5 --output ref.fa
run simulate --reference ref.fa --reads 150 --seed 5 --mean-length 4000 --output-prefix sim
run map --reference ref.fa --reads sim.fastq.gz --format sam --output aligned.sam --cs --md
run map --reference ref.fa --reads sim.fastq.gz --output hits.paf --cigar --cs
gzip -dc sim.fastq.gz >reads.fq

# ---- every record of the SAM spells its read and its reference as its CIGAR, NM, MD and place say
awk '
  FILENAME == "ref.fa" { if (/^>/) name = substr($1, 2); else sequence[name] = sequence[name] toupper($0); next }
  FILENAME == "reads.fq" { if (FNR % 4 == 1) read = substr($1, 2); if (FNR % 4 == 2) bases[read] = $1; next }
  /^@/ || $3 == "*" { next }
  {
    ++records
    whole = 0; query = 1; target = $4; edits = 0; rest = $6
    while (match(rest, /^[0-9]+[MIDSH]/)) {
      operation = substr(rest, RLENGTH, 1); length_ = substr(rest, 1, RLENGTH - 1) + 0; rest = substr(rest, RLENGTH + 1)
      if (operation != "D") whole += length_
      if (operation == "M") for (i = 0; i < length_; ++i) if (substr($10, query + i, 1) != substr(sequence[$3], target + i, 1)) ++edits
      if (operation == "I" || operation == "D") edits += length_
      if (operation ~ /[MIS]/) query += length_
      if (operation ~ /[MD]/) target += length_
    }
    if (rest != "" || whole != length(bases[$1])) { print "FAILED: the CIGAR of " $1 " does not span the read"; exit 1 }
    if (int($2 / 256) % 2 == 0 && !match($0, "NM:i:" edits "\t")) { print "FAILED: NM of " $1 " is not " edits; exit 1 }
  }
  END { if (records < 140) { print "FAILED: only " records + 0 " records"; exit 1 } print records " records agree with their reads and the reference" }' ref.fa reads.fq aligned.sam

# ---- they lie where the reads come from: the simulator wrote its own alignments
cat >truth.toml <<'END'
[pipeline]
name = "truth"
[parameters.alignments]
type = "path"
[parameters.output]
type = "path"
[stages.alignments]
use = "alignment_reader"
params = { path = "${alignments}", min_mapq = 0 }
[stages.table]
use = "table_writer"
params = { output = "${output}", columns = "read_id,contig,ref_start,ref_end,is_reverse" }
END
run truth.toml --alignments sim.bam --output truth.tsv
run truth.toml --alignments aligned.sam --output found.tsv
awk '
  FNR == 1 { next }
  FILENAME == "truth.tsv" { start[$1] = $3; end[$1] = $4; strand[$1] = $5; ++reads; next }
  $5 == strand[$1] && ($3 - start[$1]) ^ 2 < 900 && ($4 - end[$1]) ^ 2 < 900 { ++right }
  END { if (right < 0.97 * reads) { print "FAILED: " right + 0 " of " reads " reads are aligned over the bases that they come from"; exit 1 }
        print right " of " reads " reads are aligned over the bases that they come from" }' truth.tsv found.tsv

# ---- the same bytes
for option in "--threads 1" "--threads 7" "--batch-work 1" "--executor serial"; do
  # shellcheck disable=SC2086
  run map --reference ref.fa --reads sim.fastq.gz --format sam --output now.sam --cs --md $option
  # shellcheck disable=SC2086
  run map --reference ref.fa --reads sim.fastq.gz --output now.paf --cigar --cs $option
  cmp now.sam aligned.sam && cmp now.paf hits.paf || fail "$option gives other bytes"
done
run map --reference ref.fa --reads sim.fastq.gz --format bam --output now.bam
run truth.toml --alignments now.bam --output now.tsv
cmp now.tsv found.tsv || fail "BAM and SAM hold other alignments"
run index --reference ref.fa --output ref.index --contigs contigs.tsv
[ "$(cut -f 2 contigs.tsv | tail -1)" = 60000 ] || fail "the index has another contig"
run map --reference ref.index --reads sim.fastq.gz --output now.paf --cigar --cs
cmp now.paf hits.paf || fail "a saved index gives other bytes"
echo "same bytes: threads, batches, executor; BAM as SAM"

# ---- anchors from exact matches put the reads at the same places
run map --reference ref.fa --reads sim.fastq.gz --seeds mem --output mem.paf
[ "$(cut -f 1,5 hits.paf | sort -u | wc -l)" = "$(cut -f 1,5 mem.paf | sort -u | wc -l)" ] || fail "exact matches map other reads than minimizers do"

# ---- methylation
in=(--signal sim.blow5 --reads sim.fastq.gz --reference ref.fa)
run methylation "${in[@]}" --alignments sim.bam --output calls.tsv
run methylation_from_reads "${in[@]}" --output mapped_calls.tsv --frequency frequency.tsv
for calls in calls mapped_calls; do
  run methylation_accuracy --calls $calls.tsv --site-truth sim.truth.tsv --read-truth sim.truth_reads.tsv --reference ref.fa --output $calls.json
  sed -n 's/^ *"\(auc\|single_site_calls\)": \([0-9.]*\).*/\2/p' $calls.json | tr '\n' ' ' >$calls.figures
done
paste -d ' ' calls.figures mapped_calls.figures
awk '{ print; low = 0; for (i = 1; i <= 2; ++i) if ($(i + 2) < 0.99 * $i) low = 1; exit low || NF != 4 }' <(paste -d ' ' calls.figures mapped_calls.figures) ||
  fail "methylation from reads is less accurate, or calls less, than with the true alignments"
run methylation_from_reads "${in[@]}" --output now.tsv --threads 1 --batch-work 1
cmp now.tsv mapped_calls.tsv || fail "methylation from reads: other bytes with other batches"
echo "methylation from reads is as accurate as with the true alignments"
