#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What unaligned BAM carries is there after mapping: tags, read groups, programs, and base modifications at the same bases on both strands, also in
# supplementary records that have a part of the read. modBAM made of reads, and what modBAM keeps.
#   bam_tags.sh SLUICE MAKE_TEST_INPUT MODIFIED_BASES
set -euo pipefail
sluice=$1 make_test_input=$2 modified_bases=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
run() { "$sluice" run "$@" --quiet; }
has() { grep -q "$1" "$2" || fail "$3"; }
lacks() { ! grep -q "$1" "$2" || fail "$3"; }
has_samtools=yes
command -v samtools >/dev/null || has_samtools=

# ---- rearranged reads, whose supplementary records are parts, with the tags of a basecaller
"$make_test_input" rearranged_genome 1 >genome.fa
{ "$make_test_input" rearranged_reads 1 96 40000; "$make_test_input" noisy_reads 9 20000 6 800 40000 | sed '1~4s/^@/@elsewhere-/'; } |
  "$make_test_input" modified_reads 1 >reads.sam
run map --reference genome.fa --reads reads.sam --format bam --output kept.bam
"$modified_bases" reads.sam kept.bam >compared.txt
cat compared.txt
for kind in forward reverse "forward part" "reverse part" "without bases" unmapped; do
  has "^$kind: [1-9]" compared.txt "the test has no record of the kind: $kind"
done
run map --reference genome.fa --reads reads.sam --format sam --output kept.sam
"$modified_bases" reads.sam kept.sam | cmp - compared.txt || fail "SAM has other modifications than BAM"
run map --reference genome.fa --reads reads.sam --format bam --soft-clip --output soft.bam
"$modified_bases" reads.sam soft.bam >soft.txt
lacks " part:" soft.txt "soft-clipped records are parts"
mv kept.bam first.bam # the header names the output
for option in "--threads 1" "--threads 7" "--batch-work 1" "--executor serial"; do
  # shellcheck disable=SC2086
  run map --reference genome.fa --reads reads.sam --format bam --output kept.bam $option
  cmp first.bam kept.bam || fail "$option gives other bytes"
done
run map --reference genome.fa --reads - --format bam --output now.bam <reads.sam
if [ $has_samtools ]; then
  samtools quickcheck kept.bam soft.bam || fail "samtools finds the BAM damaged"
  samtools view --no-PG -h kept.bam | grep -v '^@PG' >view.sam
  grep -v '^@PG' kept.sam | samtools view --no-PG -h | cmp - view.sam || fail "BAM holds other records than SAM"
  samtools view -b --no-PG reads.sam -o reads.bam
  samtools view -C --no-PG reads.sam -o reads.cram
  for input in reads.bam reads.cram; do  # CRAM has its own order of tags
    samtools view --no-PG -h $input >same.sam
    run map --reference genome.fa --reads $input --format sam --output now.sam
    run map --reference genome.fa --reads same.sam --format sam --output expected.sam
    grep -v '^@PG' now.sam | cmp - <(grep -v '^@PG' expected.sam) || fail "$input gives other records than SAM"
  done
fi

# ---- the header
grep '^@' kept.sam >header.txt
has "^@RG	ID:run	SM:sample	PL:ONT$" header.txt "the read group is not in the header"
has "^@PG	ID:basecaller	PN:basecaller	VN:1.0	CL:basecaller reads$" header.txt "the basecaller is not in the header"
has "^@PG	ID:sluice	PP:basecaller	PN:sluice	VN:[0-9.]*	CL:sluice run map" header.txt "our @PG is not chained to the basecaller's"
run map --reference genome.fa --reads reads.sam --format sam --read-group '@RG\tID:mine\tSM:me' --output mine.sam
has "^@RG	ID:mine	SM:me$" mine.sam "--read-group is not in the header"
lacks "ID:run\|RG:Z:run" mine.sam "--read-group does not replace the input's"
has "^@PG	ID:sluice	PP:basecaller" mine.sam "--read-group loses the programs"
sed 's/ID:run	/ID:second	/; s/RG:Z:run/RG:Z:second/; s/VN:1.0/VN:2.0/; s/^read/again/' reads.sam >other.sam
run map --reference genome.fa --reads reads.sam --reads other.sam --format sam --output two.sam
has "^@RG	ID:second	" two.sam "the read group of the second file is not in the header"
has "^@PG	ID:basecaller.1	.*VN:2.0" two.sam "the program of the second file is not in the header"
has "^@PG	ID:sluice	PP:basecaller.1	" two.sam "our @PG is not chained to the last of several"

# ---- which tags
run map --reference genome.fa --reads reads.sam --format sam --keep-tags MM,ML --output some.sam
has "MM:Z:" some.sam "--keep-tags MM,ML loses MM"
lacks "RG:Z:\|^@RG\|mv:B:\|qs:f:" some.sam "--keep-tags MM,ML keeps others"
run map --reference genome.fa --reads reads.sam --format sam --keep-tags none --output none.sam
lacks "MM:Z:\|RG:Z:\|mv:B:\|qs:f:" none.sam "--keep-tags none keeps tags"
! run map --reference genome.fa --reads reads.sam --format sam --keep-tags MM+ML --output x.sam 2>error.txt || fail "a bad list of tags is taken"
has "[-]-keep-tags" error.txt "the error does not name the option"

# ---- FASTQ whose comments are tags: none by default, verbatim with minimap2's -y, chosen ones with --keep-tags
awk -F '\t' '!/^@/ { tags = ""; for (i = 12; i <= NF; ++i) tags = tags "\t" $i; print "@" $1 tags "\n" $10 "\n+\n" $11 }' reads.sam >tagged.fq
awk -F '\t' '!/^@/ { print "@" $1 "\n" $10 "\n+\n" $11 }' reads.sam >plain.fq
run map --reference genome.fa --reads tagged.fq --format sam --output tagged.sam
run map --reference genome.fa --reads plain.fq --format sam --output plain.sam
cmp <(grep -v '^@PG' tagged.sam) <(grep -v '^@PG' plain.sam) || fail "comments of FASTQ are taken without being asked for"
run map --reference genome.fa --reads tagged.fq --format sam --keep-tags all --output now.sam
cmp <(grep -v '^@[RP]G' now.sam) <(grep -v '^@[RP]G' kept.sam) || fail "tags in comments of FASTQ are not those of BAM"
run map --reference genome.fa --reads tagged.fq --format bam --keep-tags all --output now.bam
"$modified_bases" reads.sam now.bam | cmp - compared.txt || fail "tags in comments of FASTQ are not those of BAM, written as BAM"
run map --reference genome.fa --reads tagged.fq --format sam --copy-comments --output copied.sam
"$modified_bases" reads.sam copied.sam verbatim >/dev/null || fail "--copy-comments does not copy"

# ---- what people type instead
if [ $has_samtools ] && command -v minimap2 >/dev/null && [[ $(minimap2 --version) == 2.24* ]]; then
  samtools fastq -T '*' reads.bam 2>/dev/null | minimap2 -ay --max-chain-skip=1000000 genome.fa - 2>/dev/null | samtools sort -n - | samtools view >piped.sam
  run map --reference genome.fa --reads reads.sam --format bam --compat minimap2=2.24 --max-chain-skip 1000000 --output kept.bam
  samtools sort -n kept.bam | samtools view >sorted.sam
  # Of whole records all of it; of parts all but MM, ML, MN, which minimap2 leaves as they are.
  for file in piped.sam sorted.sam; do
    awk -F '\t' -v OFS='\t' '{
      is_part = $6 ~ /H/ || $10 == "*"
      line = $1 OFS $2 OFS $3 OFS $4 OFS $6 OFS $10; tags = ""
      for (i = 12; i <= NF; ++i) if (!is_part || $i !~ /^(MM|ML|MN):/) tags = tags OFS $i
      print line tags }' $file | sort >$file.lines
  done
  cmp piped.sam.lines sorted.sam.lines || fail "samtools fastq | minimap2 -ay | samtools sort gives other tags"
  echo "the tags of samtools fastq | minimap2 -ay | samtools sort ($(wc -l <sorted.sam.lines) records)"
else
  echo "SKIPPED: no samtools, or no minimap2 2.24, so their pipe was not compared"
fi

# ---- tags that do not fit: kept on whole records, counted, never a crash
awk -F '\t' -v OFS='\t' '!/^@/ { ++n; for (i = 12; i <= NF; ++i) {
    if (n % 4 == 0 && $i ~ /^ML:/) $i = "ML:B:C,1"
    if (n % 4 == 1 && $i ~ /^ML:/) $i = "xx:i:1"
    if (n % 4 == 2 && $i ~ /^MM:/) $i = "MM:Z:C+m?,99999999;"
    if (n % 4 == 3 && $i ~ /^MN:/) $i = "MN:i:7" } } { print }' reads.sam >unfit.sam
run map --reference genome.fa --reads unfit.sam --format bam --output unfit.bam --report unfit.json 2>unfit.log
has "do not fit its bases" unfit.log "reads whose modifications do not fit are not named"
has "records without MM and ML, which do not fit their reads" unfit.json "they are not counted"
run map --reference genome.fa --reads unfit.sam --format sam --output unfit_out.sam 2>/dev/null
has "MM:Z:C+m?,99999999;" unfit_out.sam "tags that do not fit are not kept on whole records"
sed 's/	ML:B:C,/	ML:B:C,x,/' tagged.fq >damaged.fq
run map --reference genome.fa --reads damaged.fq --format sam --keep-tags all --output damaged.sam --report damaged.json 2>damaged.log
has "has a damaged tag" damaged.log "damaged tags are not named"
has "reads with damaged tags" damaged.json "damaged tags are not counted"
echo "header, choice of tags, comments, tags that do not fit"

# ---- the demo's modBAM turned back to reads, and mapped
run synthetic_reference --length 60000 --seed 5 --output ref.fa
run simulate --reference ref.fa --reads 60 --seed 5 --mean-length 4000 --output-prefix sim
run methylation --signal sim.blow5 --alignments sim.bam --reference ref.fa --output calls.tsv --modbam mod.sam
"$make_test_input" unaligned <mod.sam >unaligned.sam
run map --reference ref.fa --reads unaligned.sam --format bam --keep-tags all --output mapped.bam
"$modified_bases" unaligned.sam mapped.bam >demo.txt
has "^forward: [1-9].*, [1-9]" demo.txt "no modification on the forward strand"
has "^reverse: [1-9].*, [1-9]" demo.txt "no modification on the reverse strand"
[ ! $has_samtools ] || samtools quickcheck mapped.bam || fail "samtools finds the BAM of modBAM damaged"
# The same genome with every second piece turned round, so that reads fall into parts.
grep -v '>' ref.fa | tr -d '\n' | fold -w 2500 | { echo ">turned"; while read -r piece && read -r next; do echo "$piece"; rev <<<"$next" | tr ACGT TGCA; done; } >turned.fa
run map --reference turned.fa --reads unaligned.sam --format bam --keep-tags all --output turned.bam
"$modified_bases" unaligned.sam turned.bam >>demo.txt
for kind in "forward part" "reverse part"; do has "^$kind: [1-9].*, [1-9]" demo.txt "the demo has no record of the kind: $kind"; done
echo "the demo's modBAM as reads, mapped:" && cat demo.txt

# ---- sorted, with an index: what samtools finds in a region are the records, tags and all, that a look at every record finds
run map --reference turned.fa --reads unaligned.sam --format bam --sort --keep-tags all --output sorted.bam
"$modified_bases" unaligned.sam sorted.bam | cmp - <("$modified_bases" unaligned.sam turned.bam) || fail "sorting changes modifications"
run map --reference turned.fa --reads unaligned.sam --format bam --sort --keep-tags MM,ML --output some.bam
if [ $has_samtools ]; then
  samtools quickcheck sorted.bam some.bam || fail "samtools finds the sorted BAM damaged"
  samtools view turned.bam >every.sam
  for region in 1-2500 2400-2600 30000-30000 57000-60000 1-60000; do
    samtools view sorted.bam turned:$region >found.sam
    awk -F '\t' -v first="${region%-*}" -v last="${region#*-}" '
      int($2 / 4) % 2 == 0 { end = $4 - 1; cigar = $6
        while (match(cigar, /^[0-9]+/)) { if (substr(cigar, RLENGTH + 1, 1) ~ /[MDN=X]/) end += substr(cigar, 1, RLENGTH); cigar = substr(cigar, RLENGTH + 2) }
        if ($4 <= last && end >= first) print }' every.sam >wanted.sam
    cmp <(sort found.sam) <(sort wanted.sam) || fail "the index finds other records in $region"
    cat found.sam >>in_regions.sam
    samtools view some.bam turned:$region | cmp <(cut -f 1-11 found.sam) <(cut -f 1-11) || fail "--keep-tags MM,ML gives other records in $region"
  done
  grep -q "MM:Z:C" in_regions.sam || fail "no record with MM was found by the index"
  grep -q "MM:Z:C" <(samtools view some.bam) || fail "--keep-tags MM,ML --sort loses MM"
  echo "sorted: regions of the index"
else
  echo "SKIPPED: no samtools, so regions of sorted BAM were not looked up"
fi

# ---- modBAM of reads is that of their alignments
records() { grep -v "^@" "$1"; }
for keep in used all; do
  run map --reference ref.fa --reads sim.fastq.gz --format sam --output alignments.sam
  run methylation --signal sim.blow5 --reads sim.fastq.gz --alignments alignments.sam --reference ref.fa --output a.tsv --modbam a.sam --modbam-keep $keep
  run methylation_from_reads --signal sim.blow5 --reads sim.fastq.gz --reference ref.fa --output b.tsv --modbam b.sam --modbam-keep $keep
  cmp a.tsv b.tsv || fail "--modbam-keep $keep gives other calls"
  cmp <(records a.sam) <(records b.sam) || fail "modBAM of reads has other records than that of alignments (--modbam-keep $keep)"
done
# CL is the whole command, as a shell reads it, but for what changes no result and the names of outputs.
says_command() { # FILE COMMAND
  [ "$(samtools_header "$1" | grep '^@PG' | tail -n 1 | sed 's/.*	CL://')" = "$2" ] || fail "CL of $1: $(samtools_header "$1" | grep '^@PG'), not $2"
}
samtools_header() { case $1 in *.sam) grep '^@' "$1" ;; *) samtools view -H --no-PG "$1" ;; esac }
says_command b.sam "sluice run methylation_from_reads --signal sim.blow5 --reads sim.fastq.gz --reference ref.fa --modbam-keep all"
cp sim.fastq.gz "it's sim.fastq.gz"
run map --reference ref.fa --reads "it's sim.fastq.gz" --format sam --no-secondary --output named.sam --threads 1 --set stages.sam.params.cs=true
says_command named.sam "sluice run map --reference ref.fa --reads 'it'\\''s sim.fastq.gz' --format sam --no-secondary --set stages.sam.params.cs=true"
run eventalign --signal sim.blow5 --alignments sim.bam --reference ref.fa --format sam --output events.sam
says_command events.sam "sluice run eventalign --signal sim.blow5 --alignments sim.bam --reference ref.fa --format sam"
run sort --alignments sim.bam --output resorted.bam --memory 64MiB
[ ! $has_samtools ] || says_command resorted.bam "sluice run sort --alignments sim.bam"
# CRAM does not depend on the name that it has while it is written.
for name in one two; do
  run methylation --signal sim.blow5 --alignments sim.bam --reference ref.fa --output calls.tsv --modbam mod.cram
  mv mod.cram $name.cram
done
cmp one.cram two.cram || fail "two runs write other CRAM"
if [ $has_samtools ]; then
  run methylation --signal sim.blow5 --alignments sim.bam --reference ref.fa --output calls.tsv --modbam mod.bam
  cmp <(samtools view -T ref.fa one.cram | cut -f 1-11) <(samtools view mod.bam | cut -f 1-11) || fail "CRAM holds other records than BAM"
  cmp <(samtools view -T ref.fa one.cram | grep -o 'M[ML]:[^	]*') <(samtools view mod.bam | grep -o 'M[ML]:[^	]*') || fail "CRAM holds other calls than BAM"
fi
echo "modBAM of reads: as that of their alignments"

# ---- what modBAM keeps
"$make_test_input" modified_reads 1 <plain.fq | awk '!/^@/ && n++ < 3' | cut -f 1-11 >extra.sam
{ cat alignments.sam; awk -F '\t' -v OFS='\t' '!/^@/ && n++ < 4 { $2 = 256; $10 = $11 = "*"; print }' alignments.sam
  awk -F '\t' -v OFS='\t' '!/^@/ && n++ < 5 { $1 = "low-" n; $5 = 3; print }' alignments.sam; cat extra.sam; } >many.sam
all=$(grep -vc '^@' many.sam)
for keep in used all; do
  run methylation --signal sim.blow5 --reads sim.fastq.gz --alignments many.sam --reference ref.fa --output c.tsv --modbam c.sam --modbam-keep $keep \
    --account $keep.tsv
  cmp a.tsv c.tsv || fail "--modbam-keep $keep changes the calls"
  cmp <(cut -f 1,3 "$keep.tsv" | sort) <(cut -f 1,3 used.tsv | sort) || fail "--modbam-keep $keep changes the account"
  echo "$keep: $(grep -vc '^@' c.sam) of $all records"
done
[ "$(grep -vc '^@' c.sam)" = "$all" ] || fail "--modbam-keep all loses records"
cmp <(grep -v '^@' c.sam | cut -f 1-9) <(grep -v '^@' many.sam | cut -f 1-9) || fail "--modbam-keep all changes the order of the records"
for reason in secondary low_mapping_quality unmapped; do has "$reason" used.tsv "the account does not name $reason"; done
run methylation_from_reads --signal sim.blow5 --reads sim.fastq.gz --reference ref.fa --output d.tsv --modbam d.bam --modbam-keep all
[ ! $has_samtools ] || samtools quickcheck d.bam || fail "samtools finds the modBAM of reads damaged"
