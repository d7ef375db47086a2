# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Whole methylation calling (BMC Bioinformatics 21:343, section "Results"): from files to a table of calls."""

import gzip
import json
import os
import shutil

from f5c import published
from framework import plot
from framework.experiment import Failed, stamp

TITLE = "f5c: whole methylation calling"
COLUMNS = ("program", "wall s", "CPU s", "peak MB", "Mbases/s", "CPU s over sluice's on the CPU")


def calls(path):
    """(contig, strand or '', first place, read): log-likelihood ratio of a table of f5c, nanopolish or sluice."""
    with open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split("\t")
        at = [names.index(name) for name in ("chromosome", "start", "read_name", "log_lik_ratio")]
        return {(cells[at[0]], cells[at[1]], cells[at[2]]): float(cells[at[3]]) for cells in (line.split("\t") for line in file)}


def agreement(ours, theirs):
    """Share of the calls of either that both have; and of these, where either is confident, the share on the same side."""
    both = ours.keys() & theirs.keys()
    confident = [k for k in both if max(abs(ours[k]), abs(theirs[k])) >= 2.5]
    alike = sum((ours[k] > 0) == (theirs[k] > 0) for k in confident)
    return len(both) / max(len(ours.keys() | theirs.keys()), 1), alike / max(len(confident), 1)


def inputs(e):
    """Folder with reads.blow5, reads.fastq.gz, reads.bam; reference; whether the truth is known."""
    if e.given("reads.blow5"):
        theirs = e.given("reads.sorted.bam")  # f5c's own test set, in its names
        names = {"reads.blow5": "reads.blow5", "reads.sorted.bam": "reads.bam", "humangenome.fa": "reference.fa", "reads.fastq": ""} if theirs else {
            name: name for name in ("reads.blow5", "reads.bam", "reference.fa", "reads.fastq.gz")}
        missing = [name for name in names if not e.given(name)]
        if missing:
            raise Failed("--data has %s but not %s" % (", ".join(sorted(names.keys() - set(missing))), ", ".join(missing)))

        def linked(made):
            for name, ours in names.items():
                for end in ("", ".bai", ".csi", ".fai"):
                    if ours and os.path.exists(os.path.join(e.options.data, name + end)):
                        os.symlink(os.path.realpath(os.path.join(e.options.data, name + end)), os.path.join(made, ours + end))
            if theirs:
                with open(os.path.join(e.options.data, "reads.fastq"), "rb") as plain, gzip.open(made + "/reads.fastq.gz", "wb", compresslevel=1) as out:
                    shutil.copyfileobj(plain, out)

        folder = e.made("f5c-given-" + stamp(*(os.path.join(e.options.data, name) for name in names)), linked)
        return folder, folder + "/reference.fa", False
    reference = e.reference("ecoli", e.pick(300000, 1000000, 5000000))
    return e.simulated("methylation", reference, e.pick(60, 400, 15000), mean_length=e.pick(4000, 8000, 8000)), reference, True


def run(e):
    folder, reference, simulated = inputs(e)
    bases = e.bases(folder + "/reads.fastq.gz")
    e.data("%.2f Mbases of %s." % (bases / 1e6, "simulated R9.4.1 reads (5 %% errors, 70 %% of CpGs methylated in some molecules) of %d kb of random bases; the paper has human reads "
                                   "(NA12878, FAST5)" % (os.path.getsize(reference) // 1000) if simulated else "reads of --data"))
    table = e.table(*COLUMNS)
    common = ["--signal", folder + "/reads.blow5", "--reads", folder + "/reads.fastq.gz", "--alignments", folder + "/reads.bam", "--reference", reference]
    e.sluice_quietly("methylation", *common, "--output", e.path("first.tsv"))  # makes the indexes
    ours, bars, cpu = e.path("cpu.tsv"), [], None

    def row(name, run):
        table.row(name, run.wall, run.cpu, run.megabytes, bases / 1e6 / run.wall, run.cpu / cpu.cpu)
        bars.append((name, bases / 1e6 / run.cpu))

    for device, reason in e.devices():
        name = "sluice, %s" % device
        if reason:
            e.skipped(table, name, reason)
            continue
        run = e.sluice("methylation", *common, "--output", e.path(device + ".tsv"), device=device)
        cpu = cpu or run
        row(name, run)
        if device != "cpu":
            e.same(ours, e.path(device + ".tsv"), "calls of %s are those of cpu, byte for byte" % device)

    if e.peer("nanopolish"):
        with e.beside("nanopolish", table):
            reads = e.path("reads.fastq.gz")
            shutil.copyfile(folder + "/reads.fastq.gz", reads)
            e.measure(["nanopolish", "index", "--slow5", folder + "/reads.blow5", reads])
            theirs = e.path("nanopolish.tsv")
            row("nanopolish", e.median(lambda: e.measure(["nanopolish", "call-methylation", "-t", str(e.threads), "-r", reads, "-b", folder + "/reads.bam", "-g", reference], stdout=theirs)))
            both, alike = agreement(calls(ours), calls(theirs))
            e.note("nanopolish: %.2f %% of the calls of either are of both, %.2f %% of those that either is confident of (a ratio of 2.5) are on the same side; its built-in models are others." % (100 * both, 100 * alike))
            e.check(both > 0.98 and alike > 0.93, "calls are of the places of nanopolish's, and on the same side where one is confident, in 93 of 100")
    else:
        e.not_installed(table, "nanopolish")
    for name, extra in (("f5c, CPU", ["--disable-cuda=yes"]), ("f5c, CUDA", ["--disable-cuda=no"])):
        if not e.peer("f5c") or (name.endswith("CUDA") and e.devices()[1][1]):
            e.not_installed(table, name)
            continue
        with e.beside(name, table):
            theirs = e.path("f5c.tsv")
            reads = e.path("reads.fastq.gz")
            shutil.copyfile(folder + "/reads.fastq.gz", reads)
            e.measure(["f5c", "index", "--slow5", folder + "/reads.blow5", reads])
            run = e.median(lambda: e.measure(["f5c", "call-methylation", "-t", str(e.threads), "-r", reads, "-b", folder + "/reads.bam", "-g", reference,
                                              "--slow5", folder + "/reads.blow5"] + extra, stdout=theirs))
            if name.endswith("CUDA") and "compiled for the CPU" in run.text:  # it says so and goes on without the device
                table.row(name, "built without CUDA")
                continue
            row(name, run)
            both, alike = agreement(calls(ours), calls(theirs))
            e.check(both > 0.99 and alike > 0.99, "calls agree with those of %s" % name)

    if simulated:
        e.measure([e.program, "methylation_accuracy", "--calls", ours, "--site-truth", folder + "/reads.truth.tsv", "--read-truth", folder + "/reads.truth_reads.tsv",
                   "--reference", reference, "--output", e.path("accuracy.json"), "--quiet"])
        with open(e.path("accuracy.json"), encoding="utf-8") as file:
            accuracy = json.load(file)
        judged = e.table("calls against the truth", "value")
        judged.row("area under the ROC curve, single CpGs", "%.4f" % accuracy["auc"])
        judged.row("confident calls that are right, %", "%.2f" % (100 * accuracy["confident_calls_right"]))
        e.check(accuracy["auc"] > 0.97 and accuracy["of_these_methylated"] > 0, "calls are right: area under the ROC curve above 0.97")
        e.compare("The area under the curve is of signal simulated from the same k-mer models that call it: it says that the method works, not what real pores give.")
    e.picture(plot.bars("Methylation calling", "Mbases per processor second", bars))
    published.whole(e)
    e.compare("nanopolish and f5c, where they have a row, ran here on the same files. The published figures are of other processors, cards, reads (human, more CpGs apart) and of FAST5, "
              "whose reading bounds them; of these only the ratios within one line can be held beside ours.")
