#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Times `sluice run map` and minimap2 with its default heuristics as whole processes, in turn, and prints medians and ratios.
#   [FORMAT=bam] mapping.sh SLUICE DATA_DIR [THREADS [RUNS [SETS...]]]
# DATA_DIR: the sets of shared/tools/make-data. SETS: ecoli20x ecoli_long repeats50_8k repeats50_long, or ecoli_hifi, which is mapped with map-hifi
# (shared/tools/simulate_long_reads.cpp: ecoli.fa 100000000 gamma 12000 30000 0.005 21). FORMAT=bam: with alignments, beside `minimap2 -a | samtools
# view -b`, and the sizes of the files. With LD_PRELOAD=build/release/tests/older_processor.so sluice uses AVX2.
set -euo pipefail
sluice=$1 data=$2 threads=${3:-2} runs=${4:-3}
shift $(($# < 4 ? $# : 4))
sets=("$@")
[ ${#sets[@]} -gt 0 ] || sets=(ecoli20x ecoli_long repeats50_8k repeats50_long)
command -v minimap2 >/dev/null || { echo "skipped: no minimap2"; exit 77; }
python3 - "$sluice" "$data" "$threads" "$runs" "${sets[@]}" <<'END'
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

sluice, data, threads, runs = sys.argv[1:3] + [int(number) for number in sys.argv[3:5]]
to_bam = os.environ.get("FORMAT") == "bam"


def measure(command, output):
    """Wall seconds, CPU seconds, peak resident MB of one run."""
    start = time.monotonic()
    with open(output, "wb") as out, open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=out, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


print(f"{'set':15} {'program':9} {'wall s':>8} {'CPU s':>8} {'MB':>7}   (medians of {runs} runs, {threads} threads)")
with tempfile.TemporaryDirectory() as work:
    for name in sys.argv[5:]:
        reference = os.path.join(data, ("ecoli" if name.startswith("ecoli") else name.split("_")[0]) + ".fa")
        reads = os.path.join(data, name + ".fq")
        preset = "map-hifi" if name.endswith("hifi") else "map-ont"
        minimap2 = ["minimap2", "-x", preset, "-t", str(threads), reference, reads]
        programs = {
            "sluice": [sluice, "run", "map", "--quiet", "--device", "cpu", "--threads", str(threads), "--preset", preset, "--reference", reference,
                       "--reads", reads, "--output", "-"] + (["--format", "bam"] if to_bam else []),
            "minimap2": ["bash", "-c", "set -o pipefail; " + shlex.join(minimap2 + ["-a"]) + " | samtools view -b"] if to_bam else minimap2,
        }
        figures = {program: [] for program in programs}
        for _ in range(runs):
            for program, command in programs.items():
                figures[program].append(measure(command, os.path.join(work, program)))
        medians = {program: [statistics.median(column) for column in zip(*rows)] for program, rows in figures.items()}
        for program, (wall, cpu, megabytes) in medians.items():
            print(f"{name:15} {program:9} {wall:8.2f} {cpu:8.2f} {megabytes:7.0f}", flush=True)
        ours, theirs = medians["sluice"], medians["minimap2"]
        print(f"{name:15} ratio     {theirs[0] / ours[0]:8.2f} {theirs[1] / ours[1]:8.2f} {theirs[2] / ours[2]:7.2f}", flush=True)
        if to_bam:
            sizes = {program: os.path.getsize(os.path.join(work, program)) for program in programs}
            print(f"{name:15} MB of file: " + ", ".join(f"{program} {size / 1e6:.1f}" for program, size in sizes.items()), flush=True)
END
