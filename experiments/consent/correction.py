# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Self-correction from end to end at 10 to 20 % errors, beside minimap2 with racon -f and CONSENT."""

from consent import published
from framework import plot
from framework.sequences import edit_distance, sequences

TITLE = "CONSENT on GPUs: correction by error rate"
COLUMNS = ("reads, program", "wall s", "CPU s", "peak MB", "reads lost", "identity, %", "bases kept, %")


def judged(e, folder, path):
    """(lost, identity in %) by correction_truth: edit distance from end to end to each read's own truth."""
    e.measure([e.tool("correction_truth"), folder, path], stdout=e.path("judged"))
    with open(e.path("judged"), encoding="utf-8") as file:
        cells = file.read().split("\t")
    return int(cells[1]), float(cells[2])


def make_set(e, name, **numbers):
    return e.made("correction-" + name, lambda folder: e.measure([e.tool("make_correction_set"), folder] + ["%s=%d" % pair for pair in numbers.items()]))


def one_set(e, table, name, folder, curves, at, with_peers=True):
    """All programs on one set: rows, checks, and points of the curves at x = `at`."""
    reads = folder + "/reads.fq"
    there = e.bases(reads)
    plain = e.path("plain.fa")
    with open(plain, "w", encoding="utf-8") as out:
        out.writelines(">%s\n%s\n" % record for record in sequences(reads))
    _, before = judged(e, folder, plain)
    table.row(name + ": before", "", "", "", 0, "%.3f" % before, 100)
    curves.setdefault("before", []).append((at, before))

    def row(program, run, path):
        lost, right = judged(e, folder, path)
        kept = 100 * sum(len(bases) for _, bases in sequences(path)) / there
        table.row("%s: %s" % (name, program), run.wall, run.cpu, run.megabytes, lost, "%.3f" % right, "%.1f" % kept)
        curves.setdefault(program, []).append((at, right))
        return lost, right, kept

    for device, reason in e.devices():
        if reason:
            continue
        output = e.path(device + ".fa")
        run = e.sluice("correct", reads, "--output", output, device=device)
        if device == "cpu":
            lost, right, kept = row("sluice, cpu", run, output)
            e.check(lost == 0 and kept > 90, "%s: no read is lost" % name)
            hard = before < 85  # where overlaps are hardly found at 20-fold: reads must at least not get worse
            if hard:
                e.check(right >= before, "%s: reads are no worse than before" % name)
                e.note("%s: hardly corrected at 20-fold with the default settings: room that is left. racon loses most of these reads." % name)
            else:
                e.check(100 - right < 0.5 * (100 - before), "%s: more than half of the errors are gone" % name)
            # The judge itself, on one read, by another method.
            read, corrected = min(sequences(output), key=lambda record: abs(len(record[1]) - 2000))
            truth = dict(sequences(folder + "/truth.fa"))[read]
            e.check(edit_distance(truth.upper(), corrected.upper()) < edit_distance(truth.upper(), dict(sequences(reads))[read].upper()) + hard, "%s: a read of about 2 kb is nearer to its truth (at 20 %%: no further from it), by another aligner" % name)
        else:
            row("sluice, " + device, run, output)
            e.same(e.path("cpu.fa"), output, "%s: reads of %s are those of cpu" % (name, device))
    if not with_peers:
        return
    if e.peer("minimap2") and e.peer("racon"):
        # With its windows of 500 bases, and with 200, which are better where reads are short.
        for program, width in (("minimap2 and racon -f", 500), ("minimap2 and racon -f -w 200", 200)):
            with e.beside("%s: %s" % (name, program), table):
                overlaps = e.measure(["minimap2", "-x", "ava-ont", "--dual=yes", "-t", str(e.threads), reads, reads], stdout=e.path("overlaps.paf"))
                racon = e.measure(["racon", "-f", "-w", str(width), "-t", str(e.threads), reads, e.path("overlaps.paf"), reads], stdout=e.path("racon.out"))
                racon.wall, racon.cpu, racon.megabytes = racon.wall + overlaps.wall, racon.cpu + overlaps.cpu, max(racon.megabytes, overlaps.megabytes)
                with open(e.path("racon.fa"), "w", encoding="utf-8") as out:
                    out.writelines(">%s\n%s\n" % (title[:-1] if title.endswith("r") else title, bases) for title, bases in sequences(e.path("racon.out")))
                row(program, racon, e.path("racon.fa"))
    if e.peer("CONSENT-correct"):
        with e.beside("%s: CONSENT" % name, table):
            run = e.measure(["CONSENT-correct", "--in", reads, "--out", e.path("consent.fa"), "--type", "ONT", "-j", str(e.threads)])
            row("CONSENT", run, e.path("consent.fa"))


def ends(e):
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    for program in ("racon", "CONSENT-correct"):
        if not e.peer(program):
            e.note("%s: not installed." % program)
    if e.peer("racon"):
        e.note("racon -f drops reads of which it polishes no window, and leaves bases that too few overlaps reach; with -u it would keep those reads as they are.")
    published.correction(e)
    e.compare("All rows are of the same reads on this machine; seconds hold the finding of overlaps. Identity is by edit distance to each read's own truth from end to end, of reads that are not lost.")
    e.compare("The published ratio is of CONSENT's own CPU version, which is not installed where it has no row.")


def run(e):
    e.data("Simulated reads of %d kb on average (gamma), 20-fold of a random genome of %d kb; the paper has real and simulated PacBio and nanopore reads." % (e.pick(2, 5, 8), e.pick(8, 25, 400)))
    table, curves = e.table(*COLUMNS), {}
    for percent in e.pick((10,), (10, 15, 20), (10, 12, 15, 20)):
        folder = make_set(e, "errors-%d" % percent, seed=300 + percent, genome=e.pick(8000, 25000, 400000), coverage=20, mean=e.pick(2000, 5000, 8000), errors=percent * 10000)
        one_set(e, table, "%d %%" % percent, folder, curves, percent)
    e.picture(plot.lines("Identity after correction", "errors before, %", "identity, %", list(curves.items()), most=100))
    ends(e)
