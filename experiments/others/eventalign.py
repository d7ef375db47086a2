# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Events aligned to the reference, beside nanopolish."""

import shutil

from framework import plot
from others import published

TITLE = "eventalign, beside nanopolish"


def places(path):
    """(read, event): place, of a table with names."""
    with open(path, encoding="utf-8") as lines:
        names = next(lines).rstrip("\n").split("\t")
        at = [names.index("read_name"), names.index("event_index"), names.index("position")]
        return {(cells[at[0]], cells[at[1]]): cells[at[2]] for cells in (line.split("\t", max(at) + 1) for line in lines)}


def run(e):
    reference = e.reference("ecoli", e.pick(300000, 1000000, 5000000))
    folder = e.simulated("events", reference, e.pick(20, 120, 4000), seed=85, mean_length=e.pick(3000, 8000, 8000))
    bases = e.bases(folder + "/reads.fastq.gz")
    e.data("%.2f Mbases of simulated R9.4.1 reads with 5 %% errors." % (bases / 1e6))
    reads = e.path("reads.fastq.gz")
    shutil.copyfile(folder + "/reads.fastq.gz", reads)
    common = ["--signal", folder + "/reads.blow5", "--reads", reads, "--alignments", folder + "/reads.bam", "--reference", reference, "--print-read-names"]
    e.sluice_quietly("eventalign", *common, "--output", e.path("first.tsv"))
    table = e.table("program", "wall s", "CPU s", "peak MB", "CPU s over sluice's on the CPU")
    bars, cpu = [], None
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice, %s" % device, reason)
            continue
        run = e.sluice("eventalign", *common, "--output", e.path(device + ".tsv"), device=device)
        cpu = cpu or run
        table.row("sluice, %s" % device, run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
        bars.append(("sluice, " + device, bases / 1e6 / run.cpu))
        if device != "cpu":
            e.same(e.path("cpu.tsv"), e.path(device + ".tsv"), "rows of %s are those of cpu" % device)
    ours = places(e.path("cpu.tsv"))
    reads_named = {read for read, _ in ours}
    e.check(len(reads_named) >= 0.95 * e.pick(20, 120, 4000) and len(ours) > 0.5 * bases, "19 of 20 reads have events, and most bases do")
    if e.peer("nanopolish"):
        with e.beside("nanopolish", table):
            e.measure(["nanopolish", "index", "--slow5", folder + "/reads.blow5", reads])
            run = e.median(lambda: e.measure(["nanopolish", "eventalign", "-t", str(e.threads), "--print-read-names", "-r", reads, "-b", folder + "/reads.bam", "-g", reference], stdout=e.path("nanopolish.tsv")))
            table.row("nanopolish", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
            bars.append(("nanopolish", bases / 1e6 / run.cpu))
            theirs = places(e.path("nanopolish.tsv"))
            both = ours.keys() & theirs.keys()
            alike = sum(ours[k] == theirs[k] for k in both) / max(len(both), 1)
            e.note("nanopolish: %.2f %% of the events of either are in both tables, %.2f %% of these at the same place; its built-in model is another one." % (100 * len(both) / max(len(ours.keys() | theirs.keys()), 1), 100 * alike))
            e.check(len(both) > 0.9 * len(ours) and alike > 0.9, "nine of ten events lie where nanopolish puts them")
    else:
        e.not_installed(table, "nanopolish")
    e.picture(plot.bars("eventalign", "Mbases per CPU second", bars))
    published.events(e)
    e.compare("nanopolish's row is of the same files on this machine.")
