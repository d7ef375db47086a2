# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Chaining alone, for reads of 10, 50 and 100 kb, with the anchors in memory."""

import re

from framework import plot
from mm2ax import mapping, published

TITLE = "mm2-ax: chaining alone"


def run(e):
    reference, sets = mapping.inputs(e)
    table = e.table("reads, device", "s", "Mbases/s", "over cpu", "rate")
    bars = []
    for name, folder in sets:
        bases, first = e.bases(folder + "/reads.fq"), None
        for device, reason in e.devices():
            if reason or device == "auto":
                continue
            seconds = e.bench("chains", "map", "--reference", reference, "--reads", folder + "/reads.fq", "--output", e.path("unused.paf"), device=device)
            with open(e.path("bench"), encoding="utf-8") as file:
                rate = re.search(r"^all: \S+ [\d.]+ m?s, ([^(]*)", file.read(), re.M)
            first = first or seconds
            table.row("%s, %s" % (name, device), seconds, bases / 1e6 / seconds, first / seconds, rate[1].strip() if rate else "")
            bars.append(("sluice, %s, %s" % (device, name), bases / 1e6 / seconds))
        # The scores that the chains end with are minimap2's, if all lines are: the table `mapping` counts them. Here: whole runs say the same of batches.
        once, small = e.path("once.paf"), e.path("small.paf")
        e.sluice("map", reference, folder + "/reads.fq", "--output", once)
        e.sluice("map", reference, folder + "/reads.fq", "--output", small, "--batch-work", 200000, threads=1)
        e.same(once, small, "%s: the same lines with one thread and small batches" % name)
        with open(once, encoding="utf-8") as lines:
            good = [int(c[2]) < int(c[3]) <= int(c[1]) and int(c[7]) < int(c[8]) <= int(c[6]) and 0 < int(c[9]) <= int(c[10]) for c in (line.split("\t") for line in lines)]
        e.check(good and all(good), "%s: each chain lies within its read and contig" % name)
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    e.picture(plot.bars("Chaining alone", "Mbases of reads per second", bars))
    published.chaining(e)
    e.compare("mm2-ax is closed source and of minimap2 2.17; its ratios are to mm2-fast on 30 cores. Ours, where a device is there, are to sluice's own exact chaining on all of this machine's cores; minimap2's chaining alone was not measured.")
