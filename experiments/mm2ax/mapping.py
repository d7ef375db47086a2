# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Whole mapping of reads of 10, 50 and 100 kb beside minimap2 and mm2-fast, and how many lines are the same."""

from framework import machine, plot
from framework.places import good_places, write_truth
from mm2ax import published

TITLE = "mm2-ax: whole mapping"
EXACT = 1000000  # --max-chain-skip from which on minimap2's search is exact


def inputs(e):
    """Reference, and (name, folder) of each set."""
    reference = e.given("reference.fa") or e.reference("repeats", e.pick(500000, 5000000, 50000000), seed=78, gc_content=0.41, cpg_ratio=0.25, repeats=0.45, repeat_divergence=0.1)
    total = e.pick(1000000, 12000000, 100000000)
    sets = []
    for length in (10000, 50000, 100000):
        folder = e.simulated("mapping-%d" % length, reference, total // length, seed=length, plain=True, mean_length=length, error_rate=0.08, length_variation=0.3,
                             set="stages.signal_file.enabled=false")
        sets.append(("%d kb" % (length // 1000), folder))
    e.data("%.0f Mbases a set of simulated reads with 8 %% errors against %.1f Mbases%s; the paper has human reads of these lengths and the human genome."
           % (total / 1e6, e.bases(reference) / 1e6, " of --data" if e.used else ", 45 % of them copies of repeats that are 10 % apart, 41 % GC"))
    return reference, sets


def run(e):
    reference, sets = inputs(e)
    table = e.table("reads, program", "wall s", "CPU s", "peak MB", "CPU s over sluice's on the CPU", "lines", "lines that are not minimap2's exact ones")
    bars = []
    version = machine.version(e.peer("minimap2")).split("-")[0] if e.peer("minimap2") else ""
    compat = ["--compat", "minimap2=" + version, "--max-chain-skip", EXACT] if version in ("2.24", "2.31") else []
    for name, folder in sets:
        reads, cpu = folder + "/reads.fq", None
        exact = None
        if version:
            theirs = e.path("exact.paf")
            with e.beside("%s: minimap2, exact" % name, table):
                exact_run = e.median(lambda: e.measure(["minimap2", "-x", "map-ont", "-I", "8G", "--max-chain-skip=%d" % EXACT, "-t", str(e.threads), reference, reads], stdout=theirs))
                with open(theirs, encoding="utf-8") as lines:
                    exact = list(lines)

        def differing(path):
            if exact is None:
                return "-"
            with open(path, encoding="utf-8") as lines:
                ours = list(lines)
            return len(set(ours) ^ set(exact))

        def row(program, run, path):
            with open(path, encoding="utf-8") as lines:
                count = sum(1 for _ in lines)
            table.row("%s: %s" % (name, program), run.wall, run.cpu, run.megabytes, run.cpu / cpu.cpu, count, differing(path))
            bars.append(("%s, %s" % (program, name), run.cpu))

        for device, reason in e.devices():
            if reason:
                continue
            output = e.path(device + ".paf")
            run = e.sluice("map", reference, reads, "--output", output, *compat, device=device)
            cpu = cpu or run
            row("sluice, " + device, run, output)
            if device != "cpu":
                e.same(e.path("cpu.paf"), output, "%s: lines of %s are those of cpu" % (name, device))
        if exact is not None:
            row("minimap2, exact", exact_run, theirs)
            with e.beside("%s: minimap2, default" % name, table):
                run = e.median(lambda: e.measure(["minimap2", "-x", "map-ont", "-I", "8G", "-t", str(e.threads), reference, reads], stdout=e.path("default.paf")))
                row("minimap2, default", run, e.path("default.paf"))
            if compat:
                e.check(differing(e.path("cpu.paf")) == 0, "%s: all lines are minimap2's" % name)
        if e.peer("mm2-fast"):
            with e.beside("%s: mm2-fast, exact" % name, table):
                run = e.median(lambda: e.measure(["mm2-fast", "-x", "map-ont", "-I", "8G", "--max-chain-skip=%d" % EXACT, "-t", str(e.threads), reference, reads], stdout=e.path("fast.paf")))
                row("mm2-fast, exact", run, e.path("fast.paf"))
        write_truth(e, folder + "/reads.bam", e.path("truth.tsv"))
        e.check(good_places(e.path("cpu.paf"), e.path("truth.tsv")), "%s: 98 of 100 reads lie where they are from" % name)
    for device, reason in e.devices():
        if reason:
            e.note("sluice, %s: skipped: %s." % (device, reason))
    for program in ("minimap2", "mm2-fast"):
        if not e.peer(program):
            e.note("%s: not installed." % program)
    if version and not compat:
        e.note("minimap2 is of release %s; sluice has the lines of 2.24 and 2.31 only, so that differences are counted, and are no check." % version)
    e.picture(plot.bars("Whole mapping to PAF, index included", "CPU seconds", bars))
    published.mapping(e)
    e.compare("minimap2's rows are of the same files on this machine; 'exact' is `--max-chain-skip=1000000`, what mm2-ax and sluice compute; its default is a heuristic that skips predecessors.")
    e.compare("Published ratios are of human reads on other machines.")
