#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# kill -9 at any moment of a run: a file under its final name is whole (an output, or an index beside an input), and the next run leaves nothing but
# what belongs there. The moments are spread over the duration of an uninterrupted run by counted random numbers.
#   kills.sh SLUICE [KILLS]      KILLS: of all pipelines together, 40 unless given
set -uo pipefail
sluice=$1 kills=${2:-40}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

mkdir made in out
"$sluice" run synthetic_reference --length 40000 --seed 3 --output made/ref.fa --quiet || exit 1
"$sluice" run simulate --reference made/ref.fa --reads 200 --seed 3 --mean-length 2500 --output-prefix made/r --quiet || exit 1

# Every pipeline makes the index files that it needs itself. The times stay: an index of a reference says of which state of the file it is.
fresh_inputs() { rm -rf in && mkdir in && cp -p made/ref.fa made/r.blow5 made/r.fastq.gz made/r.bam in; }
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
# A number below 2^31 for two counters: splitmix64.
random() {
  local z=$((($1 * 1000003 + $2 + 1) * 0x9E3779B97F4A7C15))
  z=$(((z ^ ((z >> 30) & 0x3FFFFFFFF)) * 0xBF58476D1CE4E5B9))
  z=$(((z ^ ((z >> 27) & 0x1FFFFFFFFF)) * 0x94D049BB133111EB))
  echo $(((z >> 33) & 0x7FFFFFFF))
}
microseconds() { echo "${EPOCHREALTIME/[.,]/}"; }

pipelines=(methylation map polish index simulate sort)
printf '%-12s %6s %11s %12s %12s\n' pipeline kills "in the run" "wrong files" "left behind"
for p in "${!pipelines[@]}"; do
  name=${pipelines[$p]}
  read -r -d '' -a options <<<"${arguments[$name]}"
  command=("$sluice" run "$name" "${options[@]}" --quiet)
  duration=0
  for _ in 1 2 3; do # the shortest counts: the machine may have had other things to do
    fresh_inputs
    rm -rf out && mkdir out
    start=$(microseconds)
    "${command[@]}" || fail "$name: the uninterrupted run"
    took=$(($(microseconds) - start))
    [ $duration != 0 ] && [ $took -ge $duration ] || duration=$took
  done
  mkdir -p "whole/$name"
  cp -r in out "whole/$name"
  expected=$(files)
  share=$((kills / ${#pipelines[@]} + (p < kills % ${#pipelines[@]} ? 1 : 0))) in_run=0 wrong=0 left=0
  for ((i = 0; i < share; ++i)); do
    fresh_inputs
    rm -rf out && mkdir out
    # One moment in each of `share` equal parts of the duration.
    moment=$(((i * 1000 + $(random "$p" "$i") % 1000) * duration / (share * 1000)))
    "${command[@]}" 2>killed.txt &
    pid=$!
    sleep "$((moment / 1000000)).$(printf %06d $((moment % 1000000)))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $? = 0 ] || in_run=$((in_run + 1))
    for file in $(files); do
      case ${file##*/} in .*.partial) continue ;; esac # hidden: not a final name
      if ! grep -qxF "$file" <<<"$expected"; then
        fail "$name, killed after $moment us: there is $file"
      elif ! is_whole "$file" "$name"; then
        fail "$name, killed after $moment us: $file is incomplete"
      else
        continue
      fi
      wrong=$((wrong + 1))
    done
    "${command[@]}" || fail "$name: the run after a kill after $moment us"
    for file in $(comm -13 <(echo "$expected") <(files)); do
      fail "$name, killed after $moment us: the next run leaves $file"
      left=$((left + 1))
    done
    for file in $expected; do is_whole "$file" "$name" || fail "$name, killed after $moment us: the next run makes another $file"; done
  done
  printf '%-12s %6d %11d %12d %12d\n' "$name" "$share" "$in_run" "$wrong" "$left"
  [ $((in_run * 2)) -ge "$share" ] || fail "$name: only $in_run of $share kills came during the run"
done
echo "$failures failures"
[ $failures = 0 ]
