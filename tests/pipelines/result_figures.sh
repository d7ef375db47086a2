#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What runs say that they found, on three simulated sets: each figure of the report is what samtools (where it is there), or a count over the output
# files, comes to; the same however it ran; after shards; and in the summary and for MultiQC.
#   result_figures.sh SLUICE LIBRARY      LIBRARY: libfailing_calls.so
set -euo pipefail
sluice=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
samtools=$(command -v samtools || true)
[ -n "$samtools" ] || echo "SKIPPED in part: there is no samtools, so figures are compared with counts over the outputs alone"

cat >figures.py <<'PYTHON'
import json, math

def figures(report, stage):
    found = [s for s in json.load(open(report))["stages"] if s["name"] == stage]
    assert len(found) == 1, (report, stage)
    return {one["title"]: one for one in found[0].get("results", [])}

def same(title, got, wanted):
    assert got == wanted, f"{title}: {got}, not {wanted}"

def classes_of(figure):
    return {index: number for index, number in figure["classes"]}

def add(table, key, amount=1):
    table[key] = table.get(key, 0) + amount
PYTHON

set_of() { # NUMBER CONTIGS LENGTH READS MEAN_LENGTH ERRORS METHYLATED
  mkdir "$1"
  "$sluice" run synthetic_reference --length "$3" --contigs "$2" --seed "$1" --output "$1/reference.fa" --quiet
  "$sluice" run simulate --reference "$1/reference.fa" --reads "$4" --mean-length "$5" --error-rate "$6" --methylated-sites "$7" --seed "$1" --output-prefix "$1/reads" --quiet
}
set_of 1 1 30000 60 3000 0.05 0.7
set_of 2 3 20000 80 2000 0.12 0.2
set_of 3 240 3000 90 1500 0.02 0.5  # more contigs than have rows of their own

# ---- map
for set in 1 2 3; do
  cd "$set"
  map() { "$sluice" run map --reference reference.fa --reads reads.fastq.gz "$@"; }
  map --output a.sam --format sam --report sam.json --quiet
  map --output a.bam --sort --report bam.json --threads 3 --memory 600M --quiet
  map --output a.paf --cigar --report paf_cigar.json --quiet
  map --output b.paf --report paf.json 2>summary.txt
  grep -q 'paf: mapped bases .*mapping quality .*coverage .*x' summary.txt || fail "no figures in the summary: $(cat summary.txt)"
  grep -q 'reads: .* bases, N50 ' summary.txt || fail "no N50 in the summary: $(cat summary.txt)"
  if [ -n "$samtools" ]; then
    "$samtools" coverage a.bam >coverage.txt
    "$samtools" stats -F 0x100 a.bam >stats.txt
  fi
  PYTHONPATH=.. python3 - <<'PYTHON' || fail "figures of map, set $set"
import os, re
from figures import *
lengths = {}
for line in open("reference.fa"):
    name = line[1:].split()[0] if line.startswith(">") else name
    lengths[name] = lengths.get(name, 0) + (0 if line.startswith(">") else len(line.strip()))

def check(figs, alignments, read_bases, exact):
    """alignments: (bases of the read, quality, contig, [(start, end) covered], matches, columns)"""
    same("mapped bases", figs["mapped bases"]["part"], sum(a[0] for a in alignments))
    same("read bases", figs["mapped bases"]["whole"], read_bases)
    same("quality", (figs["mapping quality"]["part"], figs["mapping quality"]["whole"]), (sum(a[1] for a in alignments), len(alignments)))
    wanted, depth, classes = {}, {}, {}
    for a in alignments:
        add(wanted, a[1])
        add(classes, 200 * a[4] // a[5] if a[5] else 0)
        for start, end in a[3]:
            add(depth, a[2], end - start)
    same("qualities", classes_of(figs["mapping quality of alignments"]), wanted)
    rows = {r["name"]: (r["length"], r["amount"]) for r in figs["coverage"]["rows"]}
    if len(lengths) <= 200:
        same("coverage", rows, {name: (n, depth.get(name, 0)) for name, n in lengths.items()})
        for name in lengths:
            same("depth of " + name, sum(w[3] for w in figs["depth along the reference"]["windows"] if w[0] == name), depth.get(name, 0))
    else:
        longest = sorted(lengths, key=lambda name: -lengths[name])[:200]
        others = [name for name in lengths if name not in longest]
        wanted = {name: (lengths[name], depth.get(name, 0)) for name in longest}
        wanted[f"{len(others)} shorter sequences"] = (sum(lengths[n] for n in others), sum(depth.get(n, 0) for n in others))
        same("coverage", rows, wanted)
    windows = figs["depth along the reference"]["windows"]
    for sequence, begin, end, bases, whole in windows[:: max(1, len(windows) // 40)]:
        covered = sum(max(0, min(end, e) - max(begin, s)) for a in alignments if a[2] == sequence for s, e in a[3])
        same(f"depth of {sequence}:{begin}-{end}", bases, covered)
        same("length of a window", whole, end - begin)
    if exact:
        same("identity", (figs["identity"]["part"], figs["identity"]["whole"]), (sum(a[4] for a in alignments), sum(a[5] for a in alignments)))
        same("identities", classes_of(figs["identity of alignments"]), classes)
    else:
        assert "identity" not in figs

def covered(cigar, start):
    blocks, bases, columns = [], 0, 0
    for n, op in re.findall(r"(\d+)([MIDNSHP=X])", cigar):
        n = int(n)
        if op in "M=X":
            blocks.append((start, start + n))
        start += n if op in "M=XDN" else 0
        bases += n if op in "M=XI" else 0
        columns += n if op in "M=XID" else 0
    return blocks, bases, columns

records, read_bases = [], 0
for line in open("a.sam"):
    if line.startswith("@"):
        continue
    f = line.rstrip("\n").split("\t")
    flag = int(f[1])
    if not flag & 0x900:
        read_bases += len(f[9])
    if flag & 0x104:
        continue
    blocks, bases, columns = covered(f[5], int(f[3]) - 1)
    edits = [int(t[5:]) for t in f[11:] if t.startswith("NM:i:")][0]
    records.append((bases, int(f[4]), f[2], blocks, columns - edits, columns))
assert records
sam = figures("sam.json", "sam")
check(sam, records, read_bases, True)
same("BAM, sorted, by three threads", figures("bam.json", "sam"), sam)

def paf(file):
    hits = []
    for line in open(file):
        f = line.rstrip("\n").split("\t")
        if "tp:A:S" in line or "tp:A:i" in line:
            continue
        cigar = [t[5:] for t in f[12:] if t.startswith("cg:Z:")]
        blocks = covered(cigar[0], int(f[7]))[0] if cigar else [(int(f[7]), int(f[8]))]
        hits.append((int(f[3]) - int(f[2]), int(f[11]), f[5], blocks, int(f[9]), int(f[10]) + sum(int(t[5:]) for t in f[12:] if t.startswith("nn:i:"))))
    return hits
check(figures("paf_cigar.json", "paf"), paf("a.paf"), read_bases, True)
check(figures("paf.json", "paf"), paf("b.paf"), read_bases, False)

if os.path.exists("coverage.txt"):
    rows = {r["name"]: r["amount"] / r["length"] for r in sam["coverage"]["rows"]}
    compared = 0
    for line in open("coverage.txt"):
        f = line.split("\t")
        if f[0] in rows:
            compared += 1
            assert abs(float(f[6]) - rows[f[0]]) <= 6e-6 * max(1, rows[f[0]]), ("samtools coverage", line, rows[f[0]])
    assert compared >= min(200, len(lengths))
    stats = {f[1].rstrip(":"): f[2].strip() for f in (line.split("\t") for line in open("stats.txt") if line.startswith("SN\t"))}
    # Its sums leave supplementary records out of some and count them in others: what is without them is compared.
    primary = sum(1 for line in open("a.sam") if not line.startswith("@") and not int(line.split("\t")[1]) & 0x904)
    same("samtools stats, reads mapped", int(stats["reads mapped"]), primary)
    if not any(int(line.split("\t")[1]) & 0x800 for line in open("a.sam") if not line.startswith("@")):
        same("samtools stats, bases mapped (cigar)", int(stats["bases mapped (cigar)"]), sam["mapped bases"]["part"])
        same("samtools stats, mismatches", int(stats["mismatches"]), sam["identity"]["whole"] - sam["identity"]["part"])
PYTHON
  mkdir shards
  for part in 1 2 3; do map --output shards/$part.paf --cigar --shard $part/3 --quiet; done
  "$sluice" merge --output merged.paf --report merged.json --quiet shards/1.paf shards/2.paf shards/3.paf
  cmp a.paf merged.paf || fail "shards of set $set are not the run"
  PYTHONPATH=.. python3 -c "
from figures import *
same('shards', figures('merged.json', 'paf'), figures('paf_cigar.json', 'paf'))" || fail "figures of shards, set $set"
  cd ..
done

# ---- methylation
for set in 1 2 3; do
  cd "$set"
  call() { "$sluice" run methylation --signal reads.blow5 --alignments a.bam --reference reference.fa "$@"; }
  contig=$(head -n 1 reference.fa | cut -c 2- | cut -d ' ' -f 1)
  call --output calls.tsv --frequency frequency.tsv --report calls.json 2>summary.txt
  call --output calls2.tsv --report region.json --report-region "$contig:501-2500" --threads 2 --quiet
  grep -q 'calls: methylated [0-9.]* %, called sites' summary.txt || fail "no figures in the summary: $(cat summary.txt)"
  PYTHONPATH=.. python3 - "$contig" <<'PYTHON' || fail "figures of methylation, set $set"
import math, sys
from figures import *
rows = [line.rstrip("\n").split("\t") for line in open("calls.tsv")]
head, rows = rows[0], rows[1:]
at = {name: i for i, name in enumerate(head)}
methylated = called = every = 0
classes, windows = {}, {}
figs, region = figures("calls.json", "calls"), figures("region.json", "calls")
places = {}
for w in figs["methylation along the reference"]["windows"]:
    places.setdefault(w[0], []).append(w)
for row in rows:
    ratio, sites, start = float(row[at["log_lik_ratio"]]), int(row[at["num_motifs"]]), int(row[at["start"]])
    every += sites
    add(classes, max(-40, min(39, math.floor(round(100 * ratio) / 50))))
    if abs(ratio) < 2.5:
        continue
    called += sites
    methylated += sites if ratio > 0 else 0
    for w in places.get(row[at["chromosome"]], []):
        if w[1] <= start < w[2]:
            add(windows, (w[0], w[1], "part"), sites if ratio > 0 else 0)
            add(windows, (w[0], w[1], "whole"), sites)
assert called > 0
same("methylated", (figs["methylated"]["part"], figs["methylated"]["whole"]), (methylated, called))
same("called", (figs["called sites"]["part"], figs["called sites"]["whole"]), (called, every))
same("ratios", classes_of(figs["log-likelihood ratios"]), classes)
for w in figs["methylation along the reference"]["windows"]:
    same(f"{w[:3]}", (w[3], w[4]), (windows.get((w[0], w[1], "part"), 0), windows.get((w[0], w[1], "whole"), 0)))
# The frequencies count the same sites.
rows = [line.rstrip("\n").split("\t") for line in open("frequency.tsv")]
at = {name: i for i, name in enumerate(rows[0])}
same("called, of the frequencies", sum(int(r[at["called_sites"]]) for r in rows[1:]), called)
same("methylated, of the frequencies", sum(int(r[at["called_sites_methylated"]]) for r in rows[1:]), methylated)
shown = region["methylation along the reference"]["windows"]
assert {w[0] for w in shown} == {sys.argv[1]} and shown[0][1] == 500 and shown[-1][2] == 2500, shown
inside = [r for r in (line.rstrip("\n").split("\t") for line in open("calls.tsv")) if r[0] == sys.argv[1]]
wanted = sum(int(r[9]) for r in inside if 500 <= int(r[2]) < 2500 and abs(float(r[5])) >= 2.5)
same("sites in the region", sum(w[4] for w in shown), wanted)
for title in ("methylated", "called sites", "log-likelihood ratios"):
    same(title, region[title], figs[title])
PYTHON
  call --output x.tsv --report-region nowhere:1-5 --quiet 2>err.txt && fail "a region that is not there was taken"
  grep -q "nowhere" err.txt || fail "$(cat err.txt)"
  cd ..
done
# ---- a run that is killed behind a checkpoint and goes on
"$sluice" run simulate --reference 1/reference.fa --reads 1500 --mean-length 4000 --seed 21 --output-prefix many --quiet
mapped=(map --reference 1/reference.fa --reads many.fastq.gz --cigar --quiet --batch-work 20000)
"$sluice" run "${mapped[@]}" --output whole.paf --report whole.json
if [ ! -e "$library" ]; then
  echo "SKIPPED in part: there is no $library (target sweeps)"
elif ldd "$sluice" | grep -q "lib[at]san"; then
  echo "SKIPPED in part: sanitizers have functions of their own for what is counted here"
else
  saving=("${mapped[@]}" --output killed.paf --checkpoint 0.001 --threads 1)
  FAILING_CALL=kill@1000000000 FAILING_CALL_COUNTS=calls.txt LD_PRELOAD=$library "$sluice" run "${saving[@]}"
  calls=$(cat calls.txt)
  rm killed.paf
  # Before a call in the middle of those that change a file. How many come before the first checkpoint is a matter of time.
  for share in 2 4 6 8; do
    { FAILING_CALL=kill@$((calls * share / 10)) LD_PRELOAD=$library "$sluice" run "${saving[@]}" || true; } 2>/dev/null
    ! ls -A | grep -q '\.resume$' || break
  done
  ls -A | grep -q '\.resume$' || fail "no run of $calls calls that is killed leaves a checkpoint"
  "$sluice" run "${mapped[@]}" --output killed.paf --report killed.json --resume
  cmp whole.paf killed.paf || fail "the run that goes on writes something else"
  python3 -c "
from figures import *
assert json.load(open('killed.json'))['checkpoints']['goes_on']
same('a run that goes on', figures('killed.json', 'paf'), figures('whole.json', 'paf'))" || fail "figures of a run that goes on"
fi

# ---- coverage of sites, pileup
for set in 1 2 3; do
  cd "$set"
  call --output calls.tsv --frequency f.tsv --modbam m.bam --report f.json --quiet
  contig=$(head -n 1 reference.fa | cut -c 2- | cut -d ' ' -f 1)
  pile() { "$sluice" run pileup --alignments m.bam --reference reference.fa "$@"; }
  pile --output sites.bed --report pile.json --report-region "$contig:301-1300" --quiet
  pile --output sites2.bed --report pile2.json --report-region "$contig:301-1300" --quiet --threads 3
  pile --output x.bed --report-region "$contig" --quiet 2>err.txt && fail "a region without an end was taken"
  grep -q 'report_region\|report-region' err.txt || fail "$(cat err.txt)"
  PYTHONPATH=.. python3 - "$contig" <<'PYTHON' || fail "figures of sites, set $set"
import sys
from figures import *
rows = [line.rstrip("\n").split("\t") for line in open("f.tsv")]
at = {name: i for i, name in enumerate(rows[0])}
coverage, reads = {}, 0
for r in rows[1:]:
    n = int(r[at["called_sites"]]) // int(r[at["num_motifs_in_group"]])
    reads += n
    add(coverage, min(n, 200))
figs = figures("f.json", "frequency_file")
same("coverage of sites", (figs["coverage of sites"]["part"], figs["coverage of sites"]["whole"]), (reads, len(rows) - 1))
same("coverages of sites", classes_of(figs["coverage of each site"]), coverage)

figs = figures("pile.json", "sites")
same("other threads", figures("pile2.json", "sites"), figs)
modified = valid = 0
coverage, shares, codes, inside = {}, {}, {}, [0, 0]
rows = [line.rstrip("\n").split("\t") for line in open("sites.bed")]
assert rows
for r in rows:
    n, m = int(r[9]), int(r[11])
    modified, valid = modified + m, valid + n
    add(coverage, min(n, 200))
    if n:
        add(shares, 20 * m // n)
    code = codes.setdefault(r[3], [0, 0])
    code[0] += m
    code[1] += n
    if r[0] == sys.argv[1] and 300 <= int(r[1]) < 1300:
        inside[0] += m
        inside[1] += n
same("modified", (figs["modified"]["part"], figs["modified"]["whole"]), (modified, valid))
same("coverage of rows", (figs["coverage of rows"]["part"], figs["coverage of rows"]["whole"]), (valid, len(rows)))
same("coverages of rows", classes_of(figs["coverage of each row"]), coverage)
same("shares", classes_of(figs["share modified in rows"]), shares)
same("by modification", {r["name"]: [r["amount"], r["length"]] for r in figs["modified, by modification"]["rows"]}, codes)
shown = figs["modified along the region"]["windows"]
same("in the region", [sum(w[3] for w in shown), sum(w[4] for w in shown)], inside)
PYTHON
  cd ..
done

# ---- resquiggle
for set in 1 2 3; do
  cd "$set"
  "$sluice" run resquiggle --signal reads.blow5 --reads reads.fastq.gz --output squiggles.tsv --format tsv --report squiggles.json --quiet
  PYTHONPATH=.. python3 - <<'PYTHON' || fail "figures of resquiggle, set $set"
from figures import *
kmers = placed = samples = 0
dwells, table = {}, {}
for line in open("squiggles.tsv"):
    f = line.split("\t")
    if f[0] == "contig" or f[1] == "kmer_idx":
        continue
    kmers += 1
    if f[2] == ".":
        continue
    n = int(f[3]) - int(f[2])
    placed, samples = placed + 1, samples + n
    add(dwells, min(n, 100))
    table[(f[0], int(f[2]), int(f[3]))] = int(f[1])
figs = figures("squiggles.json", "lines")
same("k-mers with events", (figs["k-mers with events"]["part"], figs["k-mers with events"]["whole"]), (placed, kmers))
same("samples", (figs["samples of a k-mer"]["part"], figs["samples of a k-mer"]["whole"]), (samples, placed))
same("dwells", classes_of(figs["samples of each k-mer"]), dwells)
shown = figs["squiggles of three reads"]["squiggles"]
assert len(shown) == 3, len(shown)
for squiggle in shown:
    assert len(squiggle["events"]) == 60 and len(squiggle["samples"]) <= 800
    for begin, end, level, label in squiggle["events"]:
        same("place", label.split()[1], str(table[(squiggle["read"], begin, end)]))
        inside = [s / 10 for i, s in enumerate(squiggle["samples"]) if begin <= squiggle["first"] + i * squiggle["step"] < end]
        if squiggle["step"] == 1:
            assert abs(sum(inside) / len(inside) - level / 10) <= 0.11, (inside, level)
PYTHON
  cd ..
done

# ---- eventalign
for set in 1 2 3; do
  cd "$set"
  "$sluice" run eventalign --signal reads.blow5 --alignments a.bam --reference reference.fa --output events.tsv --print-read-names --signal-index --report events.json --quiet
  PYTHONPATH=.. python3 - <<'PYTHON' || fail "figures of events, set $set"
from figures import *
rows = [line.rstrip("\n").split("\t") for line in open("events.tsv")]
at, rows = {name: i for i, name in enumerate(rows[0])}, rows[1:]
figs = figures("events.json", "table")
same("events", figs["events aligned"]["amount"], len(rows))
name = at["read_name"] if "read_name" in at else 3
same("events of a read", (figs["events of a read"]["part"], figs["events of a read"]["whole"]), (len(rows), len({r[name] for r in rows})))
table = {(r[name], int(r[at["start_idx"]]), int(r[at["end_idx"]])): r for r in rows}
shown = figs["squiggles of three reads"]["squiggles"]
assert len(shown) == 3, len(shown)
for squiggle in shown:
    assert len(squiggle["events"]) == 60 and len(squiggle["samples"]) <= 800
    for begin, end, level, label in squiggle["events"]:
        row = table[(squiggle["read"], begin, end)]
        assert abs(float(row[at["event_level_mean"]]) - level / 10) <= 0.06, (row, level)
        same("place", label, f"{row[0]}:{int(row[1]) + 1} {row[2]}")
        inside = [s / 10 for i, s in enumerate(squiggle["samples"]) if begin <= squiggle["first"] + i * squiggle["step"] < end]
        if squiggle["step"] == 1:
            assert abs(sum(inside) / len(inside) - level / 10) < 1, (inside, level)
PYTHON
  cd ..
done

# ---- polish, correct: drafts are reads of the same genome, long and with errors
for set in 4 5 6; do
  set_of "$set" 1 20000 150 2500 0.0"$((set + 3))" 0.5
  cd "$set"
  "$sluice" run simulate --reference reference.fa --reads 2 --mean-length 15000 --error-rate 0.05 --seed "$((set + 10))" --output-prefix draft --quiet
  "$sluice" run polish --targets draft.fastq.gz --reads reads.fastq.gz --output polished.fa --changes changes.vcf --include-unpolished --report polish.json --quiet
  "$sluice" run polish --targets draft.fastq.gz --reads reads.fastq.gz --output polished2.fa --include-unpolished --report polish2.json --quiet --threads 3
  "$sluice" run correct --reads reads.fastq.gz --output corrected.fa --report correct.json --quiet
  PYTHONPATH=.. python3 - <<'PYTHON' || fail "figures of polish and correct, set $set"
import gzip, re
from figures import *
figs = figures("polish.json", "contigs")
same("other threads", figures("polish2.json", "contigs"), figs)
substituted = inserted = deleted = 0
for line in open("changes.vcf"):
    if line.startswith("#"):
        continue
    ref, alt = line.split("\t")[3:5]
    # A base that only says where an insertion or deletion is.
    if len(ref) != len(alt) and 1 in (len(ref), len(alt)):
        if ref[0] == alt[0]:
            ref, alt = ref[1:], alt[1:]
        elif ref[-1] == alt[-1]:
            ref, alt = ref[:-1], alt[:-1]
    both = min(len(ref), len(alt))
    substituted, inserted, deleted = substituted + both, inserted + len(alt) - both, deleted + len(ref) - both
assert substituted and inserted and deleted
same("substituted", figs["bases substituted"]["amount"], substituted)
same("inserted", figs["bases inserted"]["amount"], inserted)
same("deleted", figs["bases deleted"]["amount"], deleted)
def fasta(text):
    return {name.split()[0]: "".join(lines.split("\n")) for name, _, lines in (part.partition("\n") for part in text.split(">")[1:])}
before, text = {}, gzip.open("draft.fastq.gz", "rt").read().split("\n")
for i in range(0, len(text) - 3, 4):
    before[text[i][1:].split()[0]] = text[i + 1]
after = fasta(open("polished.fa").read())
same("bases", sum(map(len, after.values())) - sum(map(len, before.values())), inserted - deleted)
windows = sum((len(b) + 499) // 500 for b in before.values())
same("windows", figs["polished windows"]["whole"], windows)
same("windows with changes", sum(n for _, n in figs["changes in a window"]["classes"]), figs["polished windows"]["part"])

reads, text = {}, gzip.open("reads.fastq.gz", "rt").read().split("\n")
for i in range(0, len(text) - 3, 4):
    reads[text[i][1:].split()[0]] = text[i + 1]
corrected = fasta(open("corrected.fa").read())
figs = figures("correct.json", "corrected")
own = {name: sum(map(str.islower, bases)) for name, bases in corrected.items()}
assert own.keys() == reads.keys()
same("corrected", (figs["corrected bases"]["part"], figs["corrected bases"]["whole"]), (sum(len(reads[n]) - own[n] for n in reads), sum(map(len, reads.values()))))
votes = figures("correct.json", "votes")
before, after = (votes["identity with overlapping reads, " + when] for when in ("uncorrected", "corrected"))
assert 0.5 < before["part"] / before["whole"] < after["part"] / after["whole"] < 1, (before, after)
same("corrected reads", (figs["corrected reads"]["part"], figs["corrected reads"]["whole"]), (sum(own[n] < len(reads[n]) for n in reads), len(reads)))
classes = {}
for name, bases in reads.items():
    add(classes, 20 * (len(bases) - own[name]) // len(bases))
same("shares", classes_of(figs["corrected share of reads"]), classes)
PYTHON
  cd ..
done

# ---- classify_signal
"$sluice" run synthetic_reference --length 20000 --contigs 2 --seed 31 --output targets.fa --quiet
for set in 1 2 3; do
  "$sluice" run simulate --reference targets.fa --reads $((20 * set)) --mean-length 1000 --seed "3$set" --output-prefix near --quiet
  "$sluice" run simulate --reference "$set/reference.fa" --reads 40 --mean-length 1000 --seed "4$set" --output-prefix far --quiet
  "$sluice" run classify_signal --signal near.blow5 --signal far.blow5 --target targets.fa --output decisions.tsv --report decisions.json 2>summary.txt
  grep -q 'calls: accepted [0-9]* ([0-9.]* %), rejected' summary.txt || fail "no figures in the summary: $(cat summary.txt)"
  python3 - <<'PYTHON' || fail "figures of decisions, set $set"
from figures import *
rows = [line.rstrip("\n").split("\t") for line in open("decisions.tsv")][1:]
figs = figures("decisions.json", "calls")
targets, scores = {"synthetic_1": 0, "synthetic_2": 0}, {"accept": {}, "reject": {}}
for r in rows:
    if r[1] == "accept":
        add(targets, r[4])
    if r[1] in scores and r[2] != ".":
        add(scores[r[1]], round(float(r[2]) * 1e6) // 10000)
for title, decision in (("accepted", "accept"), ("rejected", "reject"), ("undecided", "wait")):
    same(title, (figs[title]["part"], figs[title]["whole"]), (sum(r[1] == decision for r in rows), len(rows)))
assert figs["accepted"]["part"] and figs["rejected"]["part"]
same("by target", {r["name"]: r["amount"] for r in figs["accepted reads by target"]["rows"]}, targets)
same("scores", classes_of(figs["scores of accepted reads"]), scores["accept"])
same("scores of others", classes_of(figs["scores of rejected reads"]), scores["reject"])
PYTHON
done
echo "all right"
