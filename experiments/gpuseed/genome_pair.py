# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A genome against a genome, maximal exact matches of at least 100 bases (what copMEM2 and mummer are measured on), and a large text as whole run."""

from framework import plot
from framework.exact_matches import wrong_matches
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
        run = e.measure(["mummer", "-maxmatch", "-b", "-l", "100", reference, mem.reads_as_fasta(e, folder)], stdout=e.path("mummer.txt"))
        table.row("mummer", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu)
        bars.append(("mummer", run.wall))
        ordered = lambda path: sorted(" ".join(line.split()) for line in open(path, encoding="utf-8"))
        e.check(ordered(e.path("mummer.txt")) == ordered(e.path("cpu.txt")), "the matches are mummer's")
    else:
        e.not_installed(table, "mummer")
    if not e.peer("copmem2"):
        e.not_installed(table, "copMEM2")
    wrong, looked = wrong_matches(e.path("cpu.txt"), reference, reads, 100)
    e.check(looked > 0 and wrong == 0, "the first matches (at most 20,000) are maximal exact matches of the sequences")
    e.picture(plot.bars("Genome against genome, index included", "seconds, whole process", bars))
    published.seeding(e)
    e.compare("All programs make their index in the run. copMEM2's published times are of other genomes; they were not looked up.")
