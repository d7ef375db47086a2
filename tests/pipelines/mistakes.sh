#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What people type by mistake, and what they are told: one line, before any work, in the words of the command line. The table is tables/mistakes.txt.
#   mistakes.sh SLUICE [LINES THAT MATCH]
set -uo pipefail
. "$(dirname "$(realpath "$0")")/parts/typed_commands.sh"
run map ref.fa reads.fq -o overlaps.paf
run methylation --signal reads.blow5 --alignments reads.bam --reference ref.fa --output calls.tsv --modbam mod.bam
run map ref.fa reads.fq -o reads.sam
grep -v '^@' reads.sam >noheader.sam
head -c 2000 reads.bam >truncated.bam
cp ref.fa layout.fa
cp reads.bam other.bam
: >empty.fa
printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' >ref.png
printf '>w1 1\nACGT\n' >windows.fa
mkdir folder
cp reads.fq folder/reads.fq
{ printf 'sample\treads\n'; for i in {1..200}; do printf 's%d\treads.fq\n' "$i"; done; } >samples.tsv
printf 'sample\traeds\na\treads.fq\n' >badcolumn.tsv
printf '[pipeline\nname = "x"\n' >broken.toml
printf '[pipeline]\nname = "x"\n[stages.a]\nuse = "read_raeder"\nparams.path = "reads.fq"\n' >typo.toml
there() { find . -mindepth 1 -not -name before.txt -not -name left | sort; }
there >before.txt

tried=0
while IFS= read -r line; do
  case $line in '' | '#'*) continue ;; esac
  [[ $line =~ $only ]] || continue
  command=${line%% => *} text=${line#* => } sign=
  case $command in [~!]*) sign=${command:0:1} command=${command:1} ;; esac
  arguments=()
  eval "arguments=(${command#sluice})"
  [ -z "$sign" ] || arguments+=(--quiet)
  "$sluice" "${arguments[@]}" >stdout 2>all </dev/null
  code=$?
  grep -v -e '^failed in ' -e '^standard input can be read only once' all >err # what is no mistake
  tried=$((tried + 1))
  if [ "$sign" = "~" ]; then [ $code = 0 ] || fail "'$command' ends with $code: $(head -3 err)"; else [ $code != 0 ] || fail "'$command' is not refused"; fi
  [ $code -lt 128 ] || fail "'$command' ends with $code"
  [ "$(wc -l <err)" = 1 ] || [ "$sign" = ! ] || fail "'$command': $(wc -l <err) lines: $(head -4 err)"
  grep -qF -- "$text" err || fail "'$command': nobody says '$text': $(head -3 err)"
  case $command in *.toml*) ;; *) ! grep -q '\.toml:' err || fail "'$command' names a file that nobody typed: $(head -3 err)" ;; esac
  rm -f out.*
done <"$table"
rm -f stdout err all
there | diff before.txt - >left || fail "the refused commands have left: $(cat left)"
echo "$tried mistakes"
echo "$failures failures"
[ $failures = 0 ]
