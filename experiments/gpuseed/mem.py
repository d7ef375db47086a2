# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Maximal exact matches of five sets of reads, by least length (GPUseed's tables)."""

import os

from framework import plot
from framework.exact_matches import missing_matches, wrong_matches
from framework.sequences import sequences
from gpuseed import published

TITLE = "GPUseed: maximal exact matches by read length and least length"


def inputs(e):
    """Reference, and (name, folder with reads.fq) of each set."""
    reference = e.given("reference.fa") or e.reference("seeding", e.pick(100000, 1000000, 5000000), seed=31)
    total = e.pick(40000, 4000000, 30000000)
    sets = []
    for length in e.pick((2000, 10000), (1000, 2000, 5000, 10000, 30000), (1000, 2000, 5000, 10000, 30000)):
        sets.append(("%d b" % length, e.simulated("seeding-%d" % length, reference, max(total // length, 1), seed=length, signal=False, plain=True, mean_length=length, error_rate=0.13,
                                                  length_distribution="fixed")))
    e.data("%.2f Mbases a set of simulated reads with 13 %% errors, of one length each, against %.1f Mbases of %s. The paper has PacBio reads; which sets: not found."
           % (total / 1e6, e.bases(reference) / 1e6, "--data" if e.used else "random bases"))
    return reference, sets


def run(e):
    reference, sets = inputs(e)
    table = e.table("reads, least length, program", "wall s", "CPU s", "peak MB", "Mbases per CPU s", "CPU s over sluice's on the CPU", "over sluice's with its index")
    curves = {}
    index = e.path("index")
    for name, folder in sets:
        reads = folder + "/reads.fq"
        bases = e.bases(reads)
        for least in e.pick((16,), (12, 16, 20), (12, 14, 16, 18, 20)):
            title = "%s, L %d: " % (name, least)
            cpu = None
            for device, reason in e.devices():
                if reason:
                    continue
                output = e.path(device + ".txt")
                e.sluice_quietly("seed", reference, reads, "--text", "forward", "--min-length", 20, "--format", "mummer", "--save-index", index, "--output", e.path("made.txt")) if cpu is None else None
                run = e.sluice("seed", index, reads, "--format", "mummer", "--definition", 1, "--min-length", least, "--output", output, device=device)
                cpu = cpu or run
                table.row(title + "sluice, " + device, run.wall, run.cpu, run.megabytes, bases / 1e6 / run.cpu, run.cpu / cpu.cpu)
                if least == 16:
                    curves.setdefault("sluice, " + device, []).append((int(name.split()[0]), bases / 1e6 / run.cpu))
                if device != "cpu":
                    e.same(e.path("cpu.txt"), output, title + "matches of %s are those of cpu" % device)
            if e.peer("mummer"):
                with e.beside(title + "mummer", table):
                    # What mummer's seconds can be held beside: a run that makes its index, too.
                    whole = e.sluice("seed", reference, reads, "--text", "forward", "--format", "mummer", "--definition", 1, "--min-length", least, "--output", e.path("whole.txt"))
                    table.row(title + "sluice, cpu, index included", whole.wall, whole.cpu, whole.megabytes, bases / 1e6 / whole.cpu, whole.cpu / cpu.cpu, 1.0)
                    e.same(e.path("cpu.txt"), e.path("whole.txt"), title + "the same matches with an index that was saved")
                    run = e.median(lambda: e.measure(["mummer", "-maxmatch", "-b", "-l", str(least), reference, reads_as_fasta(e, folder)], stdout=e.path("mummer.txt")))
                    table.row(title + "mummer", run.wall, run.cpu, run.megabytes, bases / 1e6 / run.cpu, run.cpu / cpu.cpu, run.cpu / whole.cpu)
                    if least == 16:
                        curves.setdefault("sluice, index included", []).append((int(name.split()[0]), bases / 1e6 / whole.cpu))
                        curves.setdefault("mummer, with its index", []).append((int(name.split()[0]), bases / 1e6 / run.cpu))
                    e.check(match_lines(e.path("mummer.txt")) == match_lines(e.path("cpu.txt")), title + "the matches are mummer's")
            if gpuseed_runs(e):  # definition 2, both strands; it prints nothing without -p, which its seconds would hold
                with e.beside(title + "GPUseed", table):
                    if not os.path.exists(e.path("gpuseed.made")):
                        e.measure(["sh", "-c", 'cd "$1" && ./build_index.sh -p "$2" "$3"', "sh", os.path.dirname(os.path.realpath(e.peer("seed_gen.exe"))), e.path("gpuseed"), os.path.realpath(reference)],
                                  stdout=e.path("gpuseed.made"))
                    run = e.median(lambda: e.measure(["seed_gen.exe", "-k", str(least), e.path("gpuseed"), reads_as_fasta(e, folder)], stdout=e.path("gpuseed.txt")))
                    table.row(title + "GPUseed", run.wall, run.cpu, run.megabytes, bases / 1e6 / run.cpu, run.cpu / cpu.cpu)
        wrong, looked = wrong_matches(e.path("cpu.txt"), reference, reads, least)
        e.check(looked > 0 and wrong == 0, "%s: the first matches (at most 20,000) are maximal exact matches of the sequences" % name)
    if e.size == "tiny":
        different, there = missing_matches(e.path("cpu.txt"), reference, reads, least)
        e.check(there > 0 and different == 0, "all matches of three reads are those found word by word")
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    if not e.peer("mummer"):
        e.note("mummer: not installed.")
    if not gpuseed_runs(e):
        e.note("GPUseed: %s." % ("there, but no CUDA device" if e.peer("seed_gen.exe") else "not installed"))
    e.note("`sluice, cpu`, `cuda` and `auto` read an index that was saved before; mummer makes its own in each run, so that its seconds are comparable with the rows `index included` only (last column).")
    e.picture(plot.lines("Maximal exact matches of at least 16 bases", "bases a read", "Mbases per CPU second", list(curves.items()), least=0))
    published.seeding(e)
    e.compare("mummer's rows are of the same files on this machine; it has one thread and no index on disk. GPUseed has no CPU path, and its published times are of its own sets.")


def gpuseed_runs(e):
    return e.peer("seed_gen.exe") and not e.devices()[1][1]


def match_lines(path):
    """Lines of mummer's table in no order, without what only sets its columns."""
    with open(path, encoding="utf-8") as lines:
        return sorted(" ".join(line.split()) for line in lines)


def reads_as_fasta(e, folder):
    path = folder + "/reads.fa"
    if not os.path.exists(path):
        with open(path + ".part", "w", encoding="utf-8") as out:
            out.writelines(">%s\n%s\n" % record for record in sequences(folder + "/reads.fq"))
        os.rename(path + ".part", path)
    return path
