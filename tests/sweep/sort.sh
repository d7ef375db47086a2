#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice run sort` against samtools sort: the same records in the same order and the same index, over made-up alignments with many ties, for any
# memory, threads and batches.
#   sort.sh BUILD_DIR SECONDS SEED
set -uo pipefail
here=$(dirname "$(realpath "$0")") build=$(realpath "$1") seconds=$2 seed=$3
sluice=$build/bin/sluice make_alignments=$build/bin/make_alignments kept=$build/sweep/sort
command -v samtools >/dev/null || { echo "SKIPPED: there is no samtools"; exit 77; }
[ -x "$make_alignments" ] || { echo "SKIPPED: there is no $make_alignments"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/parts/counted_random.sh"
. "$here/parts/shrink.sh"
view() { samtools view --no-PG "$@" 2>/dev/null; }
differs() { # BAM
  samtools sort -o expected.bam "$1" 2>/dev/null || exit 1
  rm -f found.bam found.bam.bai
  "$sluice" run sort --alignments "$1" --output found.bam "${how[@]}" --allow-empty --quiet >said.txt 2>&1 || return 0
  cmp -s <(view expected.bam) <(view found.bam) || return 0
  samtools index -o made.bai found.bam && ! cmp -s made.bai found.bam.bai
}
records_differ() { # LIST of records of SAM
  cat header.sam "$1" | samtools view --no-PG -b -o few.bam - 2>/dev/null && differs few.bam
}
cases=0 differences=0 counter=0
[ "$seconds" -gt 0 ] && last=$((1 << 40)) || last=15
SECONDS=0
while ((cases < last && (seconds == 0 || SECONDS < seconds))); do
  draw 5 && contigs=$((1 + drawn * drawn))
  sizes=(60 100 1000 50000 3000000) && draw 5 && contig_bases=${sizes[drawn]}
  draw 200 && records=$((drawn * drawn / 4))
  lengths=(50 300 3000) && draw 3 && mean=${lengths[drawn]}
  draw 1000000 && "$make_alignments" in.bam $records $mean $contigs $contig_bases "$drawn" || exit 1
  memories=(16MiB 32MiB 256MiB) && draw 3 && how=(--memory "${memories[drawn]}")
  draw 4 && how+=(--threads $((1 + drawn)))
  draw 3 && [ "$drawn" = 0 ] || how+=(--batch-work $((1 + drawn * 30000)))
  # As they come, in order already, or the other way round.
  draw 4
  case $drawn in
    0) samtools sort --no-PG -o sorted.bam in.bam 2>/dev/null && mv sorted.bam in.bam ;;
    1) (view -H in.bam; view in.bam | tac) | view -b -o turned.bam - && mv turned.bam in.bam ;;
  esac
  cases=$((cases + 1))
  differs in.bam || continue
  differences=$((differences + 1))
  view -H in.bam >header.sam
  view in.bam >records.sam
  if records_differ records.sam; then shrink records.sam records_differ records.sam; fi
  folder=$kept/$seed.$cases
  mkdir -p "$folder" && cat header.sam records.sam >"$folder/in.sam" && cp in.bam "$folder/all.bam"
  echo "DIFFERENCE: $(wc -l <records.sam) records: $(tail -1 said.txt)"
  echo "  $sluice run sort --alignments $folder/in.sam ${how[*]} --output found.bam; samtools sort $folder/in.sam"
done
echo "sort: $cases cases, $differences differences (seed $seed)"
[ $differences = 0 ]
