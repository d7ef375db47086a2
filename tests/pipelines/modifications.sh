#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# From a basecaller's reads with MM and ML to sorted BAM, counts, tables per read and summaries by region: each against another way to the same figures.
#   modifications.sh SLUICE MAKE_TEST_INPUT PYTHON_ENVIRONMENT
set -euo pipefail
sluice=$(realpath "$1") make_test_input=$(realpath "$2") environment=$3 reader=$(dirname "$(realpath "$0")")/big_wig_reader.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }

run synthetic_reference --contigs 2 --length 30000 --seed 5 --output ref.fa
run simulate --reference ref.fa --reads 80 --seed 5 --mean-length 4000 --output-prefix sim
run methylation --signal sim.blow5 --alignments sim.bam --reference ref.fa --output calls.tsv --modbam mod.sam
"$make_test_input" unaligned <mod.sam >unaligned.sam

# ---- one run is what the steps are
"$sluice" modifications ref.fa unaligned.sam -o mapped.bam --sites one.bed --bedgraph one.bedgraph --report report.html --quiet
run map --reference ref.fa --reads unaligned.sam --sort --output steps.bam
run pileup --alignments steps.bam --reference ref.fa --output steps.bed --bedgraph steps.bedgraph
cmp one.bed steps.bed || fail "counts of one run are not those of map and pileup"
cmp one.bedgraph steps.bedgraph || fail "bedGraph of one run is not that of map and pileup"
[ "$(wc -l <one.bed)" -gt 1000 ] || fail "$(wc -l <one.bed) sites"
[ -s mapped.bam ] && [ -s mapped.bam.bai ] && [ -s report.html ] || fail "an output is missing"
for bam in mapped steps; do run modification_calls --alignments $bam.bam --output $bam.calls; done
cmp mapped.calls steps.calls || fail "the records of one run are others"
run modifications --reference ref.fa --reads unaligned.sam --output mapped.bam --sites cpg.bed --cpg --combine-strands --threads 1 --batch-work 3000
run pileup --alignments steps.bam --reference ref.fa --cpg --combine-strands --output steps_cpg.bed
cmp cpg.bed steps_cpg.bed || fail "CpGs of one run are not those of map and pileup"
run modifications --reference ref.fa --reads unaligned.sam --output mapped.bam --sites hp.bed --partition hp
cut -f 1-18 hp.bed | cmp - one.bed || fail "reads without HP are not one partition"
[ "$(cut -f 19 hp.bed | sort -u)" = ungrouped ] || fail "reads without HP are not ungrouped"
echo "modifications: $(wc -l <one.bed) sites"

# ---- bedGraph has what bedMethyl has
awk -F'\t' '{ key = $1 "\t" $2; if (key != last) { if (NR > 1) printf "%s\t%d\t%.2f\n", last, end, 100 * m / v; m = v = 0 } last = key; end = $3; m += $12; v += $10 }
            END { printf "%s\t%d\t%.2f\n", last, end, 100 * m / v }' one.bed | cmp - one.bedgraph || fail "bedGraph is not bedMethyl's shares"
run pileup --alignments steps.bam --output - --bedgraph steps.bedgraph.gz >/dev/null
gzip -dc steps.bedgraph.gz | cmp - steps.bedgraph || fail "bedGraph compressed"
[ -s steps.bedgraph.gz.tbi ] || fail "bedGraph has no index"

# ---- the table per read, counted, is the pileup
run modification_calls --alignments steps.bam --aligned --output table.tsv
awk -F'\t' 'NR > 1 && $11 != "failed" { valid[$3 "\t" $4 "\t" $5]++; if ($11 == $8) modified[$3 "\t" $4 "\t" $5]++ }
            END { for (site in valid) print site "\t" valid[site] "\t" modified[site] + 0 }' table.tsv | sort >counted
awk -F'\t' '{ print $1 "\t" $2 "\t" $6 "\t" $10 "\t" $12 }' steps.bed | sort | cmp - counted || fail "the table per read does not add up to the pileup"
"$sluice" modification_calls steps.bam -o table.tsv.gz --where 'probability >= 0.9 and position >= 0' --table-columns read_id,position,probability --quiet
gzip -dc table.tsv.gz | awk -F'\t' 'NR > 1 && ($3 < 0.9 || $2 < 0) { exit 1 }' || fail "--where lets others through"
[ "$(gzip -dc table.tsv.gz | wc -l)" -gt 100 ] || fail "--where leaves nothing"
run modification_calls --alignments steps.bam --threads 1 --batch-work 2000 --output - | cmp - mapped.calls || fail "other threads and batches give another table"

# ---- reads that are not aligned have the same calls
columns=read_id,read_position,modification,canonical_base,probability,call,base_quality,context,contig,position
run modification_calls --alignments unaligned.sam --table-columns $columns --output unaligned.calls
run modification_calls --alignments steps.bam --table-columns $columns --output aligned.calls
cut -f 1-8 unaligned.calls | sort >unaligned.sorted
cut -f 1-8 aligned.calls | sort | comm -23 - unaligned.sorted | cmp - /dev/null || fail "calls of unaligned reads are not those of the aligned ones"
[ "$(cut -f 9-10 unaligned.calls | sort -u)" = "$(printf '\t-1\ncontig\tposition')" ] || fail "unaligned reads have places"
[ "$(cut -f 1 unaligned.calls | sort -u | wc -l)" = 81 ] || fail "not all unaligned reads have calls"
[ "$(run modification_calls --alignments unaligned.sam --aligned --allow-empty --output - | wc -l)" = 1 ] || fail "--aligned gives bases of unaligned reads"

# ---- bigWig has what bedGraph has
run pileup --alignments steps.bam --output /dev/null --bigwig header.bw --bedgraph plain.bedgraph
run pileup --alignments - --reference ref.fa --output /dev/null --bigwig reference.bigwig <steps.bam
cmp header.bw reference.bigwig || fail "lengths of the header and of the reference give two bigWig files"
"$sluice" modifications ref.fa unaligned.sam -o mapped.bam --sites one.bed --bigwig one.bw --quiet
cmp header.bw one.bw || fail "bigWig of one run is not that of map and pileup"
python=$environment/bin/python3
if ! "$python" -c 'import pyBigWig' 2>/dev/null; then
  { [ -x "$python" ] || python3 -m venv "$environment"; timeout 300 "$environment/bin/pip" install --quiet numpy pyBigWig; } >venv.log 2>&1 || true
fi
if "$python" -c 'import pyBigWig' 2>/dev/null; then
  "$python" "$reader" header.bw plain.bedgraph || fail "pyBigWig reads something else"
else
  echo "SKIPPED: pyBigWig, which cannot be installed here: $(tail -n 1 venv.log)"
fi

# ---- regions of a BED
printf 'synthetic_1\t1000\t9000\tfirst\nsynthetic_1\t8000\t12000\tsecond\t0\t+\nsynthetic_2\t0\t30000\n' >panel.bed
run pileup --alignments steps.bam --reference ref.fa --include-bed panel.bed --output panel_sites.bed
awk -F'\t' '($1 == "synthetic_1" && (($2 >= 1000 && $2 < 9000) || ($2 >= 8000 && $2 < 12000 && $6 == "+"))) || $1 == "synthetic_2"' steps.bed |
  cmp - panel_sites.bed || fail "--include-bed is not the sites in its regions"
run pileup --alignments steps.bam --reference ref.fa --include-bed panel.bed --region synthetic_1:2,001-8,500 --output - |
  cmp - <(awk -F'\t' '$1 == "synthetic_1" && $2 >= 2000 && $2 < 8500 && ($2 < 9000 || $6 == "+")' steps.bed) || fail "--include-bed with --region"
"$sluice" region_modifications panel.bed steps.bed -o regions.tsv --quiet
awk -F'\t' -v OFS='\t' '{ at = $2; region("first", $1 == "synthetic_1" && at >= 1000 && at < 9000); region("second", $1 == "synthetic_1" && at >= 8000 && at < 12000 && $6 == "+")
       region("synthetic_2", $1 == "synthetic_2") }
     function region(name, inside) { if (inside) { sites[name]++; valid[name] += $10; modified[name] += $12 } }
     END { for (name in sites) print name, sites[name], valid[name], modified[name] }' steps.bed | sort >expected
awk -F'\t' -v OFS='\t' 'NR > 1 { print $1, $9, $10, $11 }' regions.tsv | sort | cmp - expected || fail "sums by region: $(cat regions.tsv)"
cp steps.bed control.bed
"$sluice" region_modifications panel.bed control.bed steps.bed -o regions.tsv --quiet
awk -F'\t' 'NR > 1 && $8 == "steps" && ($14 != 0 || $15 < 0.999) { exit 1 } NR > 1 && $8 == "control" && $14 != "nan" { exit 1 }' regions.tsv ||
  fail "a sample differs from itself: $(cat regions.tsv)"
echo "regions: $(($(wc -l <regions.tsv) - 1)) rows"

# ---- several motifs: each of them alone, together
run pileup --alignments steps.bam --reference ref.fa --motif CHH:0:m,CG:0:m,GCGC:1:m --output several.bed
for motif in CHH:0 CG:0 GCGC:1; do
  run pileup --alignments steps.bam --reference ref.fa --motif $motif:m --output - | awk -F'\t' -v OFS='\t' -v name="m,${motif/:/,}" '{ $4 = name; print }'
done | sort >alone
sort several.bed | cmp - alone || fail "several motifs are not each of them"
grep -q 'm,GCGC,1' several.bed || fail "no site of GCGC"

# ---- small stages in a pipeline: columns that make room, rows of elements, regions, quality, arithmetic
cat >small.toml <<'TOML'
[pipeline]
name = "small"
[stages.alignments]
use = "alignment_reader"
params = { path = "steps.bam" }
[stages.inside]
use = "in_regions"
params = { regions = "panel.bed", strand = "is_reverse" }
[stages.long]
use = "where"
params = { condition = "(ref_end - ref_start) / 2 > 500 + 250 * 2 and mapq * 2 >= 100" }
[stages.names]
use = "select"
params = { rename = "contig=first_contig,cigar=operations", drop = "flag" }
[stages.table]
use = "table_writer"
params = { output = "small.tsv", columns = "read_id,first_contig,ref_start,ref_end,region" }
[stages.elements]
use = "explode"
inputs = ["names"]
params = { lists = "operations", keep = "read_id,ref_start", index = "place" }
[stages.operations]
use = "table_writer"
params = { output = "operations.tsv", columns = "read_id,place,operations" }
TOML
"$sluice" run small.toml --quiet
awk -F'\t' 'NR > 1 && $4 - $3 <= 2000 { exit 1 } END { if (NR < 10) exit 1 }' small.tsv || fail "arithmetic in where: $(cat small.tsv)"
awk -F'\t' 'NR > 1 && $5 !~ /first|second|synthetic_2/ { exit 1 }' small.tsv || fail "names of regions: $(cat small.tsv)"
[ "$(cut -f 1 operations.tsv | sort -u | wc -l)" = "$(wc -l <small.tsv)" ] || fail "rows of elements are of other reads"
awk -F'\t' 'NR > 1 && ($1 == last ? $2 != place + 1 : $2 != 0) { exit 1 } { last = $1; place = $2 }' operations.tsv || fail "places of elements"
"$sluice" run small.toml --quiet --threads 1 --batch-work 3000 && cp operations.tsv again.tsv && "$sluice" run small.toml --quiet && cmp operations.tsv again.tsv
sed 's/drop = "flag"/drop = "flog"/' small.toml >wrong.toml
"$sluice" check wrong.toml >wrong.txt 2>&1 && fail "a column that is not there can be dropped"
grep -q "did you mean 'flag'" wrong.txt || fail "what is dropped is not looked for: $(cat wrong.txt)"
sed 's/lists = "operations"/lists = "cigar"/' small.toml >wrong.toml
"$sluice" check wrong.toml >wrong.txt 2>&1 && fail "a column that was renamed is still there"
grep -q "parameter 'lists' names column 'cigar', which no stage before it gives" wrong.txt || fail "a renamed column: $(cat wrong.txt)"

# What was dropped can be given again: the bases that trimming left, behind those of the file.
cat >quality.toml <<'TOML'
[pipeline]
name = "quality"
[stages.reads]
use = "read_reader"
params = { path = "sim.fastq.gz" }
[stages.first]
use = "read_quality"
[stages.chosen]
use = "where"
params = { condition = "read_bases >= 3000 and gc_share < 0.7 and mean_quality > 1" }
[stages.renamed]
use = "select"
params = { rename = "mean_quality=first_quality", keep = "read_id,bases,qualities" }
[stages.second]
use = "read_quality"
[stages.table]
use = "table_writer"
params = { output = "quality.tsv", columns = "read_id,read_bases,first_quality,mean_quality" }
TOML
"$sluice" run quality.toml --quiet
awk -F'\t' 'NR > 1 && ($2 < 3000 || $3 != $4) { exit 1 } END { if (NR < 5) exit 1 }' quality.tsv || fail "a column that is given again: $(head -3 quality.tsv)"
echo "all good"
