#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Compares the time left that the progress line says with the time that was left, after 10, 25, 50 and 75 % of whole runs.

The reads are simulated into FOLDER, where they stay for the next time. Each run has a terminal of its own. The numbers are those of the line that was
there at that moment: what it said, what was true, and their quotient, which should be between 0.5 and 2. The last columns say what part of the time in
which its threads could have run they did, in each quarter of the run: where these differ much, others took the processors, and the run says little."""

import argparse
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time

MOMENTS = (0.1, 0.25, 0.5, 0.75)


def seconds_of(text):
    """Of "12 s", "1:23" and "1:02:03"."""
    if text.endswith(" s"):
        return float(text[:-2])
    seconds = 0.0
    for part in text.split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


def said_left(line):
    """Seconds; None: the line says nothing of the time left."""
    found = re.search(r"([0-9:.]+(?: s)?) left", line)
    return seconds_of(found.group(1)) if found else None


class Share:
    """How long the threads of a process have run, and how long they waited for a processor."""

    def __init__(self, pid):
        self.folder = f"/proc/{pid}/task"
        self.of_thread = {}

    def now(self):
        try:
            for thread in os.listdir(self.folder):
                with open(f"{self.folder}/{thread}/schedstat") as file:
                    ran, waited = file.read().split()[:2]
                    self.of_thread[thread] = (int(ran), int(waited))
        except OSError:
            pass  # a thread has ended meanwhile
        return tuple(sum(times[i] for times in self.of_thread.values()) for i in (0, 1))


def watch(command):
    """Seconds of the run; (second, line) of each progress line; (second, ran, waited) of each look at the threads."""
    terminal, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 240, 0, 0))
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its_end, close_fds=True)
    os.close(its_end)
    share, lines, looks, text = Share(process.pid), [], [], ""
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.25)
        now = time.monotonic() - start
        looks.append((now, *share.now()))
        if not ready:
            continue
        try:
            got = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            break
        if not got:
            break
        text += got
        *whole, text = re.split(r"\x1b\[K", text)
        lines += [(now, line.replace("\r", "").strip()) for line in whole]
    if process.wait() not in (0, 3):
        sys.exit(f"{' '.join(command)} failed: {text}")
    return time.monotonic() - start, lines, looks


def at(series, moment):
    before = [entry for entry in series if entry[0] <= moment]
    return before[-1] if before else series[0]


def row_of(name, command):
    elapsed, lines, looks = watch(command)
    cells = [f"{name:26}", f"{elapsed:7.1f}"]
    for moment in MOMENTS:
        said = [(then, said_left(line)) for then, line in lines if then <= moment * elapsed and said_left(line) is not None]
        if not said:
            cells.append(f"{'nothing':>22}")
            continue
        then, left = said[-1]
        true = elapsed - then
        cells.append(f"{left:7.1f} {true:7.1f} {left / max(true, 1e-9):6.2f}")
    shares = []
    for quarter in range(4):
        _, ran, waited = at(looks, quarter / 4 * elapsed)
        _, ran_then, waited_then = at(looks, (quarter + 1) / 4 * elapsed)
        shares.append((ran_then - ran) / max(ran_then - ran + waited_then - waited, 1))
    cells.append(" ".join(f"{share:4.2f}" for share in shares))
    return "  ".join(cells)


def prepared(args):
    """The commands by name, and the inputs that they need."""
    path = lambda name: os.path.join(args.folder, name)
    sluice = lambda *options: subprocess.run([args.sluice, "run", *options, "--quiet"], check=True)
    os.makedirs(args.folder, exist_ok=True)
    reference, prefix, modbam, unsorted = path("reference.fa"), path("big"), path("calls.bam"), path("unsorted.bam")
    if not os.path.exists(prefix + ".blow5.idx"):
        sluice("synthetic_reference", "--length", "5000000", "--seed", "7", "--output", reference)
        sluice("simulate", "--reference", reference, "--reads", str(args.reads), "--seed", "1", "--output-prefix", prefix)
    fastq, bam, signal = (prefix + ending for ending in (".fastq.gz", ".bam", ".blow5"))
    signal_inputs = ["--reference", reference, "--signal", signal, "--reads", fastq, "--alignments", bam]
    if not os.path.exists(modbam):
        sluice("methylation", *signal_inputs, "--output", os.devnull, "--modbam", modbam)
    # BGZF behind BGZF is BGZF. Four and sixteen times the reads, so that fast runs last long enough.
    several = {times: path(f"reads_{times}_times.fastq.gz") for times in (4, 16)}
    for times, name in several.items():
        if not os.path.exists(name):
            with open(name, "wb") as to:
                for _ in range(times):
                    with open(fastq, "rb") as of_once:
                        shutil.copyfileobj(of_once, to, 1 << 24)
    if not os.path.exists(unsorted):
        sluice("map", "--reference", reference, "--reads", several[4], "--output", unsorted)
    copies = [path(f"calls_{number}.bam") for number in range(16)]
    for copy in copies:
        if not os.path.exists(copy):
            shutil.copyfile(modbam, copy)
    target = path("target.fa")
    if not os.path.exists(target):
        sluice("synthetic_reference", "--length", "30000", "--seed", "8", "--output", target)
    out = path("out")
    return {
        "methylation": ["methylation", *signal_inputs, "--output", out],
        "eventalign": ["eventalign", *signal_inputs, "--output", os.devnull],
        "map PAF": ["map", "--reference", reference, "--reads", several[16], "--output", out],
        "map BAM": ["map", "--reference", reference, "--reads", several[4], "--format", "bam", "--output", out],
        "map BAM sorted": ["map", "--reference", reference, "--reads", several[4], "--format", "bam", "--sort", "--output", path("out.bam")],
        "correct": ["correct", "--reads", fastq, "--output", out],
        "polish": ["polish", "--targets", reference, "--reads", fastq, "--output", out],
        "sort": ["sort", "--alignments", unsorted, "--output", path("sorted.bam")],
        "sort in 64 MiB": ["sort", "--alignments", unsorted, "--output", path("sorted.bam"), "--memory", "64MiB"],
        "pileup": ["pileup", "--alignments", *copies, "--reference", reference, "--output", out],
        "classify_signal": ["classify_signal", "--signal", signal, "--target", target, "--output", out],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--folder", required=True, help="where the inputs are made, some 4 GB")
    parser.add_argument("--reads", type=int, default=14000, help="how many are simulated")
    parser.add_argument("--threads", default="2")
    parser.add_argument("cases", nargs="*", help="names of runs; none: all")
    args = parser.parse_args()
    commands = prepared(args)
    print(f"{'run':26}  {'seconds':>7}  " + "  ".join(f"{f'at {100 * moment:.0f} %: said true':>22}" for moment in MOMENTS) + "  share of the processors")
    for name in args.cases or commands:
        print(row_of(name, [args.sluice, "run", *commands[name], "--threads", args.threads]), flush=True)


if __name__ == "__main__":
    main()
