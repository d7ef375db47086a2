#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Commands of other programs, as people type them, behind 'sluice': most work, and the others are answered in one line that works when copied. The
# table is tables/peers.txt.
#   peers.sh SLUICE [LINES THAT MATCH]
set -uo pipefail
. "$(dirname "$(realpath "$0")")/parts/typed_commands.sh"
mv reads.fastq.gz reads.fq.gz
sed -n '1~4s/^@/>/p; 2~4p' reads.fq >reads.fasta
run index ref.fa -o ref.mmi
run map ref.fa reads.fq -o reads.sam
run map ref.fa reads.fq -o overlaps.paf
run overlap --dual reads.fq -o ava.paf
sed 's/^>[^ ]*/&/' ref.fa >layout.fa
{ for i in 1 2 3; do echo ">w$i"; sed -n '2p' ref.fa | cut -c1-60; done; } >windows.fa
run methylation --signal reads.blow5 --alignments reads.bam --reference ref.fa --output calls.tsv --modbam mod.bam --frequency freq.tsv
mkdir tmp

works=0 answered=0
sluice() { "$sluice" "$@"; }
for program in minimap2 samtools f5c call-methylation meth-freq nanopolish calculate_methylation_frequency.py racon medaka_consensus modkit dorado bwa mummer spoa \
  CONSENT-correct abpoa uncalled rawhash2 readfish; do
  eval "$program() { \"\$sluice\" $program \"\$@\"; }"
done
tried() { # COMMAND: in $code, err
  rm -rf out.* # so that nothing is in the way
  eval "$1" >stdout 2>err </dev/null
  code=$?
}
while IFS= read -r line; do
  case $line in '' | '#'*) continue ;; esac
  [[ $line =~ $only ]] || continue
  command=${line%% => *}
  if [ "$command" = "$line" ]; then
    tried "$command"
    if [ $code = 0 ]; then works=$((works + 1)); else fail "'$command' ends with $code: $(tail -3 err)"; fi
    continue
  fi
  rest=${line#* => } text=${rest%% => *} right=${rest#* => }
  tried "$command"
  [ $code != 0 ] || fail "'$command' is not refused"
  [ "$(wc -l <err)" = 1 ] || fail "'$command' is answered in $(wc -l <err) lines: $(head -5 err)"
  if grep -qF -- "$text" err; then answered=$((answered + 1)); else fail "'$command': nobody says '$text': $(head -3 err)"; fi
  tried "$right"
  [ $code = 0 ] || fail "'$right', which is the answer to '$command', ends with $code: $(tail -3 err)"
done <"$table"
echo "$works commands work as they are, $answered are answered"
[ -n "$only" ] || [ $((works * 5)) -ge $(((works + answered) * 4)) ] || fail "fewer than 80 % work as they are"
echo "$failures failures"
[ $failures = 0 ]
