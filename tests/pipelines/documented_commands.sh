#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every command of the README and of docs/tasks, and the example in the help of every shipped pipeline, on simulated reads that have the names used there. None of them
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

# A fresh folder with the program on the PATH, and the blocks of the README and of the pages of tasks, in bash and in zsh. What they give is known: the
# reads are simulated, and their truth lies beside them.
mkdir "$work/bin"
ln -s "$sluice" "$work/bin/sluice"
PATH=$work/bin:$PATH
blocks() { sed -n '/^```bash$/,/^```$/{/^```/!p}' "$1"; }
# The right column of the table "You type today, and here"; `...` are the options of the left one.
table() {
  sed -n 's/^| `\([a-z0-9]* [^`]*\)` | `\(sluice [^`]*\)` |$/\1\t\2/p' "$source/README.md" | while IFS=$'\t' read -r theirs ours; do
    theirs=${theirs#* }
    printf '%s\n' "${ours/.../${theirs#* }}"
  done
}
pages=("$source/README.md")
for page in simulate map methylation modified-bases events consensus large-runs; do pages+=("$source/docs/tasks/$page.md"); done
[ "$(ls "$source/docs/tasks/"*.md | wc -l)" = $((${#pages[@]} - 1)) ] || fail "a page of docs/tasks is not in the list of this test"
[ "$(table | wc -l)" -ge 9 ] || fail "the README's table of commands was not found"
shells=(bash)
if [ -n "$(command -v zsh)" ]; then shells+=(zsh); else echo "SKIPPED in part: there is no zsh, so the README's commands were run in bash only"; fi
for shell in "${shells[@]}"; do
  mkdir "$work/$shell"
  cd "$work/$shell"
  for page in "${pages[@]}"; do
    blocks "$page" >"$work/page.sh"
    [ -s "$work/page.sh" ] || fail "$page has no commands"
    "$shell" -e -x "$work/page.sh" >"$work/log" 2>&1 </dev/null || { tail -20 "$work/log"; fail "a command of $page in $shell, the last one above"; }
    echo "$(basename "$page") in $shell: $(grep -c '^sluice' "$work/page.sh") commands"
    [ "$page" = "${pages[0]}" ] || continue
    cp -r . "$work/$shell.readme"
    ln -s reference.fa ref.fa
    cp reads.blow5 s.blow5
    gzip -dc reads.fastq.gz >reads.fq
    cp modified.bam in.bam
    cp modified.bam calls.bam
    cp reference.fa draft.fa
    sluice map ref.fa reads.fq -o overlaps.paf --quiet
    table >"$work/table.sh"
    "$shell" -e -x "$work/table.sh" >"$work/log" 2>&1 </dev/null || { tail -20 "$work/log"; fail "a command of the README's table in $shell, the last one above"; }
    # What f5c call-methylation gives is what the README's own command gave.
    cmp calls.tsv "$work/$shell.readme/calls.tsv" || fail "the table's call of methylation gives other calls than the README's"
    [ "$(wc -l <squiggles.tsv)" -gt 1000 ] && [ "$(wc -l <events.tsv)" -gt 1000 ] && [ -s polished.fa ] || fail "what the commands of the README's table write"
  done
done

# Known answers of the README's five commands.
cd "$work/bash.readme"
sluice map reference.fa reads.fastq.gz -o hits.paf --quiet
share() { awk "$1"' END { printf "%d\n", good * 100 / all }' "$2"; }  # percent
[ "$(cut -f1 hits.paf | sort -u | wc -l)" = 400 ] || fail "all 400 reads map"
sluice methylation_accuracy --calls calls.tsv --site-truth reads.truth.tsv --read-truth reads.truth_reads.tsv --reference reference.fa --output accuracy.json --quiet
awk -F'[:,]' '/"auc"/ { exit !($2 > 0.97) }' accuracy.json || { cat accuracy.json; fail "the calls agree with the truth"; }
[ "$(wc -l <sites.bed)" -gt 1500 ] || fail "sites.bed has the CpGs of the reference"
sluice map reference.fa corrected.fa --cigar -o corrected.paf --quiet
[ "$(share '{ good += $10; all += $11 }' corrected.paf)" -ge 99 ] || fail "corrected reads have an identity of 99 %"
[ "$(share 'NR > 1 { all++; good += $2 == "accept" }' decisions.tsv)" -ge 90 ] || fail "reads of the target are accepted"
if [ ${#shells[@]} = 2 ]; then
  for file in calls.tsv sites.tsv sites.bed corrected.fa decisions.tsv aligned.bam modified.bam; do
    cmp "$work/bash.readme/$file" "$work/zsh.readme/$file" || fail "$file has other bytes in zsh"
  done
fi

# Those of the help read what others of them have written; these come first.
mkdir "$work/examples"
cd "$work/examples"
sluice run synthetic_reference --contigs 4 --length 3000 --output transcripts.fa --quiet
printf '>1 3\nACGTACGTTACCA\nACGTACGTACCA\nACGTACGTTACCA\n' >windows.txt
cp "$work/bash.readme/modified.bam" reads.mod.bam
cp "$work/bash.readme/modified.bam.bai" reads.mod.bam.bai
printf 'synthetic_1\t0\t2000\tfirst\nsynthetic_1\t2000\t9000\n' >panel.bed
ran=0
declare -A done_already
run_example() { # PIPELINE
  [ -z "${done_already[$1]:-}" ] || return 0
  done_already[$1]=yes
  local example
  example=$(sluice run "$1" --help | sed -n '/^Example:$/,/^$/p' | sed 1d) # as it is printed
  case $example in
    "  sluice $1 "*) ;;
    *) fail "the help of $1 has no example that runs it: '$example'" ;;
  esac
  [ "$1" != pileup ] || cp "$work/bash.readme/reference.fa" reference.fa  # that of reads.mod.bam
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
