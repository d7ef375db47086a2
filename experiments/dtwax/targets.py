# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Targets of other sizes: SARS-CoV-2's, lambda's, and a bacterium's, where seeds replace the alignment to all of the target."""

from dtwax import prefixes, published
from framework import plot

TITLE = "DTWax: targets from 30 kb to 5 Mb"


def run(e):
    sizes = (("SARS-CoV-2's size", "sars", 29903, 71), ("lambda's size", "lambda", 48502, 61)) + e.pick((), (("200 kb", "middle", 200000, 72),), (("E. coli's size", "ecoli", 4640000, 73),))
    bases = 250
    e.data("Reads as in the table `prefixes`, with %d bases of each; targets of random bases where --data has none." % bases)
    table = e.table("target, program", "targets accepted", "others accepted", "F1", "reads per CPU s", "reads/s")
    bars = []
    for title, name, length, seed in sizes:
        target, reads, others = prefixes.inputs(e, name, length, seed)
        targets = prefixes.names(reads)
        first = None
        for device, reason in e.devices():
            if reason:
                continue
            made, run = prefixes.classify(e, target, (reads, others), bases, device)
            score, hits, false = prefixes.f1(made, targets)
            table.row("%s: sluice, %s" % (title, device), hits, false, "%.4f" % score, len(made) / run.cpu, len(made) / run.wall)
            if device == "cpu":
                first = made
                bars.append(("sluice, " + title, len(made) / run.cpu))
                e.check(score > 0.95, "%s: F1 above 0.95" % title)
            else:
                e.check(made == first, "%s: decisions of %s are those of cpu" % (title, device))
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    e.picture(plot.bars("Reads decided", "reads per CPU second", bars))
    published.accuracy(e)
    e.compare("SquiggleFilter ends at 100 kb; DTWax's rate falls with the target's length as any full alignment does. sluice aligns to all of the target up to megabases, and finds places by seeds above.")
