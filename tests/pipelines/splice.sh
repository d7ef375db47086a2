#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# RNA and cDNA over introns: the lines of minimap2 2.31 (and of 2.24) that were recorded in the shared sets, those of the program itself where one of these
# releases is installed, the same bytes however it ran, and options that do not fit.
#   splice.sh SLUICE MAKE_TEST_INPUT SHARED_DIR
set -euo pipefail
sluice=$1 make_test_input=$2 shared=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
map() { "$sluice" run map --quiet "$@"; }
lines() { # FILE: without a header
  if [[ $1 == *.gz ]]; then gzip -dc "$1"; else cat "$1"; fi | grep -v '^@' || true
}
compare() { # NAME EXPECTED_LINES "OPTIONS OF SLUICE" REFERENCE READS
  # shellcheck disable=SC2086
  map $3 --reference "$4" --reads "$5" --output now.txt
  lines now.txt >now.lines
  lines "$2" >expected.lines
  cmp now.lines expected.lines || fail "$1: other lines than minimap2's ($3)"
  [ -s now.lines ] || fail "$1: no lines ($3)"
  echo "minimap2's lines: $1, $3 ($(wc -l <now.lines))"
}

"$make_test_input" spliced_genome 1 24 >genome.fa
"$make_test_input" spliced_reads 1 24 150 60000 >noisy.fa
"$make_test_input" spliced_reads 1 24 150 5000 >clean.fa
"$make_test_input" spliced_junctions 1 24 >junctions.bed

# ---- the same bytes
map --preset splice --format sam --cs --reference genome.fa --reads noisy.fa --output all.sam
grep -v '^@' all.sam >all.lines
[ "$(cut -f 6 all.lines | grep -c N)" -gt 80 ] || fail "few introns are found"
for option in "--threads 1" "--threads 7" "--batch-work 1" "--executor serial" "--device cpu" "--max-intron-len 200000" cdna; do
  preset=splice
  [ "$option" != cdna ] || preset=cdna option=
  # shellcheck disable=SC2086
  map --preset $preset --format sam --cs --reference genome.fa --reads noisy.fa --output now.sam $option
  grep -v '^@' now.sam | cmp - all.lines || fail "$option gives other bytes"
done
echo "same bytes: threads, batches, executor"

# ---- introns: a line for each of each read, and a table of them; the table is what the lines add up to, and known introns are told from others
map --preset splice --reference genome.fa --reads noisy.fa --output beside.paf --junction-lines lines.bed --junctions table.bed --junc-bed junctions.bed
[ "$(wc -l <lines.bed)" -gt 150 ] || fail "few introns are written: $(wc -l <lines.bed)"
cut -f 1-3,5,6 lines.bed | sort | uniq -c | awk -v OFS='\t' '{ print $2, $3, $4, $5, $6, $1 }' | sort >counted
cut -f 1-3,5-7 table.bed | sort | cmp - counted || fail "the table is not what the lines add up to"
sort -c -k1,1 -k2,2n -k3,3n table.bed || fail "the table is not sorted"
cut -f 2,3,6 junctions.bed | sort >known
awk -F"\t" -v OFS="\t" '$8 == 1 { print $2, $3, $6 }' table.bed | sort | comm -12 - known | wc -l >right
[ "$(cat right)" = "$(awk -F'\t' '$8 == 1' table.bed | wc -l)" ] && [ "$(cat right)" -gt 20 ] || fail "known introns: $(cat right)"
awk -F"\t" -v OFS="\t" '$8 == 0 { print $2, $3, $6 }' table.bed | sort | comm -12 - known | cmp - /dev/null || fail "introns that are known are called new"
awk -F'\t' '$6 == "+" && $4 == "GT-AG" { print $2 + 1 }' table.bed | head -5 | while read -r first; do
  [ "$(grep -v '>' genome.fa | tr -d '\n' | cut -c "$first-$((first + 1))")" = GT ] || fail "the intron at $first does not begin with GT"
done
map --preset splice --format sam --reference genome.fa --reads noisy.fa --output beside.sam --junction-lines again.bed.gz --junctions again.tsv.gz --junc-bed junctions.bed --threads 1 --batch-work 1
gzip -dc again.bed.gz | cmp - lines.bed || fail "other lines by one thread"
gzip -dc again.tsv.gz | cmp - table.bed || fail "another table by one thread"
# A second run over what the first one has found: the table and the lines are the same to it.
"$make_test_input" spliced_reads 1 24 400 5000 >many.fa
map --preset splice --cigar --reference genome.fa --reads many.fa --output first.paf --junctions many.bed --junction-lines many_lines.bed
for pass1 in many.bed many_lines.bed; do
  map --preset splice --cigar --reference genome.fa --reads many.fa --output second.paf --pass1 $pass1
  [ -e passed.paf ] || cp second.paf passed.paf
  cmp second.paf passed.paf || fail "--pass1 $pass1 gives other lines"
done
[ "$(diff first.paf passed.paf | grep -c '^>')" -gt 0 ] || fail "a second pass changes nothing"
# Where reads call an intron one of either strand, the better of them counts, whichever comes first.
{ awk -F'\t' -v OFS='\t' '{ $5 = 1; $6 = $6 == "+" ? "-" : "+"; print }' many_lines.bed; cat many_lines.bed; } >either.bed
map --preset splice --cigar --reference genome.fa --reads many.fa --output second.paf --pass1 either.bed
cmp second.paf passed.paf || fail "--pass1: an unusual intron hides the usual one at its place"
echo "introns: lines, table, second pass"

# ---- both passes in one run: the same as two of them, and with a third of the introns annotated
awk 'NR % 3 == 0' junctions.bed >third.bed
while read -r options; do
  # shellcheck disable=SC2086
  map --preset splice $options --reference genome.fa --reads many.fa --output first.out --junction-lines first.bed
  # shellcheck disable=SC2086
  map --preset splice $options --reference genome.fa --reads many.fa --output second.out --junctions second.tsv --pass1 first.bed
  for form in "" "--threads 1" "--batch-work 1"; do
    # shellcheck disable=SC2086
    map --preset splice $options --reference genome.fa --reads many.fa --output both.out --junctions both.tsv --two-pass $form
    cmp <(grep -v '^@PG' both.out) <(grep -v '^@PG' second.out) || fail "--two-pass $options $form gives other lines than two runs"
    cmp both.tsv second.tsv || fail "--two-pass $options $form has other introns than the second of two runs"
  done
  [ "$(diff first.out second.out | grep -c '^>')" -gt 1 ] || fail "a second pass changes nothing: $options"
done <<'END'
--cigar
--format sam --cs --md
--format sam --ds --soft-clip --secondary-ratio 0.3
--cigar --cs-long --jump-bed third.bed --jump-min-match 5
--format bed
END
map --preset splice --reference genome.fa --reads many.fa --output plain.paf --two-pass
cmp <(cut -f 1-12 plain.paf) <(cut -f 1-12 passed.paf) || fail "--two-pass without --cigar gives other places"
# Reads that wait on the disk may be more than a file may have.
status=0
(ulimit -f 1; "$sluice" run map --quiet --preset splice --reference genome.fa --reads many.fa --two-pass --output limited.sam 2>&1 | cat >said; exit "${PIPESTATUS[0]}") || status=$?
[ $status = 4 ] && grep -q "File too large (raise the limit of 'ulimit -f'" said || fail "--two-pass with ulimit -f ends with $status: $(cat said)"
echo "both passes in one run: the lines of two"

# ---- introns that end behind their contig, as far as a number goes
while IFS=$'\t' read -r contig begin _; do printf '%s\t%s\t2147483647\n' "$contig" "$begin"; done <junctions.bed >far.bed
cat junctions.bed >>far.bed
for known in --jump-bed --pass1; do
  for bed in junctions far; do
    map --preset splice --format sam --reference genome.fa --reads clean.fa $known $bed.bed --output $bed.sam
    grep -v '^@' $bed.sam >$bed.lines
  done
  cmp junctions.lines far.lines || fail "$known: introns that leave the contig change lines"
done
echo "introns that leave their contig change nothing"

# ---- options that do not fit
expect_error() { # CODE TEXT OPTIONS...
  local code=$1 text=$2 got=0
  shift 2
  rm -f bad.paf
  map --output bad.paf --cigar --reference genome.fa --reads clean.fa "$@" 2>errors || got=$?
  [ "$got" = "$code" ] || { cat errors >&2; fail "exit code $got instead of $code: $*"; }
  grep -q -- "$text" errors || { cat errors >&2; fail "no '$text' in the message: $*"; }
  [ ! -e bad.paf ] || fail "an output in spite of the error: $*"
}
expect_error 2 "--long-gap-open, the cost of an intron" --preset splice --long-gap-open 3
expect_error 2 "rmq knows no introns" --preset splice --rmq yes
expect_error 2 "--max-intron-len is for splice" --max-intron-len 1000
expect_error 2 "--two-pass finds the introns that --pass1 would give" --preset splice --two-pass --pass1 junctions.bed
expect_error 2 "eqx does not go with" --preset splice --two-pass --eqx
expect_error 2 "2.24 knows no --two-pass" --preset splice --two-pass --compat minimap2=2.24
expect_error 2 "no_such.bed" --preset splice --junc-bed no_such.bed
printf 'genome\tten\t20\n' >bad.bed
expect_error 4 "bad.bed', line 1: it has 'ten' where a position belongs" --preset splice --junc-bed bad.bed
printf 'other\t10\t20\n' >bad.bed
expect_error 4 "bad.bed' hold no intron on a contig of the reference" --preset splice --junc-bed bad.bed
printf 'genome\t10\n' >bad.bed
expect_error 4 "bad.bed', line 1: it has no start and end" --preset splice --junc-bed bad.bed
printf 'genome\t10\t100\tx\t0\t+\t10\t100\t0\t2\t20,20,\t0,90,\n' >bad.bed
expect_error 4 "bad.bed', line 1: it has blocks that do not lie in its interval" --preset splice --junc-bed bad.bed
contig=$(head -n 1 genome.fa | cut -c 2- | cut -d ' ' -f 1)
printf '%s\t10\t-\tD\t3\n%s\t20\tx\tD\t3\n' "$contig" "$contig" >bad.tsv
expect_error 4 "bad.tsv', line 2: it has 'x' where + or - belongs" --preset splice --spsc bad.tsv
printf '%s\t10\t-\tQ\t3\n' "$contig" >bad.tsv
expect_error 4 "bad.tsv', line 1: it has 'Q' where D or A belongs" --preset splice --spsc bad.tsv
echo "wrong options have an error each"

# What fits in part gives what fits, and a warning of the rest.
expect_warning() { # TEXT OPTIONS...
  local text=$1
  shift
  map --output some.paf --cigar --reference genome.fa --reads clean.fa --preset splice "$@" 2>errors || fail "refused: $*"
  grep -q -- "$text" errors || { cat errors >&2; fail "no '$text' among the warnings: $*"; }
}
printf '%s\t10\t20\nother\t10\t20\nother\t30\t40\n' "$contig" >some.bed
expect_warning "2 of 3 lines of junctions 'some.bed' are on contigs that the reference does not have" --junc-bed some.bed
printf '%s\t10\t20\n%s\t30\t30\n%s\t100\t1000000000\n' "$contig" "$contig" "$contig" >some.bed
for option in --junc-bed --jump-bed --pass1; do
  expect_warning "1 of 3 lines of junctions 'some.bed' have no base" $option some.bed
  expect_warning "1 of 3 lines of junctions 'some.bed' reach behind the end of their contig" $option some.bed
done
printf '%s\t10\t-\tD\t3\nother\t10\t-\tD\t3\n%s\t1000000000\t-\tD\t3\n' "$contig" "$contig" >some.tsv
expect_warning "2 of 3 lines of splice scores 'some.tsv' are on contigs, or at places of them, that the reference does not have" --spsc some.tsv
echo "lines that fit nothing are warned of"

# ---- recorded lines
set=$shared/data/splice
if [ -d "$set" ]; then
  while IFS='|' read -r expected reads ours; do
    folder=$(dirname "$expected")
    case $folder in
      expected) reference=$set/genome.fa reads=$set/$reads.fa here=$set ;;
      difficult) reference=$set/difficult/genome.fa.gz reads=$set/difficult/$reads.fa.gz here=$set/difficult ;;
      *) reference=$set/$folder/genome.fa reads=$set/$folder/$reads.fa here=$set/$folder ;;
    esac
    compare "$expected" "$set/$expected" "${ours//@/$here/}" "$reference" "$reads"
  done <<'END'
expected/splice.paf.gz|reads|--preset splice --cigar --cs
expected/splice_hq.paf.gz|reads|--preset splice-hq --cigar --cs
expected/splice_uf.paf.gz|reads|--preset splice --transcript-strand forward --cigar
expected/splice_ur.paf.gz|reads|--preset splice --transcript-strand reverse --cigar
expected/splice_un.paf.gz|reads|--preset splice --transcript-strand none --cigar
expected/splice_J0.paf.gz|reads|--preset splice --splice-model 0 --cigar
expected/splice_J0_C5.paf.gz|reads|--preset splice --splice-model 0 --noncan 5 --no-splice-flank --cigar
expected/splice.sam.gz|reads|--preset splice --format sam
expected/splice_md_Y.sam.gz|reads|--preset splice --transcript-strand forward --k 14 --format sam --md --soft-clip
expected/splice_hq_secseq.sam.gz|reads|--preset splice-hq --format sam --secondary-seq --secondary-ratio 0.3
expected/splice_hq_ds.paf.gz|reads|--preset splice-hq --cigar --ds
expected/splice_cslong.paf.gz|reads|--preset splice --cigar --cs-long
expected/junc_bed12.paf.gz|reads|--preset splice --cigar --junc-bed @genes.bed12
expected/junc_bed6_hq.paf.gz|reads|--preset splice-hq --cigar --junc-bed @junctions.bed6 --junc-bonus 4
expected/spsc.paf.gz|reads|--preset splice --cigar --spsc @scores.tsv
expected/spsc_hq.paf.gz|reads|--preset splice-hq --transcript-strand forward --cigar --spsc @scores.tsv --spsc-scale 1 --spsc0 3
expected/jump.paf.gz|reads|--preset splice --cigar --jump-bed @genes.bed12
expected/jump_pass1_hq.paf.gz|reads|--preset splice-hq --cigar --jump-bed @genes.bed12 --pass1 @junctions.bed6
expected/G3k.paf.gz|reads|--preset splice --max-intron-len 3000 --cigar
expected/endbonus_hq.paf.gz|reads|--preset splice-hq --end-bonus 10 --cigar
expected/end_seed_pen.paf.gz|reads|--preset splice --end-seed-pen 10 --cigar
expected/all_chains.paf.gz|reads|--preset splice --all-chain --cigar
expected/zdrop40.paf.gz|reads|--preset splice --z-drop 40 --z-drop-inv 40 --cigar
expected/plain_splice.paf.gz|reads|--splice --cigar
expected/v2.24_splice.paf.gz|reads|--preset splice --compat minimap2=2.24 --cigar --cs
difficult/splice.paf.gz|reads|--preset splice --cigar --cs
difficult/zdrop40.paf.gz|reads|--preset splice --z-drop 40 --z-drop-inv 40 --cigar
difficult/junc_bed6.paf.gz|reads|--preset splice --cigar --junc-bed @junctions.bed6
difficult/spsc_hq.paf.gz|reads|--preset splice-hq --cigar --spsc @scores.tsv
difficult/endbonus_jump_hq.paf.gz|reads|--preset splice-hq --cigar --end-bonus 15 --jump-bed @genes.bed12
difficult/short_jump.paf.gz|short|--preset splice --cigar --jump-bed @junctions.bed6
gate/jump.paf|reads|--preset splice --cigar --cs --jump-bed @junction.bed
END
  map --preset splice --reference "$set/genome.fa" --reads "$set/reads.fa" --output now.paf --junction-lines now.bed
  gzip -dc "$set/expected/write_junc.bed.gz" | cmp - now.bed || fail "expected/write_junc.bed.gz: other lines than minimap2's"
  echo "minimap2's lines: expected/write_junc.bed.gz ($(wc -l <now.bed))"
else
  echo "SKIPPED: no $shared, so the recorded lines were not compared"
fi

# ---- the program itself
version=$(minimap2 --version 2>/dev/null || true)
compat=
[[ $version != 2.24* ]] || compat=minimap2=2.24
# The changes of 2.31 are in its repository from revision 1299 on.
if [[ $version =~ -r([0-9]+) && ${BASH_REMATCH[1]} -ge 1299 ]]; then compat=minimap2=2.31; fi
case $compat in
  ?*) ;;
  *) echo "SKIPPED: no minimap2 2.24 or 2.31, so nothing but recorded lines was compared"; exit 0 ;;
esac
while IFS='|' read -r reads theirs ours; do
  # shellcheck disable=SC2086
  minimap2 -t 1 $theirs genome.fa "$reads.fa" 2>/dev/null >expected.txt
  compare "minimap2 $version $theirs" expected.txt "$ours --compat $compat" genome.fa "$reads.fa"
done <<'END'
noisy|-x splice -c --cs|--preset splice --cigar --cs
clean|-x splice -a|--preset splice --format sam
noisy|-x splice -uf -k14 -a --MD|--preset splice --transcript-strand forward --k 14 --format sam --md
noisy|-x splice -un -c|--preset splice --transcript-strand none --cigar
noisy|-x splice -c -C5 --splice-flank=no --junc-bed junctions.bed|--preset splice --cigar --noncan 5 --no-splice-flank --junc-bed junctions.bed
noisy|-x splice -c --junc-bed either.bed|--preset splice --cigar --junc-bed either.bed
noisy|-x splice|--preset splice
noisy|-x splice -G 2k -c --eqx|--preset splice --max-intron-len 2000 --cigar --eqx
END
# Two runs of it, and one of ours.
case $compat in
  *2.31)
    while IFS='|' read -r theirs ours; do
      # shellcheck disable=SC2086
      minimap2 -t 1 $theirs --write-junc genome.fa many.fa 2>/dev/null >write_junc.bed
      # shellcheck disable=SC2086
      minimap2 -t 1 $theirs --pass1 write_junc.bed genome.fa many.fa 2>/dev/null >expected.txt
      compare "minimap2 $version $theirs, twice" expected.txt "$ours --two-pass" genome.fa many.fa
    done <<'END'
-x splice -c --cs|--preset splice --cigar --cs
-x splice:hq -a --MD|--preset splice-hq --format sam --md
-x splice -uf -k14 -c -j third.bed|--preset splice --transcript-strand forward --k 14 --cigar --jump-bed third.bed
END
    ;;
  *) echo "SKIPPED: no minimap2 2.31, which alone has a second pass" ;;
esac
