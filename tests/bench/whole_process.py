#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Times `sluice run methylation` and nanopolish call-methylation as whole processes, in turn, on the same reads, and prints medians and ratios.

The reads are those of the test data folder where it is there, else simulated ones. nanopolish runs with the same number of threads and its own
built-in models; indexes are made before the clock starts."""

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def measure(command, output):
    """Wall seconds, CPU seconds, peak resident MB of one run."""
    start = time.monotonic()
    with open(output, "wb") as out, open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=out, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed: {' '.join(command)}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def bases_of(fastq):
    with gzip.open(fastq, "rt") as lines:
        return sum(len(line) - 1 for number, line in enumerate(lines) if number % 4 == 1)


def prepare(args, work):
    """(name, folder, reference) of every set."""
    data = os.path.join(args.shared, "data")
    if os.path.isdir(os.path.join(data, "ecoli_r9")):
        reference = os.path.join(work, "ecoli.fa")
        with gzip.open(os.path.join(data, "reference", "ecoli536.fa.gz")) as source, open(reference, "wb") as target:
            shutil.copyfileobj(source, target)
        sets = []
        for name in ("ecoli_r9", "outliers_r9"):
            folder = os.path.join(work, name)
            os.mkdir(folder)
            for file in ("reads.blow5", "reads.fastq.gz", "reads.bam", "reads.bam.bai"):
                shutil.copyfile(os.path.join(data, name, file), os.path.join(folder, file))
            sets.append((name, folder, reference))
        return sets
    folder = os.path.join(work, "simulated")
    os.mkdir(folder)
    reference = os.path.join(work, "reference.fa")
    quiet = ["--quiet"]
    subprocess.run([args.sluice, "run", "synthetic_reference", "--length", "1000000", "--output", reference] + quiet, check=True)
    prefix = os.path.join(folder, "reads")
    subprocess.run([args.sluice, "run", "simulate", "--reference", reference, "--reads", "400", "--seed", "1", "--output-prefix", prefix,
                    "--signal-compression", "none"] + quiet, check=True)
    return [("simulated", folder, reference)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--shared", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    models = os.path.join(args.shared, "models")
    with tempfile.TemporaryDirectory() as work:
        print(f"{'set':12} {'program':11} {'wall s':>8} {'CPU s':>8} {'MB':>7} {'Mbases/s':>9}")
        for name, folder, reference in prepare(args, work):
            file = lambda ending: os.path.join(folder, "reads." + ending)
            bases = bases_of(file("fastq.gz"))
            sluice = [args.sluice, "run", "methylation", "--signal", file("blow5"), "--reads", file("fastq.gz"), "--alignments", file("bam"), "--reference",
                      reference, "--threads", str(args.threads), "--device", "cpu", "--output", os.path.join(work, "calls.tsv"), "--quiet"]
            if os.path.isdir(models):
                sluice += ["--model", os.path.join(models, "r9.4_450bps.nucleotide.6mer.template.model"),
                           "--methylation-model", os.path.join(models, "r9.4_450bps.cpg.6mer.template.model")]
            programs = {"sluice": sluice}
            if shutil.which("nanopolish"):
                subprocess.run(["nanopolish", "index", "--slow5", file("blow5"), file("fastq.gz")], check=True, capture_output=True)
                programs["nanopolish"] = ["nanopolish", "call-methylation", "-t", str(args.threads), "-r", file("fastq.gz"), "-b", file("bam"), "-g", reference]
            figures = {program: [] for program in programs}
            for _ in range(args.runs + 1):
                for program, command in programs.items():
                    figures[program].append(measure(command, os.path.join(work, program + ".out")))
            medians = {program: [statistics.median(column) for column in zip(*runs[1:])] for program, runs in figures.items()}
            for program, (wall, cpu, megabytes) in medians.items():
                print(f"{name:12} {program:11} {wall:8.2f} {cpu:8.2f} {megabytes:7.0f} {bases / wall / 1e6:9.2f}")
            if len(medians) == 2:
                ours, theirs = medians["sluice"], medians["nanopolish"]
                print(f"{name:12} ratio       {theirs[0] / ours[0]:8.1f} {theirs[1] / ours[1]:8.1f}")


if __name__ == "__main__":
    main()
