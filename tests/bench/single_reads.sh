#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Times `sluice run map --format sam` and `minimap2 -a` (its default heuristics), one thread, on single reads that are hard to align, each in a process
# of its own: CPU seconds beyond what a process with a read of nothing takes, and whether the records are those of minimap2's exact chaining.
#   single_reads.sh SLUICE MAKE_TEST_INPUT [BASES]
set -euo pipefail
sluice=$1 make_test_input=$2 bases=${3:-10000000}
command -v minimap2 >/dev/null || { echo "skipped: no minimap2"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$make_test_input" hostile_genome 1 "$bases" >genome.fa
"$make_test_input" hostile_reads 1 "$bases" >reads.fa
minimap2 -d genome.mmi genome.fa 2>/dev/null
"$sluice" run index --reference genome.fa --output genome.index --quiet
python3 - "$sluice" <<'END'
import os
import subprocess
import sys


def measure(command, output):
    """CPU seconds and peak resident MB of one run."""
    with open(output, "wb") as out:
        process = subprocess.Popen(command + ["one.fa"], stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def records(path):
    with open(path) as lines:
        return [line for line in lines if not line.startswith("@PG")]


minimap2 = ["minimap2", "-a", "-t", "1", "genome.mmi"]
exact = minimap2[:-1] + ["--max-chain-skip=1000000", "genome.mmi"]
sluice = [sys.argv[1], "run", "map", "--quiet", "--allow-empty", "--device", "cpu", "--threads", "1", "--reference", "genome.index", "--format", "sam",
          "--reads"]
with open("reads.fa") as text:
    reads = text.read().split(">")[1:]
with open("one.fa", "w") as one:
    one.write(">nothing\nACGT\n")
start = {name: min(measure(command, "nothing.sam")[0] for _ in range(3)) for name, command in (("minimap2", minimap2), ("sluice", sluice))}
print(f"{'read':18} {'minimap2 s':>10} {'sluice s':>10} {'minimap2 MB':>12} {'sluice MB':>10}  records")
for read in reads:
    with open("one.fa", "w") as one:
        one.write(">" + read)
    theirs, ours = measure(minimap2, "theirs.sam"), measure(sluice, "ours.sam")
    measure(exact, "exact.sam")
    same = "the same" if records("exact.sam") == records("ours.sam") else "DIFFERENT"
    print(f"{read.split()[0]:18} {theirs[0] - start['minimap2']:10.2f} {ours[0] - start['sluice']:10.2f} {theirs[1]:12.0f} {ours[1]:10.0f}  {same}", flush=True)
END
