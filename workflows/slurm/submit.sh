#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A run in shards: submits shard.sbatch as an array and merge.sbatch behind it, and prints the number of the merge job.
#   submit.sh SHARDS FOLDER [SBATCH OPTION...] -- PIPELINE ARGUMENT...
#   submit.sh 6 results --cpus-per-task=8 --mem=32G -- methylation --signal reads.blow5 --alignments reads.bam --reference ref.fa \
#     --output {shard}/calls.tsv.gz --frequency {shard}/frequency.tsv
# Every output is named {shard}/NAME, and becomes FOLDER/NAME. The options are those of the shards; the merge takes its own from merge.sbatch.
set -euo pipefail
fail() { echo "submit.sh: $*" >&2; exit 2; }
[ $# -ge 2 ] || fail "usage: submit.sh SHARDS FOLDER [SBATCH OPTION...] -- PIPELINE ARGUMENT..."
shards=$1 folder=$2 here=$(dirname "$(realpath "$0")")
shift 2
[[ $shards =~ ^[1-9][0-9]*$ ]] || fail "'$shards' is no number of shards"
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
[ $# -ge 2 ] || fail "behind -- the pipeline and its arguments are missing"
shift
[[ " $* " == *" {shard}/"* ]] || fail "no output is named {shard}/NAME: the shards would write over each other's"
mkdir -p "$folder/logs"
array=$(sbatch --parsable --array="1-$shards" --output="$folder/logs/shard_%a.log" "${options[@]}" "$here/shard.sbatch" "$folder" "$shards" "$@")
sbatch --parsable --dependency="afterok:${array%%;*}" --kill-on-invalid-dep=yes --output="$folder/logs/merge.log" "$here/merge.sbatch" "$folder" "$shards"
