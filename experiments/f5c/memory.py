# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The system of 8 GB: methylation beside a reference of human size with 6 threads, at the rate of a flow cell, and calls as reads arrive."""

import os
import subprocess
import time

from f5c import published
from framework import cgroup, plot
from framework.experiment import Failed, ended

TITLE = "f5c: the 8 GB system, and calls as reads arrive"
LIMIT = 8_000_000_000  # bytes
WANTED = 600  # kbases a second, what the issue asks for


def run(e):
    contigs = e.pick(2, 4, 31)
    reference = e.reference("large", e.pick(500000, 25000000, 100000000), seed=17, contigs=contigs, gc_content=0.41, cpg_ratio=0.25)
    folder = e.simulated("large", reference, e.pick(40, 400, 8000), seed=18, mean_length=8000)
    bases = e.bases(folder + "/reads.fastq.gz")
    threads = min(6, e.threads)
    e.data("%.2f Mbases of simulated R9.4.1 reads of %d contigs of %d Mb, 41 %% GC and a quarter of the CpGs, as in the human genome; %d threads, a memory budget of 2 GiB."
           % (bases / 1e6, contigs, os.path.getsize(reference) // contigs // 1000000, threads))
    with cgroup.of_memory(LIMIT) as e.cgroup:
        e.note("Each run is in a cgroup of 8 GB: the system ends it where it takes more." if e.cgroup else "No cgroup may be made here: of the 8 GB the peaks alone tell.")
        calls(e, reference, folder, bases, threads)
    e.cgroup = None


def calls(e, reference, folder, bases, threads):
    common = ["--signal", folder + "/reads.blow5", "--reads", folder + "/reads.fastq.gz", "--reference", reference]
    files = ["--alignments", folder + "/reads.bam"]
    e.sluice_quietly("methylation", *common, *files, "--output", e.path("first.tsv"))
    table = e.table("run", "wall s", "CPU s", "peak MB", "kbases/s")
    bars = []
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice, %s" % device, reason)
            continue
        run = e.sluice("methylation", *common, *files, "--memory", "2GiB", "--output", e.path(device + ".tsv"), device=device, threads=threads)
        table.row("sluice, %s" % device, run.wall, run.cpu, run.megabytes, bases / 1e3 / run.wall)
        bars.append(("sluice, " + device, bases / 1e3 / run.wall))
        e.check(run.megabytes < 8000, "%s: below 8 GB" % device)
        if device != "cpu":
            e.same(e.path("cpu.tsv"), e.path(device + ".tsv"), "calls of %s are those of cpu" % device)
        elif e.size != "tiny":
            # Processor seconds, which others on the machine take less of.
            e.check(bases / 1e3 / (run.cpu / threads) > WANTED, "cpu: more than %d kbases/s with the processors for itself" % WANTED)
    follow(e, table, common, folder, bases, threads)
    e.picture(plot.bars("Methylation beside a large reference", "kbases per second, whole process", bars))
    published.on_the_fly(e)
    e.compare("The paper's board has six ARM cores and a GPU that shares 8 GB; here it is another processor, with the signal in BLOW5 where the paper has FAST5. The reference is as large as the human genome at the size full only.")


def follow(e, table, common, folder, bases, threads):
    """Alignments that are written while the run reads them: the same calls, soon after the last record."""
    growing, output, stop = e.path("growing.bam"), e.path("followed.tsv"), e.path("stop")
    for path in (growing, stop):
        if os.path.exists(path):
            os.remove(path)
    with open(folder + "/reads.bam", "rb") as file:
        records = file.read()
    with open(growing, "wb") as file:
        file.write(records[:len(records) // 4])
    with open(e.path("follow.log"), "wb") as log:
        process = subprocess.Popen([e.program, "methylation", *common, "--alignments", growing, "--follow", "--follow-until", stop, "--output", output, "--threads", str(threads), "--device", "cpu"],
                                   stdout=log, stderr=log, env=e.environment, start_new_session=True)
        try:
            at, piece = len(records) // 4, len(records) // 8
            while at < len(records):
                time.sleep(0.3)  # a sequencer's pace; nothing depends on it
                with open(growing, "ab") as file:
                    file.write(records[at:at + piece])
                at += piece
            last = time.monotonic()
            open(stop, "w", encoding="utf-8").close()
            code = process.wait(timeout=500)
        except BaseException as failure:
            ended(process)
            raise Failed("methylation --follow does not end") if isinstance(failure, subprocess.TimeoutExpired) else failure
    if code != 0:
        with open(e.path("follow.log"), encoding="utf-8", errors="replace") as log:
            raise Failed("methylation --follow ends with %d: %s" % (code, log.read()[-400:]))
    table.row("sluice, cpu, --follow: from the last record to the end", time.monotonic() - last)
    sort = lambda path: sorted(open(path, encoding="utf-8"))
    e.check(len(sort(output)) > 1 and sort(output) == sort(e.path("cpu.tsv")), "calls of alignments that grow are those of the whole file")
    os.remove(growing)
