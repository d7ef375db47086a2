# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Polishing a draft, beside racon."""

from framework import plot
from framework.sequences import edit_distance, reverse_complement, sequences
from others import published

TITLE = "Polishing, beside racon"


def errors(truth, path):
    """Edit distance of the polished contig to the truth, of the strand that shares more words with it."""
    contig = "".join(bases for _, bases in sequences(path)).upper()
    words = {truth[i:i + 20] for i in range(0, len(truth) - 20)}
    shared = lambda bases: sum(bases[i:i + 20] in words for i in range(0, len(bases) - 20, 20))
    reverse = reverse_complement(contig)
    return edit_distance(truth, contig if shared(contig) >= shared(reverse) else reverse, len(truth) // 30)


def run(e):
    length = e.pick(30000, 200000, 1000000)
    reference = e.reference("draft", length, seed=81)
    draft_folder = e.simulated("draft", reference, 1, seed=82, signal=False, plain=True, mean_length=length - 1, minimum_length=length - 1, length_distribution="fixed", error_rate=0.05)
    folder = e.simulated("polish", reference, 20 * length // 8000, seed=83, signal=False, plain=True, mean_length=8000, error_rate=0.08)
    reads, draft, overlaps = folder + "/reads.fq", e.path("draft.fa"), e.path("overlaps.paf")
    with open(draft, "w", encoding="utf-8") as out:
        out.writelines(">contig\n%s\n" % bases for _, bases in sequences(draft_folder + "/reads.fq"))
    truth = "".join(bases for _, bases in sequences(reference)).upper()
    e.data("%d kb of random bases, a draft with 5 %% errors, 20-fold reads of 8 kb with 8 %% errors; the overlaps are sluice's, made beforehand." % (length // 1000))
    e.sluice_quietly("map", draft, reads, "--output", overlaps)
    table = e.table("program", "wall s", "CPU s", "peak MB", "CPU s over sluice's on the CPU", "errors left in 100 kb")
    bars, cpu, ours = [], None, None
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice polish, %s" % device, reason)
            continue
        run = e.sluice("polish", reads, overlaps, draft, "--output", e.path(device + ".fa"), device=device)
        cpu = cpu or run
        left = errors(truth, e.path(device + ".fa"))
        table.row("sluice polish, %s" % device, run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu, 1e5 * left / length)
        bars.append(("sluice, " + device, run.cpu))
        if device == "cpu":
            ours = left
            e.check(left < 0.01 * length, "four of five errors are gone")
        else:
            e.same(e.path("cpu.fa"), e.path(device + ".fa"), "the contig of %s is that of cpu" % device)
    run = e.sluice("polish", reads, overlaps, draft, "--compat", "racon", "--output", e.path("compat.fa"))
    table.row("sluice polish --compat racon, cpu", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu, 1e5 * errors(truth, e.path("compat.fa")) / length)
    if e.peer("racon"):
        with e.beside("racon", table):
            run = e.median(lambda: e.measure(["racon", "-t", str(e.threads), reads, overlaps, draft], stdout=e.path("racon.fa")))
            theirs = errors(truth, e.path("racon.fa"))
            table.row("racon", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu, 1e5 * theirs / length)
            bars.append(("racon", run.cpu))
            e.same(e.path("compat.fa"), e.path("racon.fa"), "with --compat racon the bytes are racon's")
            e.check(ours <= 1.1 * theirs + 5, "no more errors than racon leaves")
    else:
        e.not_installed(table, "racon")
    e.picture(plot.bars("Polishing", "CPU seconds", bars))
    published.consensus(e)
    e.compare("racon's row is of the same files on this machine.")
