#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# kill -9 at any moment of a run: a file under its final name is whole (an output, or an index beside an input), and the next run leaves nothing but
# what belongs there. The moments: before each call of a run that changes a file or a folder, as nothing on the disk differs between two of them.
#   kills.sh SLUICE LIBRARY      LIBRARY: libfailing_calls.so
. "$(dirname "$0")/../faults/counted_calls.sh"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

mkdir made in out
"$sluice" run synthetic_reference --length 40000 --seed 3 --output made/ref.fa --quiet || exit 1
"$sluice" run simulate --reference made/ref.fa --reads 200 --seed 3 --mean-length 2500 --output-prefix made/r --quiet || exit 1

# Every pipeline makes the index files that it needs itself. The times stay: an index of a reference says of which state of the file it is.
fresh_inputs() { rm -rf in out && mkdir in out && cp -p made/ref.fa made/r.blow5 made/r.fastq.gz made/r.bam in; }
declare -A arguments=(
  [methylation]="--signal in/r.blow5 --reads in/r.fastq.gz --alignments in/r.bam --reference in/ref.fa --region synthetic_1:1-30000 --output out/calls.tsv
    --frequency out/frequency.tsv --modbam out/calls.bam --account out/account.tsv --report out/report.json"
  [map]="--reference in/ref.fa --reads in/r.fastq.gz --format bam --save-index out/map.index --output out/hits.bam"
  [polish]="--targets in/ref.fa --reads in/r.fastq.gz --output out/polished.fa"
  [index]="--reference in/ref.fa --output out/ref.index --contigs out/contigs.tsv --trace out/trace.json"
  [simulate]="--reference in/ref.fa --reads 200 --seed 4 --mean-length 2500 --output-prefix out/s"
  [sort]="--alignments in/r.bam --output out/sorted.bam"
)
files() { find in out -type f | LC_ALL=C sort; }
# Reports and traces differ from run to run, but must be whole.
is_whole() { # FILE as in PIPELINE's uninterrupted run
  case $1 in
    *.json) [ "$(tail -c 2 "$1")" = "}" ] ;;
    *) cmp -s "$1" "whole/$2/$1" ;;
  esac
}

printf '%-12s %6s %12s %12s\n' pipeline kills "wrong files" "left behind"
for name in methylation map polish index simulate sort; do
  read -r -d '' -a options <<<"${arguments[$name]}"
  command=("$sluice" run "$name" "${options[@]}" --quiet)
  fresh_inputs
  "${command[@]}" || fail "$name: the uninterrupted run"
  mkdir -p "whole/$name"
  cp -r in out "whole/$name"
  expected=$(files)
  kills=0 wrong=0 left=0
  for ((call = 1;; ++call)); do
    fresh_inputs
    { FAILING_CALL=kill@$call LD_PRELOAD=$library "${command[@]}" >killed.txt 2>&1; } 2>/dev/null
    code=$?
    [ $code != 0 ] || break # it ended before its call of that number
    [ $code = 137 ] || fail "$name, killed before call $call: exit code $code: $(tail -1 killed.txt)"
    kills=$((kills + 1))
    for file in $(files); do
      case ${file##*/} in .*.partial) continue ;; esac # hidden: not a final name
      if ! grep -qxF "$file" <<<"$expected"; then
        fail "$name, killed before call $call: there is $file"
      elif ! is_whole "$file" "$name"; then
        fail "$name, killed before call $call: $file is incomplete"
      else
        continue
      fi
      wrong=$((wrong + 1))
    done
    "${command[@]}" || fail "$name: the run after a kill before call $call"
    for file in $(comm -13 <(echo "$expected") <(files)); do
      fail "$name, killed before call $call: the next run leaves $file"
      left=$((left + 1))
    done
    for file in $expected; do is_whole "$file" "$name" || fail "$name, killed before call $call: the next run makes another $file"; done
  done
  printf '%-12s %6d %12d %12d\n' "$name" "$kills" "$wrong" "$left"
  [ $kills -gt 5 ] || fail "$name: only $kills calls that change a file"
done
echo "$failures failures"
[ $failures = 0 ]
