#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A run that produces nothing says so: exit code 3 and a line about what became of the reads, unless --allow-empty expects it. The outputs are there,
# complete and empty, and the account leaves no read out.
#   nothing_produced.sh SLUICE
set -uo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

"$sluice" run synthetic_reference --length 40000 --seed 5 --output ref.fa --quiet
"$sluice" run synthetic_reference --length 40000 --seed 6 --output other.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 60 --seed 5 --mean-length 2500 --output-prefix r --quiet
"$sluice" run simulate --reference ref.fa --reads 10 --seed 9 --mean-length 800 --output-prefix stranger --quiet
"$sluice" run index --reference other.fa --output other.index --contigs other.tsv --quiet
# The same reads, without their alignments.
{
  printf '@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:synthetic_1\tLN:40000\n'
  gzip -dc r.fastq.gz | awk -v OFS='\t' 'NR % 4 == 1 { name = substr($1, 2) } NR % 4 == 2 { bases = $1 } NR % 4 == 0 { print name, 4, "*", 0, 0, "*", "*", 0, 0, bases, $1 }'
} >unmapped.sam
: >empty.fastq
: >empty.fa
printf '@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:synthetic_1\tLN:40000\n' >empty.sam
mkdir out

# DESCRIPTION OUTPUTS PATTERN PIPELINE ARGUMENTS...: nothing is produced, and of the lines that say so one matches the pattern.
nothing() {
  local what=$1 outputs=$2 pattern=$3
  shift 3
  timeout 60 "$sluice" run "$@" --quiet >out.txt 2>err.txt
  local code=$?
  [ $code = 3 ] || fail "$what: exit code $code: $(cat err.txt)"
  grep -E '^sluice run: ' err.txt | grep -qiE -e "$pattern" || fail "$what: it does not say '$pattern': $(cat err.txt)"
  for output in $outputs; do [ -e "out/$output" ] || fail "$what: there is no $output"; done
  [ "$(find out -type f | wc -l)" = "$(wc -w <<<"$outputs")" ] || fail "$what: there is also $(find out -type f)"
  rm -rf out && mkdir out
  timeout 60 "$sluice" run "$@" --quiet --allow-empty >out.txt 2>again.txt
  code=$?
  [ $code = 0 ] || fail "$what: exit code $code with --allow-empty: $(cat again.txt)"
  ! grep -qE '^sluice run: ' again.txt || fail "$what: with --allow-empty it says $(cat again.txt)"
  for output in $outputs; do [ -e "out/$output" ] || fail "$what: there is no $output with --allow-empty"; done
  rm -rf out && mkdir out
  echo "$what: $(grep -E '^sluice run: ' err.txt | head -1 | cut -c1-200)"
}
something() { # DESCRIPTION PIPELINE ARGUMENTS...: the same, where there is something to produce
  local what=$1
  shift
  "$sluice" run "$@" --quiet 2>err.txt || fail "$what: exit code $?: $(cat err.txt)"
  rm -rf out && mkdir out
}

calls=(methylation --signal r.blow5 --reads r.fastq.gz --reference ref.fa --output out/calls.tsv --frequency out/frequency.tsv)
something "reads with signal" "${calls[@]}" --alignments r.bam
nothing "signal of other reads" "calls.tsv frequency.tsv" "60 " methylation --signal stranger.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa \
  --output out/calls.tsv --frequency out/frequency.tsv
grep -q no_signal err.txt || fail "signal of other reads: the reason is not named: $(cat err.txt)"
nothing "alignments of other reads" "calls.tsv calls.bam calls.bam.bai" "" methylation --signal r.blow5 --reads r.fastq.gz --alignments stranger.bam --reference ref.fa \
  --output out/calls.tsv --modbam out/calls.bam
nothing "alignments that map nowhere" "calls.tsv frequency.tsv" "60 " "${calls[@]}" --alignments unmapped.sam
grep -q unmapped err.txt || fail "alignments that map nowhere: the reason is not named: $(cat err.txt)"
nothing "no alignments" "calls.tsv frequency.tsv" "" "${calls[@]}" --alignments empty.sam
nothing "a mapping quality that none has" "calls.tsv frequency.tsv" "" "${calls[@]}" --alignments r.bam --min-mapq 255

something "reads of the reference" map --reference ref.fa --reads r.fastq.gz --output out/hits.paf
for format in paf sam bam; do
  nothing "reads of another genome ($format)" hits "60 " map --reference other.fa --reads r.fastq.gz --format $format --output out/hits
done
nothing "reads of another genome, to an index" hits "60 " map --reference other.index --reads r.fastq.gz --output out/hits
nothing "reads of another genome, with signal" calls.tsv "of 60 reads" methylation_from_reads --signal r.blow5 --reads r.fastq.gz --reference other.fa --output out/calls.tsv
something "reads of the targets" polish --targets ref.fa --reads r.fastq.gz --output out/polished.fa
nothing "targets of another genome" polished.fa "" polish --targets other.fa --reads r.fastq.gz --output out/polished.fa
something "reads with matches" seed --reference ref.fa --reads r.fastq.gz --min-length 31 --output out/seeds.txt
nothing "reads without matches" seeds.txt "60 " seed --reference other.fa --reads r.fastq.gz --min-length 31 --output out/seeds.txt

nothing "no windows" consensus.fa "" consensus --windows empty.fa --output out/consensus.fa

# Where something is produced of a few reads only, --quiet says so, too.
"$sluice" run simulate --reference other.fa --reads 4 --seed 8 --mean-length 2500 --output-prefix few --quiet
"$sluice" run map --reference other.fa --reads r.fastq.gz --reads few.fastq.gz --output out/hits --quiet 2>err.txt || fail "few reads map: exit code $?: $(cat err.txt)"
grep -q '^warning: only 4 of 64 reads mapped' err.txt || fail "few reads map: --quiet does not say it: $(cat err.txt)"
[ "$(wc -l <err.txt)" = 1 ] || fail "few reads map: --quiet says more than the warning: $(cat err.txt)"
rm -rf out && mkdir out

# A file of reads without any is named, and the run goes on.
nothing "no reads to compare" overlaps.paf "" overlap --reads empty.fastq --output out/overlaps.paf
nothing "no reads to correct" corrected.fa "" correct --reads empty.fastq --output out/corrected.fa
grep -q "empty.fastq' is empty" err.txt || fail "no reads to correct: the file is not named: $(cat err.txt)"
nothing "no reads to compare with" overlaps.paf "" overlap --reads r.fastq.gz --reference empty.fa --output out/overlaps.paf
nothing "no reads to map" hits.paf "" map --reference ref.fa --reads empty.fastq --output out/hits.paf
grep -q "^warning: .*'empty.fastq' is empty" again.txt || fail "no reads to map: the file is not named: $(cat again.txt)"
nothing "no reads to seed" seeds.txt "" seed --reference ref.fa --reads empty.fastq --output out/seeds.txt
something "a folder with an empty file" map --reference ref.fa --reads r.fastq.gz --reads empty.fastq --output out/hits.paf
# Targets can't be empty.
mistake() { # DESCRIPTION PIPELINE ARGUMENTS...
  local what=$1
  shift
  "$sluice" run "$@" --quiet --allow-empty 2>err.txt
  local code=$?
  [ $code = 4 ] || fail "$what: exit code $code: $(cat err.txt)"
  grep -q "'empty.fastq' is empty" err.txt || fail "$what: the file is not named: $(cat err.txt)"
  [ -z "$(ls -A out)" ] || fail "$what: it left $(ls -A out)"
}
mistake "no targets to polish" polish --targets empty.fastq --reads r.fastq.gz --output out/polished.fa

# ---- the account names every row, or says how many it cannot name
for alignments in unmapped.sam r.bam; do
  "$sluice" run "${calls[@]}" --alignments $alignments --min-mapq 200 --account account.tsv --report report.json --allow-empty --quiet 2>err.txt ||
    fail "the account of $alignments: exit code $?: $(cat err.txt)"
  unnamed=$(gzip -dc r.fastq.gz | awk 'NR % 4 == 1 { print substr($1, 2) }' | grep -c -v -w -F -f <(cut -f 1 account.tsv | tail -n +2))
  if [ "$unnamed" != 0 ]; then
    grep -qw "$unnamed" account.tsv || fail "the account of $alignments leaves $unnamed reads out: $(head -5 account.tsv)"
  fi
  rm -rf out && mkdir out
done
echo "$failures failures"
[ $failures = 0 ]
