# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Small runs of the pipelines, for sweeps that disturb them: sourced with $sluice, $build and $work set, in the folder $work.
#   make_inputs            once
#   pipelines              their names
#   set_command NAME [THREADS]   sets command=(...), which writes into out/
#   fresh_inputs           inputs without the indexes that a run may have left beside them; an empty out/
declare -A arguments=(
  [methylation]="--signal in/r.blow5 --reads in/r.fastq.gz --alignments in/r.bam --reference in/ref.fa --output out/calls.tsv --frequency out/frequency.tsv
    --modbam out/calls.bam --account out/account.tsv"
  [eventalign]="--signal in/r.blow5 --reads in/r.fastq.gz --alignments in/r.bam --reference in/ref.fa --output out/events.tsv.gz"
  [resquiggle]="--signal in/r.blow5 --reads in/r.fastq.gz --output out/segments.tsv"
  [map]="--reference in/ref.fa --reads in/r.fastq.gz --format bam --save-index out/map.index --output out/hits.bam"
  [sort]="--alignments in/r.bam --output out/sorted.bam"
  [pileup]="--alignments in/mods.bam --reference in/ref.fa --output out/pileup.bed"
  [frequency]="--calls in/calls.tsv --output out/frequency.tsv"
  [polish]="--targets in/ref.fa --reads in/r.fastq.gz --output out/polished.fa"
  [correct]="--reads in/r.fastq.gz --output out/corrected.fa"
  [index]="--reference in/ref.fa --output out/ref.index --contigs out/contigs.tsv"
  [simulate]="--reference in/ref.fa --reads 40 --seed 4 --mean-length 1500 --output-prefix out/s"
  [summary]="--signal in/r.blow5 --output out/summary.tsv"
  [on_device]="--device simulated --output out/numbers.txt"
  [beside_device]="--device auto --output out/numbers.txt"
)
pipelines=(methylation eventalign resquiggle map sort pileup frequency polish correct index simulate summary on_device beside_device)

make_inputs() {
  mkdir -p made
  "$sluice" run synthetic_reference --length 20000 --seed 3 --output made/ref.fa --quiet || return 1
  "$sluice" run simulate --reference made/ref.fa --reads 60 --seed 3 --mean-length 1500 --output-prefix made/r --quiet || return 1
  fresh_inputs
  "$sluice" run methylation --signal in/r.blow5 --reads in/r.fastq.gz --alignments in/r.bam --reference in/ref.fa --output made/calls.tsv --modbam made/mods.bam --quiet
}
# The times stay: an index of a reference says of which state of the file it is.
fresh_inputs() {
  rm -rf in out
  mkdir in out
  cp -p made/* in
}
set_command() {
  local options
  read -r -d '' -a options <<<"${arguments[$1]}"
  case $1 in
    *_device) command=("$sluice" run "$here/parts/simulated_device.toml" --plugin-dir "$build/tests/plugins") ;;
    *) command=("$sluice" run "$1") ;;
  esac
  command+=("${options[@]}" --threads "${2:-3}" --quiet)
}
