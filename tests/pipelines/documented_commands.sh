#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every command of the README, and the example in the help of every shipped pipeline, on simulated reads that have the names used there. None of them
# closes a file that it does not have: in a host program that would be somebody else's.
#   documented_commands.sh SLUICE SOURCE_DIR [CLOSE_WATCH]
set -euo pipefail
sluice=$(realpath "$1") source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
export XDG_CONFIG_HOME="$work/config" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache" HOME="$work"
unset SLUICE_PIPELINE_PATH SLUICE_PLUGIN_PATH
if [ -n "${3:-}" ]; then
  export CLOSE_WATCH="$work/closed" LD_PRELOAD=$3
else
  echo "SKIPPED in part: what is closed is not watched in this build"
fi

# The README's commands are those of somebody who stands in the source tree and has built it.
mkdir -p "$work/tree/build/release"
ln -s "$(dirname "$sluice")" "$work/tree/build/release/bin"
cd "$work/tree"
"$source/examples/demo.sh" build/release/bin/sluice build/demo >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "the demo"; }
sed -n '/^```bash$/,/^```$/{/^```/!p}' "$source/README.md" >"$work/readme.sh"
[ "$(grep -c 'run ' "$work/readme.sh")" -gt 20 ] || fail "the README's commands were not found"
bash -e -x "$work/readme.sh" >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "a command of the README, the last one above"; }
echo "README: $(grep -c '^+ build' "$work/log") commands"

# Those of the help read what others of them have written; these come first.
mkdir "$work/examples"
cd "$work/examples"
mkdir bin
ln -s "$sluice" bin/sluice
PATH=$PWD/bin:$PATH
sluice run synthetic_reference --contigs 4 --length 3000 --output transcripts.fa --quiet
printf '>1 3\nACGTACGTTACCA\nACGTACGTACCA\nACGTACGTTACCA\n' >windows.txt
cp "$work/tree/build/demo/reads.mod.bam" "$work/tree/build/demo/reads.mod.bam.csi" . 2>/dev/null || cp "$work/tree/build/demo/reads.mod.bam" .
printf 'synthetic_1\t0\t2000\tfirst\nsynthetic_1\t2000\t9000\n' >panel.bed
ran=0
declare -A done_already
run_example() { # PIPELINE
  [ -z "${done_already[$1]:-}" ] || return 0
  done_already[$1]=yes
  local example
  example=$(sluice run "$1" --help | sed -n '/^Example:$/,/^$/p' | sed 1d | tr -s ' \n' '  ')
  case $example in
    " sluice run $1 "*) ;;
    *) fail "the help of $1 has no example that runs it: '$example'" ;;
  esac
  [ "$1" != pileup ] || cp "$work/tree/build/demo/reference.fa" reference.fa  # that of reads.mod.bam
  bash -c "$example" >"$work/log" 2>&1 || { cat "$work/log"; fail "the example of $1: $example"; }
  ran=$((ran + 1))
}
for pipeline in synthetic_reference simulate simulate_rna methylation; do run_example $pipeline; done
for file in "$source"/pipelines/*.toml; do
  pipeline=$(basename "$file" .toml)
  grep -q '^\[stages' "$file" || grep -q '^extends' "$file" || continue  # a part that others include
  case $pipeline in pileup | modifications) ;; *) run_example "$pipeline" ;; esac
done
run_example pileup
run_example modifications
samtools=$(command -v samtools || true)
[ -z "$samtools" ] || samtools quickcheck hits.bam || fail "hits.bam of the example of map is no BAM"
head -c 2 events.tsv.gz | cmp -s - <(printf '\x1f\x8b') || fail "events.tsv.gz is not compressed"
head -1 sites.bed | grep -q '^synthetic_1' || fail "sites.bed is no bedMethyl"
echo "help: $ran examples"
[ ! -e "$work/closed" ] || { head -40 "$work/closed"; fail "$(grep -c 'not open' "$work/closed") times a file was closed that was not open"; }
