# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Sorting BAM by place, beside samtools."""

import gzip
import os
import struct

from framework import plot
from others import published

TITLE = "Sorting BAM, beside samtools"


def records(path):
    """(contig, place) of each record, read without any library of the programs."""
    with gzip.open(path, "rb") as file:
        file.read(4)
        file.read(struct.unpack("<i", file.read(4))[0])
        for _ in range(struct.unpack("<i", file.read(4))[0]):
            file.read(struct.unpack("<i", file.read(4))[0] + 4)
        while size := file.read(4):
            record = file.read(struct.unpack("<i", size)[0])
            contig, place = struct.unpack_from("<ii", record)
            yield (contig if contig >= 0 else 1 << 31, place), record


def run(e):
    reference = e.reference("sorting", e.pick(200000, 1000000, 5000000), seed=87, contigs=3)
    folder = e.simulated("sorting", reference, e.pick(100, 3000, 100000), seed=88, signal=False, plain=True, mean_length=8000, error_rate=0.08)
    shuffled = e.path("shuffled.bam")
    with open(e.path("shuffled.fq"), "wb") as out:  # reads come in the order of their places
        e.measure([e.tool("make_test_input"), "shuffled_lines", "89"], stdin=joined(e, folder + "/reads.fq"), stdout=e.path("lines"))
        with open(e.path("lines"), "rb") as lines:
            out.writelines(line.replace(b"\x01", b"\n") for line in lines)
    e.sluice_quietly("map", reference, e.path("shuffled.fq"), "--output", shuffled)
    e.data("%.0f Mbases of reads of 8 kb in no order, as BAM." % (e.bases(folder + "/reads.fq") / 1e6))
    table = e.table("program", "wall s", "CPU s", "peak MB", "CPU s over sluice's", "MB written")
    run = e.sluice("sort", shuffled, "--memory", "256MiB", "--output", e.path("ours.bam"))
    cpu = run
    table.row("sluice sort", run.wall, run.cpu, run.megabytes, 1.0, os.path.getsize(e.path("ours.bam")) / 1e6)
    bars = [("sluice sort", run.cpu)]
    e.check(os.path.exists(e.path("ours.bam.csi")) or os.path.exists(e.path("ours.bam.bai")), "there is an index")
    before, after = list(records(shuffled)), list(records(e.path("ours.bam")))
    e.check([at for at, _ in after] == sorted(at for at, _ in before), "records are in the order of their places")
    e.check(sorted(r for _, r in before) == sorted(r for _, r in after), "the same records, byte for byte")
    e.check([at for at, _ in before] != [at for at, _ in after], "they were not in order before")
    if e.peer("samtools"):
        with e.beside("samtools sort", table):
            run = e.median(lambda: e.measure(["samtools", "sort", "-@", str(e.threads), "-m", "85M", "--write-index", "-o", e.path("theirs.bam"), shuffled]))
            table.row("samtools sort", run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu, os.path.getsize(e.path("theirs.bam")) / 1e6)
            bars.append(("samtools sort", run.cpu))
            e.check([r for _, r in records(e.path("theirs.bam"))] == [r for _, r in after], "the order is that of samtools sort")
    else:
        e.not_installed(table, "samtools sort")
    e.picture(plot.bars("Sorting BAM", "CPU seconds", bars))
    published.sorting(e)
    e.compare("samtools' row is of the same file on this machine, with its default compression; both write an index. Memory: 256 MiB of all threads, as 85 MB for each of three.")


def joined(e, fastq):
    """Each record on a line."""
    path = e.path("joined")
    with open(fastq, "rb") as lines, open(path, "wb") as out:
        for line in lines:
            out.write(line.rstrip(b"\n") + b"\x01" + b"\x01".join(next(lines).rstrip(b"\n") for _ in range(3)) + b"\n")
    return path
