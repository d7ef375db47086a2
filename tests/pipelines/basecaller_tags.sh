#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What the basecaller said of a read's signal is used: parts of signals, split reads, moves. Tags are made of what resquiggle says of reads without any;
# then real reads of R10.4.1 and RNA004, where they are.
#   basecaller_tags.sh SLUICE SHARED_DIR
set -uo pipefail
sluice=$1 shared=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }

run synthetic_reference --length 20000 --contigs 3 --seed 1 --output reference.fa || exit 1
run simulate --reference reference.fa --reads 24 --mean-length 1200 --seed 5 --output-prefix r || exit 1
run resquiggle --signal r.blow5 --reads r.fastq.gz --format paf --output plain.paf --max-bad-reads 0.2 || exit 1
run resquiggle --signal r.blow5 --reads r.fastq.gz --output plain.tsv --max-bad-reads 0.2 || exit 1
reads=$(wc -l <plain.paf)
[ "$reads" -ge 20 ] || fail "only $reads of 24 reads are aligned"

# with_tags FORMAT: an unaligned SAM file of the aligned reads; %N: samples of the read, %M: moves (mv). Each base of the moves begins where its 6-mer does
# (base_of_kmer 4); the first four, which have none, at the first samples.
with_tags() {
  printf '@HD\tVN:1.6\n@PG\tID:basecaller\tPN:dorado\tVN:2.1.0\n'
  gzip -dc r.fastq.gz | awk -v format="$1" '
    FILENAME == "plain.paf" { samples[$1] = $2; next }
    FILENAME == "plain.tsv" { if ($3 != ".") { at[$1, $2 + 4] = $3; end[$1] = $4 } else at[$1, $2 + 4] = -1; next }
    FNR % 4 == 1 { name = substr($1, 2) }
    FNR % 4 == 2 { bases = $1 }
    FNR % 4 == 0 && name in samples {
      tags = format
      gsub(/%N/, samples[name], tags)
      if (tags ~ /%M/) {
        moves = "mv:B:c,1"; before = -1; n = length(bases)
        for (b = 0; b < n; ++b) {
          begin = b < 4 ? b : b == n - 1 ? end[name] - 1 : at[name, b]
          if (begin < 0 || begin <= before) begin = before + 1
          zeros = begin - before - 1
          if (b > 0) for (; zeros > 0; --zeros) moves = moves ",0"
          moves = moves ",1"; before = begin
        }
        for (i = before + 1; i < samples[name]; ++i) moves = moves ",0"
        gsub(/%M/, moves, tags)
      }
      gsub(/ /, "\t", tags)
      gsub(/%R/, name, tags)
      own = format ~ /pi:Z/ ? "child-" name : name
      print own "\t4\t*\t0\t0\t*\t*\t0\t0\t" bases "\t" $1 (tags == "" ? "" : "\t" tags)
    }' plain.paf plain.tsv -
}
squiggle() { run resquiggle --signal r.blow5 --format "$1" "${@:2}" --max-bad-reads 1 --allow-empty 2>>messages; }

# All of the signal, said in words: the same bytes as without.
with_tags "" >none.sam
with_tags "ts:i:0 ns:i:%N" >all.sam
with_tags "ts:A:+ ts:i:0 ns:i:%N pi:Z:%R" >spliced.sam
sed -i 's/^child-//' spliced.sam
for set in none all spliced; do
  squiggle paf --reads $set.sam --output $set.paf && cmp $set.paf plain.paf || fail "$set: other lines than without tags"
done
# A split read has its parent's signal; numbers are samples of the parent.
with_tags "pi:Z:%R sp:i:0 ts:i:0 ns:i:%N" >split.sam
squiggle paf --reads split.sam --output split.paf && sed 's/child-//g' split.paf | cmp - plain.paf || fail "split reads: other lines than their parents"
with_tags "pi:Z:%R sp:i:2 ts:i:1 ns:i:%N" >split.sam
squiggle paf --reads split.sam --output split.paf --account split.account
[ "$(grep -c bad_signal_part split.account)" = "$reads" ] || fail "parts that end behind their parents: $(head -3 split.account)"
with_tags "pi:Z:nobody sp:i:0 ts:i:0 ns:i:%N" >split.sam
squiggle paf --reads split.sam --output split.paf --account split.account
[ "$(grep -c no_signal split.account)" = "$reads" ] || fail "parents that are not there: $(head -3 split.account)"
# A cut of the adapter: the same places within the signal, or nearly so.
with_tags "ts:i:20 ns:i:%N" >cut.sam
squiggle tsv --reads cut.sam --output cut.tsv
awk 'NR == FNR { if ($3 != ".") at[$1, $2] = $3; next }
     FNR > 1 && $3 != "." && ($1, $2) in at { ++all; near += ($3 - at[$1, $2]) ^ 2 <= 25 }
     END { exit !(all > 1000 && near / all > 0.95) }' plain.tsv cut.tsv || fail "cut signal: k-mers lie elsewhere"
with_tags "ts:i:900000 ns:i:900001" >cut.sam
squiggle tsv --reads cut.sam --output cut.tsv --account cut.account
[ "$(grep -c bad_signal_part cut.account)" = "$reads" ] || fail "parts outside of the signal: $(head -3 cut.account)"
# f5c knows no tags.
squiggle paf --reads cut.sam --compat f5c --output compat.paf && cut -f1-12 compat.paf | cmp - <(cut -f1-12 plain.paf) || fail "--compat f5c looks at tags"
# Comments of FASTQ are the same tags.
awk -F'\t' '!/^@/ { tags = $12; for (i = 13; i <= NF; ++i) tags = tags "\t" $i; print "@" $1 "\t" tags "\n" $10 "\n+\n" $11 }' all.sam >all.fastq
squiggle paf --reads all.fastq --output fastq.paf && cmp fastq.paf plain.paf || fail "tags of FASTQ"

# Moves: right ones pass, and lead to the same place; shifted ones and those of other bases do not.
with_tags "ts:i:0 ns:i:%N %M" >moved.sam
for moves in check use ignore; do
  squiggle tsv --reads moved.sam --moves $moves --output $moves.tsv --account $moves.account || fail "--moves $moves"
done
cmp check.tsv plain.tsv || fail "--moves check changes the table: $(head -3 check.account)"
cmp ignore.tsv plain.tsv || fail "--moves ignore changes the table"
awk 'NR == FNR { at[$1, $2] = $3; next } FNR > 1 { ++all; near += ($3 - at[$1, $2]) ^ 2 <= 100 } END { exit !(all > 1000 && near / all > 0.98) }' plain.tsv use.tsv ||
  fail "--moves use: other places: $(head -3 use.account)"
awk -F'\t' -v OFS='\t' '/^@/ { print; next } { for (i = 12; i <= NF; ++i) if ($i ~ /^mv/) { zeros = ""; for (j = 0; j < 800; ++j) zeros = zeros ",0"
  $i = substr($i, 1, 12) zeros substr($i, 13, length($i) - 12 - 1600) } print }' moved.sam >shifted.sam
for moves in check use; do
  squiggle tsv --reads shifted.sam --moves $moves --output shifted.tsv --account shifted.account
  [ "$(wc -l <shifted.tsv)" = 1 ] || fail "--moves $moves takes shifted moves: $(cut -f1 shifted.tsv | sort -u | wc -l) reads"
done
sed 's/mv:B:c,1,1,1/mv:B:c,1,1,0/' moved.sam >broken.sam
squiggle tsv --reads broken.sam --output broken.tsv --account broken.account
[ "$(grep -c bad_moves broken.account)" = "$reads" ] || fail "moves of other bases: $(head -3 broken.account)"
with_tags "dx:i:1" >duplex.sam
squiggle tsv --reads duplex.sam --output duplex.tsv --account duplex.account
[ "$(grep -c duplex duplex.account)" = "$reads" ] || fail "duplex reads: $(head -3 duplex.account)"

# Against the truth: with blocks of one sample the moves of the simulator say where each base begins, and those of five are what a basecaller would write.
# Of all k-mers (9-mers, whose eighth base's block is theirs) as many begin within five samples of the truth with --moves use as with check, or more.
for stride in 1 5; do
  run simulate --reference reference.fa --pore r10 --reads 40 --mean-length 2500 --mean-dwell 10 --seed 8 --moves --move-stride $stride --output-prefix stride$stride || exit 1
done
cmp stride1.blow5 stride5.blow5 || fail "the signal depends on the moves' stride"
gzip -dc stride1.fastq.gz | awk -F'\t' 'NR % 4 == 1 { ts = 0; mv = ""; for (i = 2; i <= NF; ++i) { if ($i ~ /^ts:i:/) ts = substr($i, 6); if ($i ~ /^mv:B:c,/) mv = substr($i, 8) }
  n = split(mv, move, ","); base = 0; for (i = 2; i <= n; ++i) if (move[i] == 1) { if (base >= 7) print substr($1, 2) "\t" base - 7 "\t" ts + move[1] * (i - 2); ++base } }' >truth.txt
true_share() { awk -F'\t' 'NR == FNR { at[$1, $2] = $3; ++all; next } FNR > 1 && $3 != "." { d = $3 - at[$1, $2]; near += d <= 5 && d >= -5 } END { printf "%.5f", near / all }' truth.txt "$1"; }
for moves in check use; do
  run resquiggle --signal stride5.blow5 --reads stride5.fastq.gz --moves $moves --max-bad-reads 1 --output true_$moves.tsv 2>>messages || fail "--moves $moves on reads of R10"
done
echo "k-mers within 5 samples of the truth: $(true_share true_check.tsv) with check, $(true_share true_use.tsv) with use"
awk -v check="$(true_share true_check.tsv)" -v use="$(true_share true_use.tsv)" 'BEGIN { exit !(use >= check && check > 0.8) }' || fail "--moves use is less accurate than check: $(true_share true_use.tsv), $(true_share true_check.tsv)"

# Alignments without tags beside FASTQ with them: the same bytes as with the tags in the alignments.
run simulate --reference reference.fa --reads 30 --mean-length 1500 --seed 6 --split-share 0.5 --adapter ACGTTGCAACGTTGCAACGTTGCA --moves --output-prefix s || exit 1
run map --reference reference.fa --reads s.fastq.gz --keep-tags all --sort --output tagged.bam && run map --reference reference.fa --reads s.fastq.gz --sort --output untagged.bam || exit 1
for moves in check use; do
  aligned() { run "$1" --signal s.blow5 --reference reference.fa --moves $moves --max-bad-reads 1 --account "$2.account" "${@:3}" 2>>messages; }
  aligned eventalign bam --alignments tagged.bam --output bam.tsv && aligned eventalign fastq --alignments untagged.bam --reads s.fastq.gz --output fastq.tsv || fail "eventalign --moves $moves"
  cmp bam.tsv fastq.tsv || fail "eventalign --moves $moves: other events with the tags in FASTQ than in the alignments"
  [ "$(cut -f4 fastq.tsv | sort -u | wc -l)" -ge 25 ] && ! grep -q no_signal fastq.account || fail "eventalign --moves $moves: split reads are not found by tags of FASTQ: $(sort fastq.account | head -3)"
  aligned methylation bam --alignments tagged.bam --output bam.tsv && aligned methylation fastq --alignments untagged.bam --reads s.fastq.gz --output fastq.tsv || fail "methylation --moves $moves"
  cmp bam.tsv fastq.tsv || fail "methylation --moves $moves: other sites with the tags in FASTQ than in the alignments"
done
aligned methylation fastq --alignments untagged.bam --reads s.fastq.gz --compat f5c --output fastq.tsv
grep -q no_signal fastq.account || fail "--compat f5c looks at the tags of FASTQ: $(head -3 fastq.account)"

data=$shared/data/modern_real
if [ -d "$data" ] && command -v samtools >/dev/null; then
  # near BAM TABLE OFFSET IS_RNA WITHIN: of each read in a table of resquiggle the share of k-mers that begin within so many samples of their base's
  # block by the moves.
  near() {
    samtools view -F 0x900 "$1" 2>/dev/null | awk -v offset="$3" -v rna="$4" -v within="$5" '
      FILENAME == "-" { ts = 0; sp = 0; mv = ""
        for (i = 12; i <= NF; ++i) { if ($i ~ /^ts:i:/) ts = substr($i, 6); if ($i ~ /^sp:i:/) sp = substr($i, 6); if ($i ~ /^mv:B:c,/) mv = substr($i, 8) }
        n = split(mv, move, ","); base = 0
        for (i = 2; i <= n; ++i) if (move[i] == 1) at[$1, base++] = sp + ts + move[1] * (i - 2)
        bases[$1] = base; next }
      FNR > 1 && $3 != "." { b = $2 + offset; if (rna) b = bases[$1] - 1 - b; d = $3 - at[$1, b]; if (d < 0) d = -d; ++all[$1]; good[$1] += d <= within }
      END { for (read in all) print read, good[read], all[read], good[read] / all[read] }' - "$2"
  }
  total() { awk '{ good += $2; all += $3 } END { printf "%.4f", (all > 0 ? good / all : 0) }'; }
  # centred BAM TABLE: the share of all k-mers within 10 samples of their block, but for the median of the set, by which the network is late or early.
  centred() {
    samtools view -F 0x900 "$1" 2>/dev/null | awk '
      FILENAME == "-" { ts = 0; mv = ""
        for (i = 12; i <= NF; ++i) { if ($i ~ /^ts:i:/) ts = substr($i, 6); if ($i ~ /^mv:B:c,/) mv = substr($i, 8) }
        n = split(mv, move, ","); base = 0
        for (i = 2; i <= n; ++i) if (move[i] == 1) at[$1, base++] = ts + move[1] * (i - 2)
        next }
      FNR > 1 && $3 != "." { ++count[$3 - at[$1, $2 + 7]]; ++all }
      END { for (median = -60; median < 60; ++median) if ((sum += count[median]) >= all / 2) break
            for (d = median - 10; d <= median + 10; ++d) near += count[d]
            printf "%.4f %d", near / all, median }' - "$2"
  }
  # The share of all k-mers of the three sets; of each 85 to 87 %.
  for moves in check use; do
    : >all_shares
    for set in r10_canonical r10_5mc r10_5khz; do
      run resquiggle --signal "$data/$set.pod5" --reads "$data/$set.bam" --moves $moves --output table --account account --max-bad-reads 1 2>/dev/null || fail "$set"
      near "$data/$set.bam" table 7 0 10 >shares
      cat shares >>all_shares
      failed=$(($(wc -l <account) - 1))
      echo "$set --moves $moves: $(wc -l <shares) written, $failed not, $(total <shares) of k-mers within 10 samples"
      read -r share median < <(centred "$data/$set.bam" table; echo)
      echo "$set --moves $moves: $share of k-mers within 10 samples, but for the median of $median"
      awk -v share="$share" 'BEGIN { exit !(share >= 0.87) }' || fail "$set --moves $moves: $share of the k-mers lie within 10 samples of the moves, but for the median of $median"
      awk -v share="$(total <shares)" 'BEGIN { exit !(share >= 0.85) }' || fail "$set --moves $moves: $(total <shares) of the k-mers lie within 10 samples of the moves"
      [ "$failed" = 0 ] || [ "$set $failed $(tail -1 account | cut -f3)" = "r10_5mc 1 low_average_emission" ] || fail "$set --moves $moves: $failed reads are not aligned"
    done
    awk -v share="$(total <all_shares)" 'BEGIN { exit !(share >= 0.86) }' || fail "--moves $moves: $(total <all_shares) of all k-mers lie within 10 samples of the moves"
  done
  # Short direct RNA, concatemers among it: what lies elsewhere is not written; with the moves nearly all are placed.
  for moves in check use; do
    least=$([ $moves = use ] && echo 175 || echo 170)
    run resquiggle --signal "$data/rna004_trna.pod5" --reads "$data/rna004_trna.bam" --min-recalib-events 50 --moves $moves --output table --account account --max-bad-reads 1 2>/dev/null
    near "$data/rna004_trna.bam" table 2 1 50 >shares
    written=$(wc -l <shares) wrong=$(awk '$4 < 0.5' shares | wc -l)
    echo "rna004_trna --moves $moves: $written written, $wrong with less than half of their k-mers within 50 samples"
    [ "$written" -ge $least ] && [ "$wrong" -le 3 ] || fail "rna004_trna --moves $moves: $written written, $wrong wrong"
  done
  for moves in check use; do
    run resquiggle --signal "$data/split_parent.pod5" --reads "$data/split_children.bam" --moves $moves --output table --account account --max-bad-reads 1 2>/dev/null
    near "$data/split_children.bam" table 7 0 10 >shares
    [ "$(wc -l <shares)" = 4 ] || fail "split_children --moves $moves: $(wc -l <shares) of 4 ($(tail -4 account))"
    awk -v share="$(total <shares)" 'BEGIN { exit !(share >= 0.86) }' || fail "split_children --moves $moves: $(total <shares) within 10 samples"
    echo "split_children --moves $moves: $(wc -l <shares) written, $(total <shares) within 10 samples"
  done
  # The older convention of sp: 10 samples that dorado had cut, by version, and by the start in time.
  samtools view -h "$data/split_children.bam" 2>/dev/null | awk -F'\t' -v OFS='\t' '/^@/ { if (!/^@PG/) print; next } FNR > 0 && !said++ { print "@PG", "ID:basecaller", "PN:dorado", "VN:1.3.0" }
    { for (i = 12; i <= NF; ++i) if ($i ~ /^sp:i:/) $i = "sp:i:" (substr($i, 6) >= 10 ? substr($i, 6) - 10 : substr($i, 6)); print $0, "sv:Z:pa" }' >older.sam
  run resquiggle --signal "$data/split_parent.pod5" --reads older.sam --output older --max-bad-reads 1 2>/dev/null
  # A child at the very beginning has no older form.
  first=$(samtools view "$data/split_children.bam" 2>/dev/null | awk '{ for (i = 12; i <= NF; ++i) if ($i ~ /^sp:i:/ && substr($i, 6) < 10) print $1 }')
  run resquiggle --signal "$data/split_parent.pod5" --reads "$data/split_children.bam" --output newer --max-bad-reads 1 2>/dev/null
  cmp <(grep -vF "${first:-none}" older) <(grep -vF "${first:-none}" newer) || fail "the older convention of sp"
else
  echo "SKIPPED: real reads ($data or samtools is not there)"
fi
[ $failures = 0 ] && echo "all good"
exit $((failures > 0))
