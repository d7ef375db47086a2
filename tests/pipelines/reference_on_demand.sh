#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Of a large reference only what lies under the reads is read: calls beside 300 Mb are those of the 200 kb that the reads are of, and so is the memory.
#   reference_on_demand.sh SLUICE
set -euo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { grep -qF "$2" "$1" || fail "no '$2' in $1: $(cat "$1")"; }

run synthetic_reference --length 200000 --seed 5 --output small.fa
sed -i '1s/.*/>target of the reads/' small.fa
run simulate --reference small.fa --reads 40 --seed 6 --output-prefix reads
run synthetic_reference --length 100000000 --contigs 3 --seed 7 --output others.fa
cat small.fa others.fa >large.fa
rm others.fa
# A line of the small contig is as long as one of the large ones.
line=$(sed -n 2p small.fa | tr -d '\n' | wc -c)
# FILE's index, as samtools faidx writes it.
fai() {
  grep -b '^>' "$1" | while IFS=: read -r at header; do
    name=${header#>}
    length=100000000
    [ "$at" != 0 ] || length=200000
    printf '%s\t%d\t%d\t%d\t%d\n' "${name%% *}" $length $((at + ${#header} + 1)) "$line" $((line + 1))
  done
}
counter() { grep -o "\"$2\": *[0-9]*" "$1" | sed 's/.*: *//' | awk '{ sum += $1 } END { print sum + 0 }'; }
call() { # NAME REFERENCE OPTIONS
  local name=$1 reference=$2
  shift 2
  "$sluice" run methylation --quiet --signal reads.blow5 --alignments reads.bam --reference "$reference" --device cpu --threads 2 --report "$name.json" \
    --output "$name.tsv" --frequency "$name.sites.tsv" --modbam "$name.sam" --bedmethyl "$name.bed" "$@"
}

call small small.fa
call scanned large.fa
[ "$(counter scanned.json reference_bytes_scanned)" = "$(wc -c <large.fa)" ] || fail "without an index the file is read $(counter scanned.json reference_bytes_scanned) bytes far"
fai large.fa >large.fa.fai
call indexed large.fa
for name in scanned indexed; do
  for file in tsv sites.tsv bed; do cmp small.$file $name.$file || fail "$file of $name"; done
  cmp <(grep -v '^@' small.sam) <(grep -v '^@' $name.sam) || fail "modBAM of $name"
  [ "$(counter $name.json reference_bases_read)" = "$(counter small.json reference_bases_read)" ] || fail "$name reads $(counter $name.json reference_bases_read) bases, not $(counter small.json reference_bases_read)"
done
[ "$(counter indexed.json reference_bytes_scanned)" = 0 ] || fail "an index does not save reading the file"
read_bases=$(counter indexed.json reference_bases_read)
[ "$read_bases" -gt 0 ] && [ "$read_bases" -le 200000 ] || fail "$read_bases bases were read"
# Memory of the process, at its peak: 600 MB more when the text was in memory.
peak() { # REFERENCE
  "$sluice" run methylation --quiet --signal reads.blow5 --alignments reads.bam --reference "$1" --device cpu --threads 2 --report peak.json --output /dev/null
  counter peak.json resident_peak_bytes
}
small=$(peak small.fa) large=$(peak large.fa)
[ "$small" -gt 0 ] || fail "the report does not say the peak of memory"
[ $((large - small)) -lt 50000000 ] || fail "$large bytes beside the large reference, $small beside the small one"
# Threads and batches; eventalign.
run methylation --signal reads.blow5 --alignments reads.bam --reference large.fa --output - --threads 7 --batch-work 20000 | cmp - small.tsv || fail "other threads"
for format in tsv sam paf; do
  run eventalign --format $format --signal reads.blow5 --alignments reads.bam --reference small.fa --output small.events.$format
  run eventalign --format $format --signal reads.blow5 --alignments reads.bam --reference large.fa --output large.events.$format
  cmp <(grep -v '^@' small.events.$format) <(grep -v '^@' large.events.$format) || fail "eventalign --format $format"
done
# Through a pipe and compressed it is loaded whole.
gzip -k small.fa
run methylation --signal reads.blow5 --alignments reads.bam --reference small.fa.gz --output - | cmp - small.tsv || fail "gzip"
run methylation --signal reads.blow5 --alignments reads.bam --reference <(cat small.fa) --output - | cmp - small.tsv || fail "a pipe"
# What is wrong with it.
tail -c +2 small.fa >bad.fa
if call bad bad.fa 2>error; then fail "a file without its first byte is taken"; fi
has error "does not start with '>'"
sed '40s/^..../AC*T/' small.fa >bad.fa
if call bad bad.fa 2>error; then fail "a letter that is no base is taken"; fi
has error "line 40: sequence 'target', position"
