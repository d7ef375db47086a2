# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Partial order alignment of windows, by class of length and number of sequences (the paper's table I)."""

import os

from consent import published
from framework import plot
from framework.sequences import edit_distance, sequences

TITLE = "CONSENT on GPUs: windows by class"
LENGTHS = ((32, 63), (64, 127), (128, 255))
COPIES = ((2, 8), (9, 16), (17, 32))


def windows(path):
    """(name, truth, sequences) of each window."""
    with open(path, encoding="utf-8") as lines:
        for header in lines:
            name, count, truth = header[1:].split()
            yield name, truth, [next(lines).strip() for _ in range(int(count))]


def identity(path, consensus, most=300):
    """1 - edit distance to the truth over its length, of the first windows; and of their first sequences."""
    made = {name: bases.upper() for name, bases in sequences(consensus)}
    errors = first_errors = bases = 0
    for i, (name, truth, copies) in enumerate(windows(path)):
        if i == most:
            break
        errors += edit_distance(truth, made[name])
        first_errors += edit_distance(truth, copies[0])
        bases += len(truth)
    return 1 - errors / bases, 1 - first_errors / bases


def run(e):
    count = e.pick(150, 3000, 20000)
    e.data("%d windows a class of random bases; copies with 10 %% errors (deletions, other bases, insertions). The paper's classes; its windows are CONSENT's, of real reads." % count)
    table = e.table("class, program", "windows/s", "CPU s", "windows per CPU s", "over spoa, per CPU s", "identity, %", "consensuses that are not spoa's")
    bars = []
    classes = [(l, c) for l in LENGTHS for c in COPIES]
    for (shortest, longest), (fewest, most) in classes if e.size != "tiny" else [classes[4], classes[8]]:
        name = "%d-%d b x %d-%d" % (shortest, longest, fewest, most)

        def make(folder):
            e.measure([e.tool("make_test_input"), "window_class", "51", str(count), str(fewest), str(most), str(shortest), str(longest), "100000"], stdout=folder + "/windows.txt")

        path = e.made("windows-%d-%d" % (shortest, fewest), make) + "/windows.txt"
        there = sum(1 for _ in windows(path))
        spoa, theirs = None, {}
        if e.peer("spoa_windows"):  # libspoa in one process; the program spoa takes one window a process
            with e.beside(name + ": libspoa, one thread", table):
                some = e.path("some.txt")  # it has one thread
                with open(some, "w", encoding="utf-8") as out:
                    for i, (window, truth, copies) in zip(range(e.pick(count, count, 5000)), windows(path)):
                        out.write(">%s %d %s\n%s\n" % (window, len(copies), truth, "\n".join(copies)))
                spoa_count = min(count, e.pick(count, count, 5000))
                timed = e.median(lambda: e.measure(["spoa_windows", "consensus", "global", "5", "-4", "-8", "-8", "-8", "-8"], stdin=some, stdout=e.path("spoa.fa")))
                theirs = dict(sequences(e.path("spoa.fa")))
                table.row(name + ": libspoa, one thread", spoa_count / timed.wall, timed.cpu, spoa_count / timed.cpu, 1.0, "%.2f" % (100 * identity(some, e.path("spoa.fa"))[0]), 0)
                spoa = timed
        for device, reason in e.devices():
            if reason:
                continue
            output = e.path(device + ".fa")
            run = e.sluice("consensus", "--windows", path, "--output", output, device=device)
            ours = dict(sequences(output))
            right, before = identity(path, output)
            table.row(name + ": sluice, " + device, there / run.wall, run.cpu, there / run.cpu, (there / run.cpu) / (spoa_count / spoa.cpu) if spoa else "-", "%.2f" % (100 * right),
                      sum(ours.get(n) != theirs[n] for n in theirs) if spoa else "-")
            if device == "cpu":
                bars += [("sluice, " + name, there / run.cpu)] + ([("libspoa, " + name, spoa_count / spoa.cpu)] if spoa else [])
                e.check(len(ours) == there, "%s: each window has a consensus" % name)
                e.check(right > before + 0.02, "%s: the consensus is nearer to the truth than the first sequence is" % name)
                if spoa:
                    e.check(len(theirs) == spoa_count and all(ours.get(n) == b for n, b in theirs.items()), "%s: the consensuses are spoa's" % name)
            else:
                e.same(e.path("cpu.fa"), output, "%s: consensuses of %s are those of cpu" % (name, device))
            if device == "cuda":
                seconds = e.bench("consensus", "consensus", "--windows", path, "--output", e.path("unused.fa"), "--batch-work", 400000000, device=device)
                table.row(name + ": the stage alone, cuda", there / seconds)
        abpoa(e, table, name, path, there)
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    e.note("libspoa: %s; abpoa: %s; cudapoa: not installed." % (
        "one process with the library, consensuses only" if e.peer("spoa_windows") else "not installed (a build with libspoa-dev makes bin/spoa_windows)", "there" if e.peer("abpoa") else "not installed"))
    e.picture(plot.bars("Windows by class", "windows per CPU second", bars))
    published.windows(e)
    e.compare("libspoa's rows are of the same windows and scores on this machine, by CPU seconds; it has no device. The published rates are of whole cards and of 16 threads, windows of the same classes.")


def abpoa(e, table, name, path, there):
    if not e.peer("abpoa"):
        return
    folder = e.path("abpoa")
    os.makedirs(folder, exist_ok=True)
    with e.beside(name + ": abPOA, one thread", table):
        with open(e.path("abpoa.list"), "w", encoding="utf-8") as files:
            for i, (_, _, copies) in enumerate(windows(path)):
                with open("%s/%d.fa" % (folder, i), "w", encoding="utf-8") as out:
                    out.writelines(">%d\n%s\n" % pair for pair in enumerate(copies))
                files.write("%s/%d.fa\n" % (folder, i))
        run = e.median(lambda: e.measure(["abpoa", "-l", e.path("abpoa.list")], stdout=e.path("abpoa.fa")))
        made = [bases for _, bases in sequences(e.path("abpoa.fa"))]  # in the order of the files, all of one name
        e.check(len(made) == there, "%s: abPOA has a consensus for each window" % name)
        named = e.path("abpoa.named.fa")
        with open(named, "w", encoding="utf-8") as out:
            out.writelines(">%s\n%s\n" % (window, bases) for (window, _, _), bases in zip(windows(path), made))
        table.row(name + ": abPOA, one thread", there / run.wall, run.cpu, there / run.cpu, "", "%.2f" % (100 * identity(path, named)[0]))
