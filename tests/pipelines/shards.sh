#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Shards of a run, merged in another order, are one run: every output of the pipelines that shard, with 1, 2, 3, 7 and more parts than there are reads.
# What is missing, doubled, of another run or damaged is refused by name.
#   shards.sh SLUICE MAKE_ALIGNMENTS
set -euo pipefail
sluice=$1 make_alignments=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }

run synthetic_reference --length 20000 --contigs 2 --seed 2 --output ref.fa
run simulate --reference ref.fa --reads 30 --seed 2 --mean-length 2500 --output-prefix r
run synthetic_reference --length 30000 --contigs 6 --seed 5 --output draft.fa
run simulate --reference draft.fa --reads 70 --seed 5 --mean-length 2500 --output-prefix d
run map --reference draft.fa --reads d.fastq.gz --output d.paf
run overlap --reads r.fastq.gz --output r.paf
signal=(--signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa)

# same "FILE FILE ..." PIPELINE OPTIONS: {FILE} in the options is the output's name. Its indexes are compared, too.
same() {
  local files=$1 parts file
  shift
  run "${@//[\{\}]/}" || return 1
  mkdir whole
  for file in $files; do mv "$file"* whole/; done
  for parts in $counts; do
    local shards=() i
    for ((i = parts; i > 0; --i)); do
      mkdir -p "parts/$i"
      local of_part=("${@//\{/parts/$i/}")
      run "${of_part[@]//\}/}" --shard "$i/$parts" >log 2>&1 || { fail "$* --shard $i/$parts: $(cat log)"; break 2; }
      shards+=("parts/$i")
    done
    for file in $files; do
      "$sluice" merge --output "$file" --quiet "${shards[@]/%//$file}" >log 2>&1 || { fail "merge $file of $parts: $(cat log)"; continue; }
      for made in whole/"$file"*; do cmp "$made" "${made#whole/}" || fail "${made#whole/} of $parts shards: $*"; done
      for made in "$file"*; do [ -e "whole/$made" ] || fail "$made is made of $parts shards, and not by one run"; done
    done
    rm -rf parts
    for file in $files; do rm -f "$file"*; done
  done
  rm -rf whole
}
# Options with {} lose the braces in one run, and lie in the folder of the part in a shard.
counts="1 2 3 7 50"
same "hits.paf" map --reference ref.fa --reads r.fastq.gz --output {hits.paf}
counts="3 50"
same "hits.paf.gz" map --reference ref.fa --reads r.fastq.gz --output {hits.paf.gz}
same "hits.paf.zst" map --reference ref.fa --reads r.fastq.gz --output {hits.paf.zst}
same "hits.sam" map --reference ref.fa --reads r.fastq.gz --format sam --output {hits.sam}
same "hits.sam.gz" map --reference ref.fa --reads r.fastq.gz --format sam --output {hits.sam.gz}
counts="2 7 50"
same "hits.bam" map --reference ref.fa --reads r.fastq.gz --format bam --output {hits.bam}
# Reads of another reference have no place, and stay in the order of the input.
same "sorted.bam" map --reference ref.fa --reads r.fastq.gz --reads d.fastq.gz --sort --output {sorted.bam}
counts="1 3 50"
"$make_alignments" ties.bam 2000 300 3 200 3
same "sorted.bam" sort --alignments ties.bam --output {sorted.bam}
counts="2 7 50"
same "seeds.tsv" seed --reference ref.fa --reads r.fastq.gz --output {seeds.tsv}
counts="1 3 50"
same "calls.tsv frequency.tsv" methylation "${signal[@]}" --output {calls.tsv} --frequency {frequency.tsv}
counts="2 7"
same "calls.tsv.gz modified.bam" methylation "${signal[@]}" --output {calls.tsv.gz} --modbam {modified.bam}
same "modified.sam" methylation "${signal[@]}" --output /dev/null --modbam {modified.sam}
same "counted.bed.gz" methylation "${signal[@]}" --output {calls.tsv} --bedmethyl {counted.bed.gz} --any-order
same "events.tsv" eventalign "${signal[@]}" --output {events.tsv}
same "events.tsv.gz" eventalign "${signal[@]}" --output {events.tsv.gz}
same "events.bam" eventalign "${signal[@]}" --format sam --output {events.bam}
counts="1 2 3 7 50"
same "corrected.fa" correct --reads r.fastq.gz --output {corrected.fa}
same "corrected.fa" correct --reads r.fastq.gz --part-bases 30000 --output {corrected.fa}
same "overlaps.paf" overlap --reads r.fastq.gz --part-bases 30000 --output {overlaps.paf}
same "polished.fq changes.vcf" polish --reads d.fastq.gz --targets draft.fa --output-format fastq --rounds 2 --output {polished.fq} --changes {changes.vcf}
counts="3 50"
same "corrected.fa.gz" correct --reads r.fastq.gz --overlaps r.paf --uncorrected trim --output {corrected.fa.gz}
same "polished.fa.gz" polish --reads d.fastq.gz --targets draft.fa --overlaps d.paf --include-unpolished --output {polished.fa.gz}
# An index that is made once is that of every shard.
run index --reference r.fastq.gz --w 5 --output r.index
for pipeline in correct overlap; do
  given=(--index r.index)
  [ $pipeline = correct ] || given=(--targets r.index)
  run $pipeline --reads r.fastq.gz --output made.here
  run $pipeline --reads r.fastq.gz "${given[@]}" --output made.before
  cmp made.here made.before || fail "$pipeline with an index of its own"
done
same "corrected.fa" correct --reads r.fastq.gz --index r.index --output {corrected.fa}
same "overlaps.paf" overlap --reads r.fastq.gz --output {overlaps.paf}
counts="2 7"
same "decisions.tsv" classify_signal --signal r.blow5 --target ref.fa --output {decisions.tsv}

# A folder of shards of several outputs, reports and accounts.
for i in 1 2 3; do
  run methylation "${signal[@]}" --output calls.$i.tsv --frequency frequency.$i.tsv --account lost.$i.tsv --shard $i/3
done
run methylation "${signal[@]}" --output calls.tsv --frequency frequency.tsv --account lost.tsv
mkdir merged
"$sluice" merge --output merged/x.tsv . 2>log && fail "shards of two outputs were merged"
grep -q "shards of several outputs: .*say which one: --of" log || fail "several outputs: $(cat log)"
# Neither signal nor reads nor reference are needed where shards are merged.
mkdir elsewhere
mv r.* ref.* elsewhere/
"$sluice" merge --output merged/frequency.tsv --of frequency --account merged/lost.tsv --report merged/report.json --quiet . || fail "without the inputs"
mv elsewhere/* .
cmp frequency.tsv merged/frequency.tsv || fail "--of frequency"
cmp lost.tsv merged/lost.tsv || fail "--account"
grep -q '"elapsed_seconds_of_longest_shard"' merged/report.json || fail "--report"
grep -q '"adds_up": false' merged/report.json && fail "the merged account does not add up"

# What every shard does, mapping all reads to all targets, is told once.
mkdir polished
polish=(polish --reads d.fastq.gz --targets draft.fa --max-error 0.005)
run "${polish[@]}" --output polished/whole.fa --account polished/lost.tsv --report polished/whole.json
for i in 1 2 3; do run "${polish[@]}" --output polished/$i.fa --account polished/lost.$i.tsv --shard $i/3; done
"$sluice" merge --output polished/merged.fa --account polished/merged.tsv --report polished/merged.json --quiet polished/[123].fa
cmp polished/whole.fa polished/merged.fa || fail "polish of few overlaps"
cmp polished/lost.tsv polished/merged.tsv || fail "the account of polish"
[ "$(wc -l <polished/lost.tsv)" -gt 10 ] || fail "polish lost nothing"
account_of() {
  local text
  text=$(tr -d ' \n' <"$1")
  text=${text#*\"account\":[}
  grep -o '"read":[0-9]*\|"written":[0-9]*\|"rows":[0-9]*' <<<"${text%%\"stages\":*}"
}
[ "$(account_of polished/whole.json)" = "$(account_of polished/merged.json)" ] || fail "the report of polish: $(account_of polished/merged.json)"

# What is refused.
refused() {
  local words=$1
  shift
  "$sluice" merge --output merged/refused.tsv "$@" 2>log && fail "not refused: $words"
  grep -q "$words" log || fail "'$words' is not in: $(cat log)"
  [ ! -e merged/refused.tsv ] || fail "something was written: $words"
}
refused "1 of 3 shards is missing: 2" calls.1.tsv calls.3.tsv
refused "shard 2 of 3 is there twice" calls.1.tsv calls.2.tsv calls.2.tsv calls.3.tsv
refused "is no shard" calls.1.tsv calls.2.tsv calls.tsv
refused "shards of several outputs" calls.1.tsv calls.2.tsv frequency.3.tsv
run methylation "${signal[@]}" --output calls.4.tsv --frequency frequency.4.tsv --min-mapq 30 --shard 2/3
refused "'calls.1.tsv' (shard 1 of 3) and 'calls.4.tsv' (shard 2 of 3) don't belong together: stages.*min_mapq is \"20\" and \"30\"" calls.1.tsv calls.4.tsv calls.3.tsv
cp calls.2.tsv kept.tsv
printf X | dd of=calls.2.tsv bs=1 seek=100 conv=notrunc status=none
refused "'calls.2.tsv' is not what its manifest says" calls.1.tsv calls.2.tsv calls.3.tsv
cp kept.tsv calls.2.tsv
"$sluice" merge --output calls.1.tsv calls.1.tsv calls.2.tsv calls.3.tsv 2>log && fail "a shard was overwritten"
grep -q "is of 'calls.1.tsv'" log || fail "overwriting: $(cat log)"
"$sluice" merge --output merged/calls.tsv --quiet calls.3.tsv calls.1.tsv calls.2.tsv
cmp calls.tsv merged/calls.tsv || fail "calls"

"$sluice" run map --reference ref.fa --reads r.fastq.gz --shard 1/2 >/dev/null 2>log && fail "standard output as a shard"
grep -q -- "--shard: the output of .* is standard output" log || fail "standard output: $(cat log)"
"$sluice" run map --reference ref.fa --reads r.fastq.gz --output x.paf --shard 3/2 2>log && fail "shard 3/2"
grep -q "'3/2' is no part of a whole" log || fail "3/2: $(cat log)"
"$sluice" run sort --alignments r.bam --output x.cram --reference ref.fa --shard 1/2 2>log && fail "CRAM as shards"
grep -q "command line: --shard: what the stage '.*' (sorted_record_writer) writes can't be put together of shards: CRAM is compressed as a whole (write BAM)" log || fail "sort: $(cat log)"
"$sluice" plan map --reference ref.fa --reads r.fastq.gz --output x.paf.gz | grep -q "^shards: --shard I/N .*'x.paf.gz' (BGZF text)" || fail "plan"
echo "$failures failures"
[ $failures = 0 ]
