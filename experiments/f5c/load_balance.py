# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What CPU and GPU do of a run, over distributions of read lengths (the paper's section on load balancing), and the decisions drawn."""

from f5c import published
from framework import plot

TITLE = "f5c: load balance between CPU and GPU"
DISTRIBUTIONS = (("fixed", dict(length_distribution="fixed")), ("gamma", dict(length_distribution="gamma")), ("log-normal", dict(length_distribution="lognormal", length_variation=1)))


def run(e):
    reference = e.reference("lengths", e.pick(300000, 2000000, 5000000), seed=11)
    e.data("Simulated R9.4.1 reads, 8 kb on average, of three distributions of lengths, %d reads each." % e.pick(40, 250, 10000))
    table = e.table("reads and device", "wall s", "CPU s", "work on the device, %: events", "scaling", "ABEA", "HMM")
    drawn = []
    for name, options in DISTRIBUTIONS:
        folder = e.simulated("balance-" + name, reference, e.pick(40, 250, 10000), seed=21, mean_length=8000, **options)
        common = ["--signal", folder + "/reads.blow5", "--reads", folder + "/reads.fastq.gz", "--alignments", folder + "/reads.bam", "--reference", reference]
        e.sluice_quietly("methylation", *common, "--output", e.path("first.tsv"))
        works = []
        for device, reason in e.devices():
            row = "%s, %s" % (name, device)
            if reason:
                e.skipped(table, row, reason)
                continue
            run = e.sluice("methylation", *common, "--output", e.path(device + ".tsv"), device=device)
            shares = run.shares()
            table.row(row, run.wall, run.cpu, *(100 * shares.get(stage, 0.0) for stage in ("events", "scaling", "abea", "hmm")))
            drawn.append((row, (shares.get("abea", 0.0), 1 - shares.get("abea", 0.0))))
            works += [sum(i["share_of_work"] for i in s["implementations"]) for s in run.report["stages"] if s["name"] in ("abea", "hmm")]
            if device != "cpu":
                e.same(e.path("cpu.tsv"), e.path(device + ".tsv"), "%s: calls of %s are those of cpu" % (name, device))
        # What one does and the other does is all there is.
        e.check(works and all(abs(work - 1) < 0.01 for work in works), "%s: the shares of CPU and device add up" % name)
    e.picture(plot.stacked("ABEA: who does it", drawn, ("device", "CPU")))
    published.alignment(e)
    e.compare("f5c sends reads above 3 times the mean, or with more than 5 events a base, to the CPU by fixed limits; sluice decides by predicted time. Shares are of the stage's work, not of reads.")
