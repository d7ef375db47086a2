#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Sorted BAM and CRAM against samtools: the same records in the same order, the same regions through the index, whatever memory there is; and what
# is left behind by runs that fail. Without samtools: tests/unit/files/record_writer compares with a brute-force sort.
#   sort.sh SLUICE MAKE_ALIGNMENTS MAKE_TEST_INPUT
set -uo pipefail
sluice=$1 make_alignments=$2 make_test_input=$3
command -v samtools >/dev/null || { echo "SKIPPED: there is no samtools"; exit 77; }
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
view() { samtools view --no-PG "$@" 2>/dev/null; }
same() { # DESCRIPTION A B
  cmp -s "$2" "$3" || fail "$1"
}
runs_of() { sed -n 's/.*"sorted runs on the disk": *\([0-9]*\).*/\1/p' "$1" | head -1; }

# ---- the order of samtools, also with ties, unmapped and unplaced records; spills change no byte
"$make_alignments" ties.bam 20000 300 3 2000 3 || fail "make_alignments"
"$make_alignments" spread.bam 6000 5000 4 3000000 4 || fail "make_alignments"
printf '@SQ\tSN:c\tLN:1000\na\t4\t*\t100\t0\t*\t*\t0\t0\tA\tI\nb\t20\t*\t0\t0\t*\t*\t0\t0\tA\tI\nc\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\nd\t4\t*\t50\t0\t*\t*\t0\t0\tA\tI
f\t16\tc\t1\t0\t1M\t*\t0\t0\tA\tI\ng\t0\tc\t1\t0\t1M\t*\t0\t0\tA\tI\ni\t4\tc\t1\t0\t*\t*\t0\t0\tA\tI\n' >odd.sam
printf '@SQ\tSN:c\tLN:1000\n' >empty.sam
for input in ties.bam spread.bam odd.sam empty.sam; do
  samtools sort -o expected.bam $input 2>/dev/null
  view expected.bam >expected.sam
  for options in "" "--memory 16MiB -t 1" "--memory 16MiB -t 4 --batch-work 20000"; do
    # shellcheck disable=SC2086
    "$sluice" run sort --alignments $input --output sorted.bam $options --report report.json --allow-empty --quiet || fail "sorting $input $options"
    view sorted.bam >sorted.sam
    same "$input $options: the records of samtools sort" sorted.sam expected.sam
    samtools index -o made.bai sorted.bam
    same "$input $options: the index of samtools" made.bai sorted.bam.bai
    [ -e first.bam ] || cp sorted.bam first.bam
    same "$input $options: the bytes" sorted.bam first.bam
    runs=$(runs_of report.json)
    echo "$input $options: ${runs:-0} runs on the disk"
    [[ $input != spread.bam || $options != *memory* || ${runs:-0} -gt 3 ]] || fail "$input $options: no runs on the disk"
  done
  rm first.bam
done
samtools quickcheck sorted.bam || fail "quickcheck"

# ---- all that is legal in SAM; samtools' HTSlib may read U as N
for seed in 1 2 3; do
  "$make_test_input" odd_alignments $seed 2000 >odd.sam
  awk -F'\t' -v OFS='\t' '!/^@/ { gsub(/U/, "T", $10); gsub(/u/, "t", $10) } 1' odd.sam | samtools sort -o expected.bam - 2>/dev/null
  "$sluice" run sort --alignments odd.sam --output sorted.bam --report report.json --quiet || fail "sorting odd alignments"
  same "odd alignments: the records of samtools sort" <(view sorted.bam) <(view expected.bam)
  samtools index -c -o made.csi sorted.bam && same "odd alignments: the index of samtools" made.csi sorted.bam.csi
  grep -q '"rows_out": *2000' report.json || fail "odd alignments: not all rows are in the report"
done

# ---- what BAM can't hold, and mistakes of SAM, are refused by name: no record is lost
refused() { # WORDS, then lines of SAM behind a header with a contig c of 1000 bases
  { printf '@SQ\tSN:c\tLN:1000\n'; printf "$2"; } >wrong.sam
  rm -f x.bam
  "$sluice" run sort --alignments wrong.sam --output x.bam --quiet 2>error.txt
  [ $? = 4 ] && grep -qF "$1" error.txt && [ ! -e x.bam ] || fail "'$2' should be refused with '$1': $(cat error.txt)"
}
refused "contig 'big' has 3000000000 bases" '@SQ\tSN:big\tLN:3000000000\na\t0\tbig\t100\t60\t1M\t*\t0\t0\tA\tI\n'
refused "record 'far' of" 'a\t0\tc\t1\t60\t1M\t*\t0\t0\tA\tI\nfar\t0\tc\t2900000000\t60\t1M\t*\t0\t0\tA\tI\n'
refused "line 2, record 'a': contig 'zz' is not in the header" 'a\t0\tzz\t100\t60\t1M\t*\t0\t0\tA\tI\n'
refused "line 2, record 'a': CIGAR and SEQ are of different lengths (2 and 1 bases)" 'a\t0\tc\t100\t60\t2M\t*\t0\t0\tA\tI\n'
refused "its name has 255 letters" "$(printf 'n%.0s' $(seq 255))\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n"
printf 'a\t0\tc\t100\t60\t1M\t*\t0\t0\tA\tI\n' >bare.sam
"$sluice" run sort --alignments bare.sam --output x.bam --quiet 2>error.txt
[ $? = 4 ] && grep -q "the header has no @SQ lines" error.txt || fail "SAM without a header: $(cat error.txt)"

# ---- regions
"$sluice" run sort --alignments spread.bam --output spread.sorted.bam --memory 16MiB --quiet || fail "sorting spread.bam"
for region in contig_0:1-9000 contig_1:1500000-1500200 contig_3:2999000-3000000 contig_2; do
  view spread.sorted.bam $region | cut -f1 >found
  view spread.bam --expr "rname == \"${region%%:*}\" && !(flag & 4)" | cut -f1,3,4,6 | awk -v region="$region" '
    { split(region, part, /[:-]/); end = $3 - 1; cigar = $4
      while (match(cigar, /^[0-9]+[MD]|^[0-9]+I/)) { n = substr(cigar, 1, RLENGTH - 1); if (substr(cigar, RLENGTH, 1) != "I") end += n; cigar = substr(cigar, RLENGTH + 1) }
      if (part[2] == "" || ($3 <= part[3] && end >= part[2])) print $1 }' >wanted
  same "region $region" <(sort found) <(sort wanted)
  [ -s found ] || fail "region $region is empty"
done

# ---- map --sort is map | samtools sort; CRAM is samtools' CRAM of it
"$sluice" run synthetic_reference --length 60000 --contigs 3 --seed 5 --output ref.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 400 --seed 5 --mean-length 2000 --output-prefix r --quiet
mapped=(--reference ref.fa --reads r.fastq.gz --quiet)
"$sluice" run map "${mapped[@]}" --format bam --output mapped.bam || fail "map"
"$sluice" run map "${mapped[@]}" --format bam --sort --output mapped.sorted.bam || fail "map --sort"
"$sluice" run map "${mapped[@]}" --format cram --sort --output mapped.sorted.cram || fail "map --format cram --sort"
"$sluice" run map "${mapped[@]}" --format cram --output mapped.cram || fail "map --format cram"
samtools sort -o expected.bam mapped.bam 2>/dev/null
same "map --sort" <(view mapped.sorted.bam) <(view expected.bam)
samtools view -H mapped.sorted.bam | grep -q '^@HD.*SO:coordinate' || fail "the header of map --sort"
samtools sort -O cram --reference ref.fa -o expected.cram mapped.bam 2>/dev/null
same "map --format cram --sort" <(view -T ref.fa mapped.sorted.cram) <(view -T ref.fa expected.cram)
samtools view -C -T ref.fa -o unsorted.cram mapped.bam 2>/dev/null
same "map --format cram" <(view -T ref.fa mapped.cram) <(view -T ref.fa unsorted.cram)
samtools index expected.cram
same "a region of CRAM" <(view -T ref.fa mapped.sorted.cram synthetic_2:100-3000) <(view -T ref.fa expected.cram synthetic_2:100-3000)
"$sluice" run sort --alignments mapped.cram --reference ref.fa --output from_cram.bam --quiet || fail "sort from CRAM"
same "sort from CRAM" <(view from_cram.bam | cut -f1-11) <(view expected.bam | cut -f1-11)
"$sluice" run map "${mapped[@]}" --format cram --output - 2>/dev/null | view -T ref.fa - | cmp -s - <(view -T ref.fa mapped.cram) || fail "CRAM to standard output"
"$sluice" run map "${mapped[@]}" --format sam --sort --output x.sam 2>error.txt
[ $? = 2 ] && grep -q "sort is for BAM and CRAM" error.txt || fail "--sort of SAM: $(cat error.txt)"
"$sluice" run index --reference ref.fa --output ref.index --quiet
"$sluice" run map --reference ref.index --reads r.fastq.gz --format cram --output x.cram --quiet 2>error.txt
[ $? = 4 ] && grep -q "can't use the reference" error.txt || fail "CRAM with a reference that is none: $(cat error.txt)"

# ---- a name that no record holds
{ printf '@%s\n' "$(printf 'n%.0s' $(seq 255))"; gzip -dc r.fastq.gz | sed -n 2,4p; gzip -dc r.fastq.gz | sed -n 5,40p; } >long_name.fastq
for form in sam bam cram; do
  rm -f x.$form
  "$sluice" run map --reference ref.fa --reads long_name.fastq --output x.$form --quiet 2>error.txt
  [ $? = 4 ] && grep -q "its name has 255 characters" error.txt && [ ! -e x.$form ] || fail "a name of 255 characters in $form: $(cat error.txt)"
done

# ---- modBAM of sorted alignments has an index
"$sluice" run methylation --signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa --output /dev/null --modbam calls.bam --quiet || fail "methylation"
samtools index -o made.bai calls.bam && same "the index of modBAM" made.bai calls.bam.bai
(view -H r.bam; view r.bam | tac) | samtools view -b -o lies.bam - 2>/dev/null
"$sluice" run methylation --signal r.blow5 --reads r.fastq.gz --alignments lies.bam --reference ref.fa --output /dev/null --modbam lies.calls.bam 2>error.txt || fail "unsorted alignments"
grep -q "not sorted, although" error.txt || fail "modBAM of alignments that are not sorted: $(cat error.txt)"
[ -s lies.calls.bam ] && [ ! -e lies.calls.bam.bai ] || fail "modBAM of alignments that are not sorted has an index"

# ---- inputs that are cut or none
head -c $(($(stat -c %s spread.bam) / 2)) spread.bam >cut.bam
for bad in cut.bam ref.fa nothing.bam; do
  "$sluice" run sort --alignments $bad --output bad.bam --quiet 2>error.txt
  code=$?
  [ $code = 4 ] || [ $code = 2 ] || fail "sorting $bad: exit code $code: $(cat error.txt)"
  grep -q "$bad" error.txt || fail "sorting $bad is not named: $(cat error.txt)"
  [ ! -e bad.bam ] && [ ! -e bad.bam.bai ] || fail "sorting $bad left a file"
done

# ---- a full disk: while runs are written, and while the output is
mkdir small
for size in 2m 14m; do
  mount -t tmpfs -o size=$size tmpfs small 2>/dev/null || { echo "SKIPPED: a full disk (no right to mount a tmpfs here)"; break; }
  "$sluice" run sort --alignments spread.bam --output small/sorted.bam --memory 16MiB --quiet 2>full.txt
  [ $? = 4 ] && grep -q "No space left on device" full.txt || fail "a full disk of $size: $(cat full.txt)"
  [ -z "$(ls -A small)" ] || fail "a full disk of $size: $(ls -A small) is left"
  umount small
done

# ---- an interrupt: a whole file of what had been read, as NAME.partial; two, or a kill: nothing
mkfifo pipe
for signals in INT "INT INT" KILL; do
  rm -rf out && mkdir out
  # The reads come through a pipe that stays open, so that the run can't end by itself.
  env --default-signal=INT "$sluice" run map --reference ref.fa --reads pipe --format bam --sort --output out/sorted.bam --batch-work 2000 --quiet 2>interrupt.txt &
  pid=$!
  exec 9>pipe
  gzip -dc r.fastq.gz >&9
  for signal in $signals; do kill -$signal $pid; done
  exec 9>&-
  wait $pid 2>/dev/null
  code=$?
  case $signals in
    INT) [ $code = 130 ] && samtools quickcheck out/sorted.bam.partial && [ ! -e out/sorted.bam ] || fail "an interrupt: exit code $code, $(ls -A out)" ;;
    *) [ ! -e out/sorted.bam ] && [ ! -e out/sorted.bam.bai ] || fail "signals $signals: $(ls -A out)" ;;
  esac
done

[ $failures = 0 ] && echo "all good"
exit $((failures > 0))
