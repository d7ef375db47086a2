#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Read Until for direct RNA, on simulated reads behind adapters and poly(A) tails: right decisions and places with the built-in thresholds of RNA004,
# the same in chunks, by seeds and for any number of threads; only the sense strand counts; and what does not fit together is said.
#   read_until_rna.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }
accepted() { awk -F'\t' '$2 == "accept" { n++ } END { print n + 0 }' "$1"; }
simulate() { # PREFIX REFERENCE SEED [options]
  run simulate_rna --reference "$2" --reads 60 --mean-length 1000 --minimum-length 500 --seed "$3" --output-prefix "$1" \
    --adapter GGCTTCTTCTTGCTCTTAGGTAGTAGGTTCACGATCGTAGCCTTGAGTCGATTCCAGTACCA --missing-adapters 0.05 --tail-length 80 "${@:4}"
}

run synthetic_reference --length 2000 --contigs 15 --seed 21 --output transcripts.fa
run synthetic_reference --length 2000 --contigs 15 --seed 22 --output others.fa
simulate targets transcripts.fa 23
simulate others others.fa 24
simulate antisense transcripts.fa 25 --set stages.reads.params.strands=reverse
classify=(classify_signal --preset rna004 --target transcripts.fa)

# ---- whole prefixes
for set in targets others antisense; do
  run "${classify[@]}" --signal $set.blow5 --output $set.tsv
  run "${classify[@]}" --signal $set.blow5 --output - --threads 1 --batch-work 200000 | cmp - $set.tsv || fail "$set: other bytes with one thread and small batches"
done
[ "$(accepted targets.tsv)" -ge 57 ] || fail "$(accepted targets.tsv) of 60 targets are accepted"
[ "$(accepted others.tsv)" -le 3 ] || fail "$(accepted others.tsv) of 60 others are accepted"
[ "$(accepted antisense.tsv)" -le 3 ] || fail "$(accepted antisense.tsv) of 60 reads of the antisense strand are accepted"
[ "$(cut -f6 targets.tsv | sort -u | tr '\n' ' ')" = "+ strand " ] || fail "strands: $(cut -f6 targets.tsv | sort | uniq -c)"

truth() { # PREFIX: read_id, contig, start, end
  cat >truth.toml <<END
[pipeline]
name = "truth"
[stages.alignments]
use = "alignment_reader"
params = { path = "$1.bam", min_mapq = 0 }
[stages.table]
use = "table_writer"
params = { output = "truth.table", columns = "read_id,contig,ref_start,ref_end" }
END
  run truth.toml
  tail -n +2 truth.table
}
# right PREFIX DECISIONS END: reads whose place is right, and lies within 150 bases of this end (3: start, 4: end) of the molecule, which passes first
right() {
  truth "$1" >truth.tsv
  awk -F'\t' -v first="$3" 'NR == FNR { contig[$1] = $2; from[$1] = $3; to[$1] = $4; next }
    $2 == "accept" && contig[$1] == $5 && $7 >= from[$1] - 20 && $8 <= to[$1] + 20 && (first == 4 ? to[$1] - $8 : $7 - from[$1]) < 150 { n++ } END { print n + 0 }' truth.tsv "$2"
}
[ "$(right targets targets.tsv 4)" -ge 52 ] || fail "places: $(right targets targets.tsv 4) of 60 are right"

# ---- the other strand, where it is asked for: a gene on the reverse strand of a genome
run "${classify[@]}" --signal antisense.blow5 --strands both --output both.tsv
[ "$(accepted both.tsv)" -ge 55 ] || fail "--strands both: $(accepted both.tsv) of 60"
awk -v OFS='\t' '/^>/ { print substr($1, 2), 0, 2000, "gene" NR, 0, "-" }' transcripts.fa >genes.bed
run "${classify[@]}" --signal antisense.blow5 --regions genes.bed --output genes.tsv
[ "$(accepted genes.tsv)" -ge 55 ] || fail "regions on the reverse strand: $(accepted genes.tsv) of 60"
[ "$(right antisense genes.tsv 3)" -ge 50 ] || fail "places on the reverse strand: $(right antisense genes.tsv 3)"
run "${classify[@]}" --signal targets.blow5 --regions genes.bed --output sense.tsv
[ "$(accepted sense.tsv)" -le 3 ] || fail "reads of the strand that the regions do not name: $(accepted sense.tsv)"

# ---- in chunks
live() { run read_until --preset rna004 --target transcripts.fa --signal targets.blow5 --speed 0 --channels 8 "$@"; }
for options in "--threads 1" "--threads 3 --chunk-samples 1733"; do
  live $options --output live.tsv
  cmp <(cut -f 1-9 targets.tsv | sort) <(cut -f 1-9 live.tsv | sort) || fail "in chunks decisions differ from classify_signal's ($options)"
done

# ---- by seeds
run "${classify[@]}" --signal targets.blow5 --search seeds --output seeds.tsv
[ "$(accepted seeds.tsv)" -ge 52 ] || fail "by seeds $(accepted seeds.tsv) of 60 targets are accepted"
live --search seeds --output live_seeds.tsv
cmp <(cut -f 1-9 seeds.tsv | sort) <(cut -f 1-9 live_seeds.tsv | sort) || fail "by seeds decisions in chunks differ"

# ---- thresholds of one's own
calibrate=(calibrate_read_until --preset rna004 --target transcripts.fa)
run "${calibrate[@]}" --signal others.blow5 --label other --scores other.scores
run "${calibrate[@]}" --signal targets.blow5 --other-scores other.scores --thresholds thresholds.tsv
run "${classify[@]}" --signal targets.blow5 --thresholds thresholds.tsv --prefix-bases 150 --output own.tsv
[ "$(accepted own.tsv)" -ge 50 ] || fail "own thresholds of 150 bases: $(accepted own.tsv)"

# ---- what does not fit together
said() { "$sluice" run "$@" --output x.tsv 2>&1 >/dev/null || true; }
said classify_signal --signal targets.blow5 --target transcripts.fa | grep -q "the tail is not looked for: give --preset rna004" || fail "no warning without the preset"
[ "$(said "${classify[@]}" --signal targets.blow5 | grep -c warning)" = 0 ] || fail "warnings for what all was made for: $(said "${classify[@]}" --signal targets.blow5)"
run simulate --reference transcripts.fa --reads 5 --mean-length 1000 --output-prefix dna
said "${classify[@]}" --signal dna.blow5 | grep -q "strands of DNA have no poly(A) tail, and the pore 'r9' is of DNA" || fail "DNA with the preset of RNA"
simulate old transcripts.fa 26 --pore rna_r9 --mean-dwell 43 --sampling-rate 3012
old=(--signal old.blow5 --target transcripts.fa --tail poly_a --samples-per-level 14 --bases-per-second 70)
said classify_signal "${old[@]}" | grep -q "there are no built-in thresholds for the pore 'rna_r9'" || fail "R9's RNA has thresholds"
run classify_signal "${old[@]}" --threshold 0.3 --output old.tsv
[ "$(accepted old.tsv)" -ge 50 ] || fail "R9's RNA: $(accepted old.tsv) of 60"
echo "all good"
