# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A reference of human size: the index, and mapping with the index at hand."""

import os

from framework import plot
from framework.places import good_places, write_truth
from mm2ax import published

TITLE = "mm2-ax: a reference as large as the human genome (small: a sixtieth of it)"


def run(e):
    contigs = e.pick(2, 4, 31)
    reference = e.reference("human", e.pick(1000000, 12000000, 100000000), seed=91, contigs=contigs, gc_content=0.41, cpg_ratio=0.25, repeats=0.45, repeat_divergence=0.1)
    folder = e.simulated("human", reference, e.pick(50, 1000, 30000), seed=92, plain=True, mean_length=10000, error_rate=0.08, set="stages.signal_file.enabled=false")
    reads = folder + "/reads.fq"
    bases = e.bases(reads)
    e.data("%d contigs of %d Mb with repeats, 41 %% GC (the human genome has 24 of 46 to 248 Mb), and %.0f Mbases of simulated reads of 10 kb with 8 %% errors."
           % (contigs, os.path.getsize(reference) // contigs // 1000000, bases / 1e6))
    table = e.table("run", "wall s", "CPU s", "peak MB")
    write_truth(e, folder + "/reads.bam", e.path("truth.tsv"))
    index, bars = e.path("index"), []
    memory = e.pick("1GiB", "4GiB", "24GiB")
    made = e.measure([e.program, "index", reference, "-o", index, "--threads", str(e.threads), "--memory", memory, "--quiet", "--device", "cpu"])
    table.row("sluice: index", made.wall, made.cpu, made.megabytes)
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice, %s: mapping with the index" % device, reason)
            continue
        run = e.sluice("map", index, reads, "--output", e.path(device + ".paf"), "--memory", memory, device=device)
        table.row("sluice, %s: mapping with the index" % device, run.wall, run.cpu, run.megabytes)
        bars.append(("sluice, " + device, run.cpu))
        if device != "cpu":
            e.same(e.path("cpu.paf"), e.path(device + ".paf"), "lines of %s are those of cpu" % device)
    if e.peer("minimap2"):
        with e.beside("minimap2", table):
            made = e.measure(["minimap2", "-x", "map-ont", "-I", "8G", "-t", str(e.threads), "-d", e.path("mmi"), reference])
            table.row("minimap2: index", made.wall, made.cpu, made.megabytes)
            run = e.median(lambda: e.measure(["minimap2", "-x", "map-ont", "-t", str(e.threads), e.path("mmi"), reads], stdout=e.path("theirs.paf")))
            table.row("minimap2: mapping with the index", run.wall, run.cpu, run.megabytes)
            bars.append(("minimap2", run.cpu))
            e.check(good_places(e.path("theirs.paf"), e.path("truth.tsv")), "minimap2's lines are of the same reads: 98 of 100 lie where they are from")
    else:
        e.not_installed(table, "minimap2")
    e.check(good_places(e.path("cpu.paf"), e.path("truth.tsv")), "98 of 100 reads lie where they are from")
    e.picture(plot.bars("Mapping with the index at hand", "CPU seconds", bars))
    published.mapping(e)
    e.compare("minimap2's rows are its default heuristics, on the same files and machine. The size small is a sixtieth of the human genome; full has its size.")
