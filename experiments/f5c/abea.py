# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""ABEA alone (figures 3 and 4 of the paper), and resquiggle, the command that does little else."""

import os

from f5c import methylation, published
from framework import plot

TITLE = "f5c: adaptive banded event alignment"


def tiles(path, reads):
    """Whether the table has each read, each of its k-mers once and in order, with parts of the signal that neither overlap nor run backwards."""
    seen, last, end, current = set(), -1, 0, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if not cells[1].isdigit():
                continue
            if cells[0] != current:
                current, last, end = cells[0], -1, 0
                seen.add(current)
            if int(cells[1]) != last + 1:
                return False
            last += 1
            if cells[2] != ".":
                if int(cells[2]) < end or int(cells[3]) <= int(cells[2]):
                    return False
                end = int(cells[3])
    return len(seen) >= 0.98 * reads


def run(e):
    folder, reference, _ = methylation.inputs(e)
    bases = e.bases(folder + "/reads.fastq.gz")
    e.data("The reads of the table `methylation`: %.2f Mbases." % (bases / 1e6))
    common = ["--signal", folder + "/reads.blow5", "--reads", folder + "/reads.fastq.gz", "--alignments", folder + "/reads.bam", "--reference", reference, "--output", e.path("unused.tsv")]
    table = e.table("stage alone, batches in memory", "s", "Mbases/s", "over cpu")
    whole = e.table("resquiggle, whole process", "wall s", "CPU s", "peak MB", "Mbases/s ")
    bars, first = [], None
    e.sluice_quietly("resquiggle", folder + "/reads.fastq.gz", folder + "/reads.blow5", "--output", e.path("first.tsv"))
    for device, reason in e.devices():
        name = "ABEA, %s" % device
        if reason:
            e.skipped(table, name, reason)
            e.skipped(whole, "sluice resquiggle, %s" % device, reason)
            continue
        if device != "auto":
            seconds = e.bench("abea", "methylation", *common, device=device)
            first = first or seconds
            table.row(name, seconds, bases / 1e6 / seconds, first / seconds)
            bars.append(("sluice, ABEA alone, " + device, bases / 1e6 / seconds))
        run = e.sluice("resquiggle", folder + "/reads.fastq.gz", folder + "/reads.blow5", "--output", e.path(device + ".tsv"), device=device)
        whole.row("sluice resquiggle, %s" % device, run.wall, run.cpu, run.megabytes, bases / 1e6 / run.wall)
        bars.append(("sluice, resquiggle, " + device, bases / 1e6 / run.wall))
        if device != "cpu":
            e.same(e.path("cpu.tsv"), e.path(device + ".tsv"), "resquiggle on %s gives the bytes of cpu" % device)
    if e.peer("f5c"):
        with e.beside("f5c resquiggle", whole):
            run = e.median(lambda: e.measure(["f5c", "resquiggle", "-t", str(e.threads), "--pore", "r9", folder + "/reads.fastq.gz", folder + "/reads.blow5"], stdout=e.path("f5c.tsv")))
            e.check(os.path.getsize(e.path("f5c.tsv")) > 0, "f5c resquiggle writes a table")
            whole.row("f5c resquiggle", run.wall, run.cpu, run.megabytes, bases / 1e6 / run.wall)
            bars.append(("f5c, resquiggle", bases / 1e6 / run.wall))
    else:
        e.not_installed(whole, "f5c resquiggle")
    report_reads = sum(1 for _ in methylation_reads(folder))
    e.check(tiles(e.path("cpu.tsv"), report_reads), "each read's k-mers are in order, and their parts of the signal do not overlap")
    e.picture(plot.bars("Adaptive banded event alignment", "Mbases per second (ABEA alone: without reading, events and scaling)", bars))
    published.alignment(e)
    e.compare("The paper's ratios have both sides of one machine; ours do where there is a row for `cuda`. A ratio says as much of the processor as of the card.")


def methylation_reads(folder):
    from framework.sequences import sequences
    return sequences(folder + "/reads.fastq.gz")
