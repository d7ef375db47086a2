# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Reads from 200 bases to 1.5 Mb, and a set in which ultra-long ones are among others (the paper's large sets)."""

from f5c import published
from framework import plot
from framework.sequences import sequences

TITLE = "f5c: read lengths and ultra-long reads"


def run(e):
    reference = e.reference("lengths", e.pick(300000, 2000000, 5000000), seed=11)
    lengths = e.pick((200, 8000), (200, 1000, 8000, 100000, 1500000), (200, 1000, 8000, 100000, 1500000))
    total = e.pick(60000, 1500000, 60000000)
    e.data("Simulated R9.4.1 reads of one length each, %.2f Mbases a set (at least one read), and lengths of a wide log-normal distribution." % (total / 1e6))
    table = e.table("reads", "program", "wall s", "CPU s", "peak MB", "kbases per CPU s")
    curves = {}
    sets = [("%s bases" % "{:,}".format(length), length, dict(length_distribution="fixed", minimum_length=200)) for length in lengths]
    sets.append(("mixed, some ultra-long", e.pick(2000, 8000, 8000), dict(length_distribution="lognormal", length_variation=1, minimum_length=200)))
    for name, length, options in sets:
        folder = e.simulated("length-%s" % name.split(" ")[0].replace(",", ""), reference, max(total // length, 1), seed=13, mean_length=length, **options)
        bases = e.bases(folder + "/reads.fastq.gz")
        common = ["--signal", folder + "/reads.blow5", "--reads", folder + "/reads.fastq.gz", "--alignments", folder + "/reads.bam", "--reference", reference, "--min-mapq", 0]
        if length < 1000:
            common += ["--min-recalib-events", 50]
        e.sluice_quietly("methylation", *common, "--output", e.path("first.tsv"))
        for device, reason in e.devices():
            row = "%s: sluice, %s" % (name, device)
            if reason:
                continue
            run = e.sluice("methylation", *common, "--output", e.path(device + ".tsv"), device=device)
            table.row(row, "sluice", run.wall, run.cpu, run.megabytes, bases / 1e3 / run.cpu)
            if length in lengths and options["length_distribution"] == "fixed":
                curves.setdefault("sluice, " + device, []).append((length, bases / 1e6 / run.cpu))
            if device == "cpu":
                accounts = run.report["account"]
                named = {cells.split("\t")[4] for cells in open(e.path("cpu.tsv"), encoding="utf-8")} - {"read_name"}
                there = sum(1 for _ in sequences(folder + "/reads.fastq.gz"))
                e.check(all(a["adds_up"] for a in accounts) and sum(a["read"] for a in accounts) == there, "%s: every read is in the account" % name)
                e.check(len(named) >= (0.6 if length < 1000 else 0.95) * there, "%s: calls name %s of the reads" % (name, "six of ten" if length < 1000 else "19 of 20"))
            else:
                e.same(e.path("cpu.tsv"), e.path(device + ".tsv"), "%s: calls of %s are those of cpu" % (name, device))
        if e.peer("nanopolish") and 1000 <= length <= 100000:
            with e.beside("%s: nanopolish" % name, table):
                e.measure(["cp", folder + "/reads.fastq.gz", e.path("reads.fastq.gz")])
                e.measure(["nanopolish", "index", "--slow5", folder + "/reads.blow5", e.path("reads.fastq.gz")])
                run = e.median(lambda: e.measure(["nanopolish", "call-methylation", "-t", str(e.threads), "--min-mapping-quality", "0", "-r", e.path("reads.fastq.gz"), "-b", folder + "/reads.bam",
                                                  "-g", reference], stdout=e.path("nanopolish.tsv")))
                with open(e.path("nanopolish.tsv"), encoding="utf-8") as calls:
                    e.check(sum(1 for _ in calls) > 1, "%s: nanopolish calls, too" % name)
                table.row("%s: nanopolish" % name, "nanopolish", run.wall, run.cpu, run.megabytes, bases / 1e3 / run.cpu)
                if options["length_distribution"] == "fixed":
                    curves.setdefault("nanopolish", []).append((length, bases / 1e6 / run.cpu))
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    e.note("nanopolish: %s." % ("no row for 200 bases, as it drops reads with fewer than 200 events that fit, nor for 1.5 Mb" if e.peer("nanopolish") else "not installed"))
    e.picture(plot.lines("Methylation calling by read length", "bases a read", "Mbases per CPU second", list(curves.items()), least=0))
    published.alignment(e)
    e.compare("The paper's share of reads above 100 kb is what limits its embedded board to 3 instead of 4 times. Rates of short sets hold the start of the process, 0.1 s or less.")
