# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Super-maximal exact matches, as bwa fastmap finds them: the same lines."""

from framework import plot
from framework.sequences import reverse_complement, sequences
from gpuseed import mem, published

TITLE = "GPUseed: super-maximal exact matches"


def nested(path):
    """Whether a match of a read lies within another one of it; and the number of matches."""
    count, within, last = 0, False, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words and words[0] == "SQ":
                last = None
            elif words and words[0] == "EM":
                here = (int(words[1]), int(words[2]))
                within = within or (last is not None and here[1] <= last[1])
                last, count = here, count + 1
    return within, count


def right(path, reference, reads, most=5000):
    """Whether each of the first matches occurs in the reference, on either strand, as often as is said."""
    text = next(bases for _, bases in sequences(reference)).upper()
    both = text + "#" + reverse_complement(text)
    by_name = {name: bases.upper() for name, bases in sequences(reads)}
    looked, read = 0, ""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words and words[0] == "SQ":
                read = by_name[words[1]]
            elif words and words[0] == "EM":
                piece, at, times = read[int(words[1]):int(words[2])], -1, 0
                while (at := both.find(piece, at + 1)) >= 0:
                    times += 1
                if times != int(words[3]):
                    return False
                looked += 1
                if looked == min(most, 200 if len(both) > 3000000 else most):
                    break
    return looked > 0


def run(e):
    reference, sets = mem.inputs(e)
    sets = [s for s in sets if s[0] in ("2000 b", "10000 b")]
    table = e.table("reads, least length, program", "wall s", "CPU s", "peak MB", "CPU s over sluice's on the CPU")
    index, bars = e.path("index"), []
    if e.peer("bwa"):
        with e.beside("bwa index"):
            e.measure(["bwa", "index", "-p", e.path("bwa"), reference])
    made = False
    for name, folder in sets:
        reads = folder + "/reads.fq"
        for least in e.pick((16,), (12, 16, 20), (12, 16, 20)):
            title, cpu = "%s, L %d: " % (name, least), None
            if not made:
                e.sluice_quietly("seed", reference, reads, "--text", "both", "--format", "fastmap", "--save-index", index, "--output", e.path("made.txt"))
                made = True
            for device, reason in e.devices():
                if reason:
                    continue
                output = e.path(device + ".txt")
                run = e.sluice("seed", index, reads, "--format", "fastmap", "--min-length", least, "--output", output, device=device, threads=1 if device == "cpu" else None)
                cpu = cpu or run
                table.row(title + "sluice, " + device, run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
                if device != "cpu":
                    e.same(e.path("cpu.txt"), output, title + "lines of %s are those of cpu" % device)
                elif name == "10000 b":
                    bars.append(("sluice, cpu, L %d" % least, e.bases(reads) / 1e6 / run.cpu))
            if e.peer("bwa"):
                with e.beside(title + "bwa fastmap", table):
                    run = e.median(lambda: e.measure(["bwa", "fastmap", "-l", str(least), e.path("bwa"), reads], stdout=e.path("bwa.txt")))
                    table.row(title + "bwa fastmap", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
                    if name == "10000 b":
                        bars.append(("bwa fastmap, L %d" % least, e.bases(reads) / 1e6 / run.cpu))
                    e.same(e.path("cpu.txt"), e.path("bwa.txt"), title + "the lines are bwa fastmap's, byte for byte")
        within, count = nested(e.path("cpu.txt"))
        e.check(count > 0 and not within, "%s: no match lies within another one" % name)
        e.check(right(e.path("cpu.txt"), reference, reads), "%s: the first matches occur in the reference as often as is said" % name)
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    if not e.peer("bwa"):
        e.note("bwa: not installed.")
    e.note("Both have their index made beforehand; bwa fastmap has one thread, and so has `sluice, cpu`.")
    e.picture(plot.bars("Super-maximal exact matches, reads of 10 kb", "Mbases per CPU second", bars))
    published.seeding(e)
    e.compare("bwa fastmap's rows are of the same files on this machine, with the same lines.")
