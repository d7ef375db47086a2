#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Pipelines give the same bytes on 64-bit ARM (under qemu-user) as on x86-64, over simulated reads.
#   same_bytes.sh X86_64_BUILD ARM64_BUILD SYSROOT [NAME...]
set -uo pipefail
here=$(realpath "$(dirname "$0")/../sweep")
skip() { echo "SKIPPED: $*"; exit 77; }
[ $# -ge 3 ] || { echo "usage: same_bytes.sh X86_64_BUILD ARM64_BUILD SYSROOT [NAME...]" >&2; exit 2; }
[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64"
[ -x "$1/bin/sluice" ] || skip "there is no x86-64 build in $1: ./dev build release program"
[ -x "$2/bin/sluice" ] || skip "there is no arm64 build in $2: ./dev build arm64 program"
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "there is no qemu-aarch64 (Debian: qemu-user)"
build=$(realpath "$1") arm64=$(realpath "$2") sysroot=$(realpath "$3")
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -a command pipelines all=()
declare -A arguments
cd "$work" || exit 1
sluice=$build/bin/sluice
. "$here/parts/whole_runs.sh"
arguments[overlap]="--reference in/r.fastq.gz --reads in/r.fastq.gz --output out/overlaps.paf"
arguments[seed]="--reference in/ref.fa --reads in/r.fastq.gz --output out/seeds.tsv"
arguments[classify_signal]="--signal in/r.blow5 --reference in/ref.fa --output out/calls.tsv"
arguments[methylation_from_reads]="--signal in/r.blow5 --reads in/r.fastq.gz --reference in/ref.fa --output out/calls.tsv"
arguments[modification_calls]="--alignments in/mods.bam --output out/calls.tsv"
arguments[train_kmer_model]="--signal in/r.blow5 --reads in/r.fastq.gz --output out/trained.model"
arguments[synthetic_reference]="--length 20000 --seed 3 --output out/ref.fa"
for name in "${pipelines[@]}" overlap seed classify_signal methylation_from_reads modification_calls train_kmer_model synthetic_reference; do
  case $name in *_device) ;; *) all+=("$name") ;; esac # the tests' device is not in every build
done
[ $# = 0 ] || all=("$@")
make_inputs || { echo "FAILED: no inputs"; exit 1; }

# The path of the program is in the header of BAM files: both have the same.
program=$work/bin/sluice
mkdir bin
run_with() { # FOLDER COMMAND...: sets status
  local folder=$1
  shift
  printf '#!/bin/sh\nexec %s "$@"\n' "$(printf "'%s' " "$@")" >"$program"
  chmod +x "$program"
  sluice=$program
  set_command "$name"
  fresh_inputs
  "${command[@]}" >"$folder.said" 2>&1
  status=$?
  rm -rf "$folder" && mv out "$folder"
}
failed=0
for name in "${all[@]}"; do
  run_with expected "$build/bin/sluice"
  { [ $status = 0 ] && [ -n "$(ls expected)" ]; } || { echo "FAILED: $name on x86-64: $(tail -1 expected.said)"; failed=1; continue; }
  run_with found "$emulator" -L "$sysroot" "$arm64/bin/sluice"
  if [ $status != 0 ]; then
    echo "FAILED: $name on arm64 ends with $status: $(tail -1 found.said)"
    failed=1
  elif diff -rq expected found >differs.txt; then
    echo "same bytes: $name ($(cat expected/* | wc -c) bytes in $(find expected -type f | wc -l) files)"
  else
    echo "FAILED: $name gives other bytes: $(cat differs.txt)"
    failed=1
  fi
done
exit $failed
