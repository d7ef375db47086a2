# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A target of lambda's size among human-like reads: F1 by length of the prefix, with thousands of negatives."""

from dtwax import published
from framework import plot
from framework.sequences import sequences

TITLE = "DTWax: F1 by length of the prefix"


def names(folder):
    return {name for name, _ in sequences(folder + "/reads.fastq.gz")}


def decisions(path):
    """Read: accepted?"""
    with open(path, encoding="utf-8") as lines:
        header = next(lines).rstrip("\n").split("\t")
        at = header.index("decision")
        return {cells[0]: cells[at] == "accept" for cells in (line.rstrip("\n").split("\t") for line in lines)}


def f1(made, targets):
    hits = sum(made[name] and name in targets for name in made)
    accepted = sum(made.values())
    return 2 * hits / (accepted + len(targets)) if accepted else 0.0, hits, accepted - hits


def inputs(e, name="lambda", length=48502, seed=61):
    """(target, folder of its reads, folder of others)."""
    target = e.given({"lambda": "target.fa", "sars": "sars-cov-2.fa", "ecoli": "ecoli.fa"}.get(name, "none"))
    target = target or e.reference("target-" + name, length, seed=seed)
    background = e.reference("background", e.pick(200000, 3000000, 100000000), seed=62, gc_content=0.41, cpg_ratio=0.25, repeats=0.45, repeat_divergence=0.1, tandem_repeats=0.05)
    options = dict(mean_length=1500, minimum_length=600)
    return (target, e.simulated("target-" + name, target, e.pick(60, 500, 2000), seed=63, **options), e.simulated("background", background, e.pick(100, 3000, 20000), seed=64, **options))


def classify(e, target, folders, bases, device):
    """Decisions on the reads of all folders, and the run with their seconds added."""
    total, made = None, {}
    for i, folder in enumerate(folders):
        output = e.path("%s-%d.tsv" % (device, i))
        run = e.sluice("classify_signal", "--signal", folder + "/reads.blow5", "--target", target, "--prefix-bases", bases, "--output", output, device=device)
        made.update(decisions(output))
        if total:
            run.wall, run.cpu = run.wall + total.wall, run.cpu + total.cpu
        total = run
    return made, total


def run(e):
    target, reads, others = inputs(e)
    targets, negatives = names(reads), names(others)
    e.data("%d reads of a target of %.1f kb (%s) and %d others of a human-like background (41 %% GC, a quarter of the CpGs, 45 %% copies of repeats, tandem repeats), "
           "simulated R9.4.1 signal without adapters; built-in thresholds, chosen on other sets. The paper has lambda and human reads." % (len(targets), e.bases(target) / 1e3, "of --data" if e.used else "random bases, lambda's length", len(negatives)))
    table = e.table("prefix, program", "targets accepted", "others accepted", "F1", "reads per CPU s", "reads/s")
    curves = {}
    for bases in e.pick((100, 250), (50, 100, 150, 200, 250), (50, 100, 150, 200, 250)):
        first = None
        for device, reason in e.devices():
            if reason:
                continue
            made, run = classify(e, target, (reads, others), bases, device)
            score, hits, false = f1(made, targets)
            table.row("%d bases: sluice, %s" % (bases, device), hits, false, "%.4f" % score, len(made) / run.cpu, len(made) / run.wall)
            if device == "cpu":
                first = made
                curves.setdefault("sluice", []).append((bases, score))
                e.check(made.keys() == targets | negatives, "%d bases: each read has a decision" % bases)
                if bases == 250:
                    e.check(score > 0.97, "250 bases: F1 above 0.97")
            else:
                e.check(made == first, "%d bases: decisions of %s are those of cpu" % (bases, device))
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    uncalled(e, table, target, reads, others, targets)
    rawhash2(e, table, target, (reads, others), targets)
    e.note("sigmap: %s." % ("there, but not run: no script here knows its options" if e.peer("sigmap") else "not installed"))
    e.picture(plot.lines("F1 by length of the prefix", "bases", "F1", list(curves.items()), most=1))
    published.accuracy(e)
    e.compare("F1 on simulated reads says that the method works and what it costs, not what real pores give: for real lambda, human and E. coli reads see docs/read-until-results.md. DTWax's own F1 was not found.")


def uncalled(e, table, target, reads, others, targets):
    signal = e.given("fast5")
    if not e.peer("uncalled") or not signal:
        e.note("uncalled: %s." % ("it reads FAST5 only; runs where --data has a folder fast5" if e.peer("uncalled") else "not installed"))
        return
    with e.beside("whole reads: uncalled", table):
        e.measure(["uncalled", "index", "-o", e.path("uncalled"), target])
        run = e.median(lambda: e.measure(["uncalled", "map", "-t", str(e.threads), e.path("uncalled"), signal], stdout=e.path("uncalled.paf")))
        add_mapped(table, "whole reads: uncalled", e.path("uncalled.paf"), targets, run)


def rawhash2(e, table, target, folders, targets):
    model = e.given("rawhash2.model")
    if not e.peer("rawhash2") or not model:
        e.note("rawhash2: %s." % ("it has no pore model of its own; runs where --data has rawhash2.model, its R9.4 table of 6-mers" if e.peer("rawhash2") else "not installed"))
        return
    with e.beside("whole reads: rawhash2", table):
        e.measure(["rawhash2", "-x", "viral", "-t", str(e.threads), "-p", model, "-d", e.path("rawhash2.index"), target])
        signals = [folder + "/reads.blow5" for folder in folders]
        run = e.median(lambda: e.measure(["rawhash2", "-x", "viral", "-t", str(e.threads), e.path("rawhash2.index"), *signals], stdout=e.path("rawhash2.paf")))
        add_mapped(table, "whole reads: rawhash2", e.path("rawhash2.paf"), targets, run)


def add_mapped(table, title, paf, targets, run):
    """Reads that a mapper of signal finds in the target, of its PAF, in which a read without a place has stars."""
    with open(paf, encoding="utf-8") as lines:
        cells = [line.rstrip("\n").split("\t") for line in lines]
    reads, mapped = {line[0] for line in cells}, {line[0] for line in cells if line[5] != "*"}
    score = f1({name: name in mapped for name in mapped | targets}, targets)[0]
    table.row(title, len(mapped & targets), len(mapped - targets), "%.4f" % score, len(reads) / run.cpu, len(reads) / run.wall)
