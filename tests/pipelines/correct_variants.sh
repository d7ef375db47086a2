#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Correction keeps the bases of a read's own haplotype and copy of a repeat, and does not keep errors: small sets of known truth. The whole table is made by
# tests/bench/correction_truth.sh.
#   correct_variants.sh SLUICE MAKE_CORRECTION_SET CORRECTION_TRUTH
set -euo pipefail
sluice=$1 make_set=$2 truth=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
# at_least LEAST_IDENTITY LEAST_KEPT SET_OPTIONS... -- OPTIONS...
check() {
  local identity=$1 kept=$2 options=() read_lost read_identity read_kept
  shift 2
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  "$make_set" set genome=40000 mean=5000 "${options[@]}"
  "$sluice" run correct --quiet --reads set/reads.fq --output now.fa "$@"
  IFS=$'\t' read -r _ read_lost read_identity _ _ sites read_kept _ < <("$truth" set now.fa)
  echo "${options[*]} $*: $read_lost lost, identity $read_identity %, of $sites sites $read_kept % kept"
  [ "$read_lost" = 0 ] || fail "$read_lost reads were lost"
  awk -v i="$read_identity" -v k="$read_kept" -v least_i="$identity" -v least_k="$kept" 'BEGIN { exit !(i >= least_i && k >= least_k) }' ||
    fail "identity of at least $identity % and $kept % of the sites were expected"
}
check 99.95 0 seed=31 --
check 99.90 95 seed=32 haplotypes=2 --
check 99.90 95 seed=33 copies=3 copy_bases=8000 --
# The test sees the difference: without the reads' own alleles most are lost.
"$sluice" run correct --quiet --reads set/reads.fq --output majority.fa --variants majority
IFS=$'\t' read -r _ _ _ _ _ _ kept _ < <("$truth" set majority.fa)
awk -v k="$kept" 'BEGIN { exit !(k < 80) }' || fail "--variants majority keeps $kept %"
for option in "--threads 1" "--threads 7" "--batch-work 1" "--executor serial" "--part-bases 200000"; do
  # shellcheck disable=SC2086
  "$sluice" run correct --quiet --reads set/reads.fq --output again.fa $option
  cmp again.fa now.fa || fail "$option gives other bytes"
done
# Overlaps of a file know the same.
"$sluice" run overlap --quiet --reads set/reads.fq --output o.paf
"$sluice" run correct --quiet --reads set/reads.fq --overlaps o.paf --output again.fa
cmp again.fa now.fa || fail "overlaps of a file give other bytes"
