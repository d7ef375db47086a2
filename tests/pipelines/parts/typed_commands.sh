# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# For tests whose commands are lines of a table: SCRIPT SLUICE [LINES THAT MATCH]. Goes to a folder of its own with ref.fa, reads.* and reads.fq; `table`
# is tables/SCRIPT.txt, `only` the lines asked for.
sluice=$(realpath "$1") only=${2:-}
table=$(dirname "$(realpath "$0")")/tables/$(basename "$0" .sh).txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
unset SLUICE_PIPELINE_PATH SLUICE_PLUGIN_PATH

run() { "$sluice" "$@" --quiet || { echo "FAILED: the inputs: $*"; exit 1; }; }
run synthetic_reference --length 20000 --output ref.fa
run simulate ref.fa --reads 12 --mean-length 2000 --output-prefix reads
gzip -dc reads.fastq.gz >reads.fq
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
