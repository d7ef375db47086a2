# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A genome against a genome, maximal exact matches of at least 100 bases (what copMEM2 and mummer are measured on), and a large text as whole run."""

import itertools

from framework import plot
from framework.exact_matches import wrong_matches
from framework.sequences import reverse_complement, sequences
from gpuseed import mem, published

TITLE = "GPUseed: genome against genome, and a large text"


def run(e):
    length = e.pick(200000, 10000000, 100000000)
    reference = e.reference("pair", length, seed=41, gc_content=0.41, repeats=0.45, repeat_divergence=0.1)
    # The other genome: one read of its whole length, 0.5 % apart.
    folder = e.simulated("pair", reference, 1, seed=42, signal=False, plain=True, mean_length=length - 1, minimum_length=length - 1, length_distribution="fixed", error_rate=0.005)
    reads = folder + "/reads.fq"
    e.data("%.1f Mbases, 45 %% of them copies of repeats that are 10 %% apart, and the same with 0.5 %% errors as the second genome; L = 100, every match that can be made longer on neither side (definition 1)."
           % (length / 1e6))
    table = e.table("program", "wall s", "CPU s", "peak MB", "CPU s over sluice's on the CPU")
    bars, cpu = [], None
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice, %s" % device, reason)
            continue
        run = e.sluice("seed", reference, reads, "--format", "mummer", "--definition", 1, "--min-length", 100, "--memory", e.pick("1GiB", "4GiB", "24GiB"), "--output", e.path(device + ".txt"), device=device)
        cpu = cpu or run
        table.row("sluice, %s" % device, run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
        bars.append(("sluice, " + device, run.wall))
        if device != "cpu":
            e.same(e.path("cpu.txt"), e.path(device + ".txt"), "matches of %s are those of cpu" % device)
    if e.peer("mummer"):
        with e.beside("mummer", table):
            run = e.median(lambda: e.measure(["mummer", "-maxmatch", "-b", "-l", "100", reference, mem.reads_as_fasta(e, folder)], stdout=e.path("mummer.txt")))
            table.row("mummer", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
            bars.append(("mummer", run.wall))
            e.check(mem.match_lines(e.path("mummer.txt")) == mem.match_lines(e.path("cpu.txt")), "the matches are mummer's")
    else:
        e.not_installed(table, "mummer")
    if e.peer("copmem2"):
        with e.beside("copMEM2, both strands", table):  # its file has another order and layout: only how many matches there are is compared
            run = e.median(lambda: e.measure(["copmem2", "-b", "-l", "100", "-t", str(e.threads), "-o", e.path("copmem2.txt"), reference, mem.reads_as_fasta(e, folder)]))
            table.row("copMEM2, both strands", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
            bars.append(("copMEM2", run.wall))
            count = lambda path: sum(1 for line in mem.match_lines(path) if line and not line.startswith(">"))
            e.check(count(e.path("copmem2.txt")) == count(e.path("cpu.txt")) > 0, "there are as many matches as copMEM2 finds")
    else:
        e.not_installed(table, "copMEM2")
    wrong, looked = wrong_matches(e.path("cpu.txt"), reference, reads, 100)
    e.check(looked > 0 and wrong == 0, "the first matches (at most 20,000) are maximal exact matches of the sequences")
    e.picture(plot.bars("Genome against genome, index included", "seconds, whole process", bars))
    published.seeding(e)
    e.compare("All programs make their index in the run. copMEM2's published times are of other genomes; they were not looked up.")
    large_text(e)


def placed(path, reference, reads, least, most=20000):
    """Of the first lines of fastmap's table: how many places are no match, or shorter than `least`; and how many were looked at."""
    texts = {name: bases.upper() for name, bases in sequences(reference)}
    by_name = {name: bases.upper() for name, bases in sequences(reads)}
    wrong = looked = 0
    with open(path, encoding="utf-8") as lines:
        for words in map(str.split, lines):
            if words and words[0] == "SQ":
                read = by_name[words[1]]
            elif words and words[0] == "EM":
                piece = read[int(words[1]):int(words[2])]
                for place in words[4:] if words[4:] != ["*"] else ():
                    contig, at = place.rsplit(":", 1)
                    there = texts[contig][abs(int(at)) - 1:abs(int(at)) - 1 + len(piece)]
                    wrong += len(piece) < least or (there if at[0] == "+" else reverse_complement(there)) != piece
                    looked += 1
            if looked >= most:
                break
    return wrong, looked


def large_text(e):
    """A text as large as the human genome at the size full: the index, and whole runs with it."""
    contigs = e.pick(2, 4, 24)
    reference = e.reference("large", e.pick(500000, 25000000, 129000000), seed=17, contigs=contigs, gc_content=0.41, cpg_ratio=0.25)
    folder = e.simulated("large-text", reference, e.pick(20, 1000, 30000), seed=43, signal=False, plain=True, mean_length=10000, error_rate=0.13)
    reads, index, memory = folder + "/reads.fq", e.path("large.index"), e.pick("1GiB", "4GiB", "48GiB")
    bases = e.bases(reads)
    e.data("The large text: %.3g Mbases in %d contigs, %.3g Mbases of reads of 10 kb with 13 %% errors, super-maximal matches of at least 19 bases on both strands."
           % (e.bases(reference) / 1e6, contigs, bases / 1e6))
    table = e.table("large text", "wall s", "CPU s", "peak MB", "Mbases of reads/s")
    one = e.path("one.fq")  # its own seconds do not count
    with open(reads, encoding="utf-8") as lines, open(one, "w", encoding="utf-8") as out:
        out.writelines(itertools.islice(lines, 4))
    made = e.sluice("seed", reference, one, "--text", "both", "--format", "fastmap", "--min-length", 19, "--memory", memory, "--save-index", index, "--output", e.path("made.txt"))
    table.row("sluice: index and one read", made.wall, made.cpu, made.megabytes)
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice, %s: reads with the index" % device, reason)
            continue
        run = e.sluice("seed", index, reads, "--format", "fastmap", "--min-length", 19, "--memory", memory, "--output", e.path("large-%s.txt" % device), device=device)
        table.row("sluice, %s: reads with the index" % device, run.wall, run.cpu, run.megabytes, bases / 1e6 / run.wall)
        if device != "cpu":
            e.same(e.path("large-cpu.txt"), e.path("large-%s.txt" % device), "large text: lines of %s are those of cpu" % device)
    wrong, looked = placed(e.path("large-cpu.txt"), reference, reads, 19)
    e.check(looked > 0 and wrong == 0, "large text: the first places (at most 20,000) are matches of the sequences")
    e.compare("No other program was run on the large text. The size small has a thirtieth of the human genome, full its size.")
