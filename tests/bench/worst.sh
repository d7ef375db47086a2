#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Unkind reads (structural variants, bad stretches, repeats, low complexity, N, two near-identical contigs, 1 base to 300 kb) in every preset, and with
# options of the sweep of mapping: CPU seconds of `sluice map` to SAM on one thread and of minimap2, medians of runs in turn, the worst ratio first.
# What takes over a minute counts as a minute.
#   worst.sh BUILD_DIR [RUNS [CASES [BASES [SEED]]]]
set -euo pipefail
build=$(realpath "$1") runs=${2:-3} cases=${3:-21} bases=${4:-2000000} seed=${5:-1}
command -v minimap2 >/dev/null || { echo "skipped: no minimap2"; exit 77; }
python3 - "$build" "$runs" "$cases" "$bases" "$seed" <<'END'
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

limit = 60
build, (runs, cases, bases, seed) = sys.argv[1], map(int, sys.argv[2:6])
sluice, maker = os.path.join(build, "bin", "sluice"), os.path.join(build, "bin", "sweep_mapping_case")


def cpu_seconds(command, output):
    with open(output, "wb") as out, open(os.devnull, "wb") as null:
        process = subprocess.Popen(["prlimit", f"--cpu={limit}", *command], stdout=out, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0 and usage.ru_utime + usage.ru_stime < limit * 0.9:
        sys.exit(f"failed: {shlex.join(command)}")
    return min(limit, usage.ru_utime + usage.ru_stime)


rows = []
with tempfile.TemporaryDirectory() as work:
    for number in range(cases):
        subprocess.run([maker, "make", str(seed), str(number), str(bases), work], check=True)
        reads = next(os.path.join(work, name) for name in ("reads.fq", "reads.fa") if os.path.exists(os.path.join(work, name)))
        reference = os.path.join(work, "reference.fa")
        with open(os.path.join(work, "options")) as options:
            theirs, ours = (shlex.split(line) for line in options)
        ours = [word for word in ours if word not in ("--threads", "1")]
        peer = ["minimap2", "-a", "-t", "1", *theirs, reference, reads]
        own = [sluice, "run", "map", "--quiet", "--allow-empty", "--device", "cpu", "--threads", "1", "--format", "sam", *ours,
               "--reference", reference, "--reads", reads, "--output", "-"]
        seconds = [(cpu_seconds(own, os.path.join(work, "own")), cpu_seconds(peer, os.path.join(work, "peer"))) for _ in range(runs)]
        mine, other = (statistics.median(column) for column in zip(*seconds))
        rows.append((other / mine, number, mine, other, " ".join(theirs)))
        os.remove(reads)
print(f"{'case':>4} {'sluice s':>9} {'minimap2 s':>10} {'ratio':>6}  options   (seed {seed}, {bases} bases, medians of {runs} runs)")
for ratio, number, mine, other, options in sorted(rows):
    print(f"{number:4} {mine:9.2f} {other:10.2f} {ratio:6.2f}  {options}")
END
