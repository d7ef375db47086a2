#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What experiments need of Read Until, in virtual time and against the simulator's truth: enrichment and depletion as the model expects, control
# channels unchanged, targets as regions, minimum and maximum of chunks, and nothing ejected when decisions are late.
#   read_until_experiment.sh SLUICE
set -uo pipefail
sluice=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }
counter() { python3 -c 'import json, sys
stages = {s["name"]: s for s in json.load(open(sys.argv[1]))["stages"]}
print(stages["cells"]["counters"].get(sys.argv[2], 0))' "$1" "$2"; }
is_true() { python3 -c "import sys; sys.exit(not ($1))"; }

# ---- a genome of two contigs, of which the first is the target; the truth is the contig that a read was drawn from
run synthetic_reference --length 10000 --seed 5 --output target.fa
run synthetic_reference --length 15000 --seed 6 --output other.fa
sed 's/^>/>other_/' other.fa | cat target.fa - >genome.fa
target=$(sed -n '1s/^>\([^ ]*\).*/\1/p' target.fa)
run simulate --reference genome.fa --reads 128 --seed 7 --mean-length 5000 --minimum-length 2000 --output-prefix r
cat >truth.toml <<'END'
[pipeline]
name = "truth"
[stages.alignments]
use = "alignment_reader"
params = { path = "r.bam", min_mapq = 0 }
[stages.table]
use = "table_writer"
params = { output = "truth.tsv", columns = "read_id,contig,is_reverse,ref_start,ref_end" }
END
run truth.toml
awk -F '\t' -v target="$target" '$2 == target { print $1 }' truth.tsv >labels.tsv
# flow_cell SECONDS OPTIONS...
flow_cell() { run read_until --signal r.blow5 --speed 0 --channels 32 --threshold 0.3 --play-again --labels labels.tsv --duration "$@"; }

# ---- enrichment and depletion within 5 % of the model's, control channels as without Read Until
for select in enrich deplete; do
  kept=target_bases
  [ $select = enrich ] || kept=other_bases
  flow_cell 4800 --target target.fa --select $select --control-channels 1-16 --output $select.tsv --report $select.json || fail "$select"
  wanted=$(counter $select.json "$select: $kept") plain=$(counter $select.json "control: $kept")
  model=$(counter $select.json "$select: model_enrichment") own=$(counter $select.json "$select: enrichment")
  is_true "abs($own / $model - 1) < 0.05" || fail "$select: enrichment $own, of the model $model"
  is_true "abs($wanted / $plain / $model - 1) < 0.05" || fail "$select: $wanted bases where the control has $plain, of the model $model times as many"
  [ $select = enrich ] || is_true "$(counter $select.json "deplete: target_bases") < 0.3 * $(counter $select.json "control: target_bases")" || fail "targets were not depleted"
  is_true "$model > 1.15" || fail "$select: the model expects only $model"
  is_true "abs($(counter $select.json "control: enrichment") - 1) < 0.05" || fail "$select: the control's enrichment is $(counter $select.json "control: enrichment")"
  is_true "$(counter $select.json "control: rejected") == 0" || fail "$select: control channels eject"
  awk -F '\t' 'NR > 1 && (($12 <= 16) != ($11 == "control") || ($11 == "control" && $10 == "unblock")) { bad = 1 } END { exit bad }' $select.tsv || fail "$select: the table's conditions"
done
# Of the targets none is ejected by enrichment, and nearly every other read is.
awk -F '\t' '$10 == "unblock" { print $1 }' enrich.tsv | sort -u >ejected.txt
! grep -q -F -f labels.tsv ejected.txt || fail "targets were ejected"
[ "$(wc -l <ejected.txt)" -ge 60 ] || fail "only $(wc -l <ejected.txt) reads were ejected"

# ---- the same decisions from a BED file over the genome, from a table with commas, and by name in a table of conditions
printf '%s\t0\t10000\n' "$target" >target.bed
printf '%s\n' "$target" >target.txt
printf '# readfish\n%s,0,10000,+\n%s,0,10000,-\n' "$target" "$target" >strands.csv
calls() { run classify_signal --signal r.blow5 --threshold 0.3 --output - "$@"; }
calls --target target.fa >plain.tsv
for regions in target.bed target.txt; do calls --target genome.fa --regions $regions | cmp - plain.tsv || fail "$regions"; done
# Both strands, each in a region of its own: of two that fit alike the first is named, but the read lies on both.
calls --target genome.fa --regions strands.csv | cmp - plain.tsv || fail "regions with commas"
printf '%s\t0\t10000\tforward\t0\t+\n' "$target" >forward.bed
calls --target genome.fa --regions forward.bed >forward.tsv
awk -F '\t' 'NR > 1 && $2 == "accept" && ($6 == "+") != ($10 == "stop_receiving") { bad = 1 } END { exit bad }' forward.tsv || fail "regions with a strand"
# Places are the contig's, and a flank makes a region longer.
printf '%s\t4000\t6000\n' "$target" >part.bed
calls --target genome.fa --regions part.bed --flank 500 >part.tsv
awk -F '\t' 'NR > 1 && $2 == "accept" { n++; if ($7 < 3490 || $8 > 6510) bad = 1 } END { exit bad || n < 3 }' part.tsv || fail "places on a region"
printf 'condition\tchannels\tselect\ttargets\tminimum_chunks\toff_target\nlook\t1-8\tenrich\t%s\t30\t.\nhost\t9-16\tdeplete\t.\t.\tstop_receiving\nplain\tother\tcontrol\t.\t.\t.\n' "$target" >conditions.tsv
flow_cell 600 --target genome.fa --regions target.bed --conditions conditions.tsv --output conditions.out --report conditions.json || fail "a table of conditions"
for condition in look host plain; do is_true "$(counter conditions.json "$condition: reads") > 0" || fail "condition $condition has no reads"; done
awk -F '\t' 'NR > 1 && $11 != ($12 <= 8 ? "look" : $12 <= 16 ? "host" : "plain") { bad = 1 } END { exit bad }' conditions.out || fail "channels of conditions"
is_true "$(counter conditions.json "plain: rejected") == 0 and $(counter conditions.json "host: rejected") > 0" || fail "actions of conditions"

# ---- minimum and maximum of chunks
flow_cell 300 --target target.fa --minimum-chunks 60 --output late.tsv --report late.json || fail "a minimum of chunks"
is_true "$(counter late.json decision_bases) >= 60 * 200 / 4000 * 450" || fail "decided after $(counter late.json decision_bases) bases"
flow_cell 300 --target target.fa --maximum-chunks 5 --undecided eject --output early.tsv --report early.json || fail "a maximum of chunks"
is_true "$(counter early.json rejected) > 100 and $(counter early.json accepted) == 0" || fail "undecided reads: $(counter early.json rejected) ejected"
flow_cell 300 --target target.fa --maximum-chunks 5 --output early.tsv --report early.json || fail "a maximum of chunks"
is_true "$(counter early.json rejected) == 0 and $(counter early.json accepted) > 20" || fail "undecided reads: $(counter early.json rejected) ejected"

# ---- decisions that come late: nothing is ejected, and it is said
"$sluice" run read_until --signal r.blow5 --target target.fa --threshold 0.3 --speed 0 --channels 8 --play-again --duration 300 --set stages.cells.params.virtual_latency=30 \
  --output behind.tsv --report behind.json 2>behind.log || fail "late decisions end with $?"
grep -q "nothing is ejected" behind.log || fail "nobody says that nothing is ejected: $(cat behind.log)"
is_true "$(counter behind.json rejected) == 0 and $(counter behind.json late_decisions) > 0" || fail "ejected $(counter behind.json rejected) though late"

# ---- what can't work says why
message() { "$sluice" run read_until --signal r.blow5 --target genome.fa --speed 0 --output x.tsv --quiet "$@" 2>&1 >/dev/null; }
expect() {
  local wanted=$1
  shift
  grep -q "$wanted" <(message "$@") || fail "'$wanted' is not in: $(message "$@")"
}
printf 'nowhere\t0\t100\n' >bad.bed
expect "contig 'nowhere' is not in the reference" --regions bad.bed
printf '%s\t100\t100\n' "$target" >bad.bed
expect "line 1: start 100 is not before end 100" --regions bad.bed
: >bad.bed
expect "there is no region in it" --regions bad.bed
expect "are no channels" --control-channels 0-5
expect "exclude each other" --control-channels 1-5 --conditions conditions.tsv
printf 'condition\tchannels\tselect\na\t1-5\tenrich\nb\t5-6\tdeplete\n' >bad.tsv
expect "line 3: channel 5 is in two conditions" --conditions bad.tsv
printf 'condition\tchannels\tselect\ttargets\na\t1-5\tenrich\tchrQ\n' >bad.tsv
expect "names the target 'chrQ'" --conditions bad.tsv

[ $failures = 0 ] && echo "read_until_experiment: all as it should be"
exit $((failures > 0))
