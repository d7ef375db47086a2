#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Base-level alignments of mapped reads, against minimap2 2.24 and 2.31 (recorded digests of its records, and the program itself where it is installed) and against
# where the simulator says that the reads come from; methylation from FASTQ beside methylation from the simulator's alignments; the same bytes however it ran.
#   base_alignment.sh SLUICE MAKE_TEST_INPUT SHARED_DIR
set -euo pipefail
sluice=$1 make_test_input=$2 shared=$3
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
  cmp <(grep -v '^@PG' now.sam) <(grep -v '^@PG' aligned.sam) && cmp now.paf hits.paf || fail "$option gives other bytes"
done
run map --reference ref.fa --reads sim.fastq.gz --format bam --output now.bam
run truth.toml --alignments now.bam --output now.tsv
cmp now.tsv found.tsv || fail "BAM and SAM hold other alignments"
run index --reference ref.fa --output ref.index --contigs contigs.tsv
[ "$(cut -f 2 contigs.tsv | tail -1)" = 60000 ] || fail "the index has another contig"
run map --reference ref.index --reads sim.fastq.gz --output now.paf --cigar --cs
cmp now.paf hits.paf || fail "a saved index gives other bytes"
echo "same bytes: threads, batches, executor; BAM as SAM"

# ---- what BAM holds is what the lines say, and other programs can read it
if command -v samtools >/dev/null; then
  samtools quickcheck now.bam || fail "samtools finds the BAM damaged"
  samtools view -h now.bam | grep -v '^@PG' >now.sam
  run map --reference ref.fa --reads sim.fastq.gz --format sam --output plain.sam
  grep -v '^@PG' plain.sam | samtools view --no-PG -h | cmp - now.sam || fail "BAM holds other records than SAM"
  samtools sort -o sorted.bam now.bam && samtools index sorted.bam || fail "the BAM can't be sorted and indexed"
else
  echo "SKIPPED: no samtools, so it did not look at the BAM"
fi

# ---- tags of unaligned BAM are those of the lines that it was made from
if command -v samtools >/dev/null; then
  awk 'NR % 4 == 1 { print $1 "\tRG:Z:run\tqs:f:12.5\tML:B:C,3,200\tch:i:" NR; next } { print }' reads.fq >tagged.fq
  samtools import -T '*' -0 tagged.fq -o tagged.bam 2>/dev/null
  for reads in tagged.fq tagged.bam; do
    run map --reference ref.fa --reads $reads --format sam --copy-comments --output $reads.sam
    sed -i '/^@PG/d' $reads.sam
  done
  cmp tagged.fq.sam tagged.bam.sam || fail "the tags of a BAM file are not kept as those of FASTQ"
  grep -q "ML:B:C,3,200.*ch:i:1$" tagged.bam.sam || fail "tags are lost"
else
  echo "SKIPPED: no samtools, so tags of unaligned BAM were not tried"
fi

# ---- minimap2's records
"$make_test_input" rearranged_genome 1 >genome.fa
"$make_test_input" rearranged_reads 1 96 90000 >noisy.fq
"$make_test_input" rearranged_reads 1 96 4000 >clean.fq
"$make_test_input" rearranged_reads 1 300 90000 >many.fq
"$make_test_input" hostile_genome 1 1000000 >hostile_genome.fa
"$make_test_input" hostile_reads 1 1000000 >hostile.fa
release=2.24
ours() { # "OPTIONS" READS REFERENCE
  local options="$1 --compat minimap2=$release"
  [[ $options == *--max-chain-skip* ]] || options+=" --max-chain-skip 1000000"
  # shellcheck disable=SC2086
  run map --reference "$3" --reads "$2" --output now.txt $options
  grep -v '^@PG' now.txt >now.lines || true
}
while read -r digest release reads options; do
  ours "$options" "$reads" genome.fa
  [ "$(sha256sum <now.lines | cut -c 1-16)" = "$digest" ] || fail "$reads, $options: other lines than minimap2 $release's recorded ones"
done <<'END'
0e48327004c8e460 2.24 noisy.fq --format sam --cs
4fe95921634ec337 2.24 clean.fq --format sam --preset map-hifi --md
ed304e630ffff423 2.24 noisy.fq --cigar --preset map-pb
0e48327004c8e460 2.31 noisy.fq --format sam --cs
34f38ba91d1c6cb5 2.24 many.fq --format sam --cs
5c25b4d2a51f74cd 2.31 many.fq --format sam --cs
061c2193d3e0f65b 2.24 many.fq --cigar --all-chain
c7b43d6315568e42 2.31 many.fq --cigar --all-chain
END
release=2.24
ours "--format sam" hostile.fa hostile_genome.fa
[ "$(sha256sum <now.lines | cut -c 1-16)" = eb1cc7cac7be3dae ] || fail "reads over a deletion, of N and of repeats: other lines than minimap2's recorded ones"
echo "the recorded records of minimap2"
exact=--max-chain-skip=1000000
compare() { # "OPTIONS OF MINIMAP2" "OPTIONS OF SLUICE" READS REFERENCE
  # shellcheck disable=SC2086
  minimap2 $exact $1 "$4" "$3" 2>/dev/null | grep -v '^@[PH]' >expected.lines
  ours "$2" "$3" "$4"
  cmp now.lines expected.lines || fail "other lines than minimap2 $1 ($3)"
  [ -s now.lines ] || fail "no lines: minimap2 $1 ($3)"
  echo "minimap2's lines: $1, $(basename "$3") ($(wc -l <now.lines))"
}
release=$(minimap2 --version 2>/dev/null || true)
release=${release%%-*}
if [ "$release" = 2.24 ] || [ "$release" = 2.31 ]; then
  while IFS='|' read -r reads theirs ours; do
    compare "$theirs" "$ours" "$reads.fq" genome.fa
  done <<'END'
noisy|-a --cs|--format sam --cs
clean|-a -x map-hifi --MD|--format sam --preset map-hifi --md
noisy|-c -x map-pb|--cigar --preset map-pb
noisy|-a -P --cs|--format sam --all-chain --cs
noisy|-c --eqx --cs=long --secondary=no|--cigar --eqx --cs-long --no-secondary
noisy|--cs --MD --paf-no-hit|--cs --md --paf-no-hit
noisy|-a -Y --sam-hit-only -R @RG\tID:x\tSM:y|--format sam --soft-clip --sam-hit-only --read-group @RG\tID:x\tSM:y
noisy|-a -z 80,40 --end-bonus 20|--format sam --z-drop 80 --z-drop-inv 40 --end-bonus 20
clean|-a -r 10,10|--format sam --bw 10 --bw-long 10
clean|-a -r 30,60 --score-N 0|--format sam --bw 30 --bw-long 60 --score-n 0
clean|-a -O 4 -E 2|--format sam --long-gap-open 4 --long-gap-extend 2
noisy|-a -A 1 -B 9 -O 16,41 -E 2,1 -s 200|--format sam --match 1 --mismatch 9 --gap-open 16 --long-gap-open 41 --min-dp-max 200
noisy|-a --cap-sw-mem 200000 --min-dp-len 50|--format sam --cap-sw-mem 200000 --min-dp-len 50
noisy|-a -N 50 -p 0.5 --max-clip-ratio 0.3 --no-end-flt|--format sam --best-count 50 --secondary-ratio 0.5 --max-clip-ratio 0.3 --no-end-flt
noisy|-a --max-chain-skip=25|--format sam --max-chain-skip 25
clean|-a -k19 -w19 -U50,500 -g10k --MD|--format sam --preset lr-hq --md
noisy|-a --for-only|--format sam --for-only
noisy|-a -y --secondary=no|--format sam --copy-comments --no-secondary
clean|-c -x asm5|--cigar --preset asm5
clean|-c -x asm10|--cigar --preset asm10
noisy|-a -x asm20|--format sam --preset asm20
END
  "$make_test_input" mapping_reference 1 >small.fa
  # Some reads are in lower case, and the beginning of others here.
  "$make_test_input" mapping_reads 1 60 100000 | awk 'NR % 12 == 2 { $0 = tolower(substr($0, 1, 50)) substr($0, 51) } { print }' >small.fq
  compare "-a" "--format sam" small.fq small.fa
  # A read with more operations than BAM's field can count: every 20th base is left out.
  run synthetic_reference --length 800000 --seed 3 --output big.fa
  awk '!/^>/ { contig = contig $0 }
       END { printf "@read\nTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT"; for (i = 20001; i < 760000; i += 20) printf "%s", substr(contig, i, 19)
             print "\n+"; n = 30 + int((760000 - 20001 + 19) / 20) * 19; for (i = 0; i < n; ++i) printf "I"; print "" }' big.fa >big.fq
  compare "-a -L" "--format sam --long-cigar-tag" big.fq big.fa
  grep -q "CG:B:I" now.lines || fail "no CIGAR went to a tag"
  if command -v samtools >/dev/null; then
    samtools view -h now.txt >tag.sam
    run map --reference big.fa --reads big.fq --format bam --output now.bam
    samtools view now.bam | cut -f 1-11 | cmp - <(grep -v '^@' tag.sam | cut -f 1-11) || fail "tag and BAM hold other CIGARs"
  else
    echo "SKIPPED: no samtools, so it did not look at the BAM"
  fi
  if [ -d "$shared/data" ]; then
    gzip -dc "$shared/data/lambda_ont_real/sample_reads.fastq.gz" >lambda.fq
    gzip -dc "$shared/data/lambda_ont_real/sample_reference.fasta.gz" >lambda.fa
    compare "-a --cs" "--format sam --cs" lambda.fq lambda.fa
    compare "-a -P --MD -Y" "--format sam --all-chain --md --soft-clip" lambda.fq lambda.fa
  else
    echo "SKIPPED: no $shared, so no real reads were compared"
  fi
else
  echo "SKIPPED: no minimap2 2.24 or 2.31, so nothing but the recorded lines was compared"
fi

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
# Along the alignments of a SAM file that map writes, supplementary ones included, the calls are the same, but for their order.
run map --reference ref.fa --reads sim.fastq.gz --format sam --output parts.sam
run methylation "${in[@]}" --alignments parts.sam --output now.tsv
cmp <(sort now.tsv) <(sort mapped_calls.tsv) || fail "methylation from reads calls other sites than along map's SAM"
echo "methylation from reads is as accurate as with the true alignments"
