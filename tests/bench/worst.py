#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Input that is legal but unkind (worst_cases.py): each stage and whole run beside another program, and on a device beside the CPU. Runs are made in turn;
figures are medians. The ratio is the other program's processor seconds over ours on the CPU, the worst first: below 1 we are slower. `growth`
is the time a read (window, record) over that of the smallest case of the same kind: 1 where time is linear. Outputs of all devices have to be the same
bytes. Of a further device its wall seconds over the CPU's, its share of the work of the stage where it did most, and what it left to the CPU are said. Returns 1 if a run
failed or gave other bytes."""

import argparse
import fnmatch
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import worst_cases


class Failed(Exception):
    pass


def measure(command, folder, output, limit):
    """Wall seconds, processor seconds (a run that reaches `limit` of them is ended and counts as so long) and peak MB."""
    start = time.monotonic()
    with open(output, "wb") as out, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(["prlimit", f"--cpu={limit}", *command], stdout=out, stderr=said, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        wall, seconds = time.monotonic() - start, usage.ru_utime + usage.ru_stime
        if status != 0 and seconds < limit * 0.9:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            raise Failed((lines[-1] if lines else "") or f"exit status {status}")
    return wall, min(seconds, limit), usage.ru_maxrss / 1024


def same_bytes(first, second):
    """But for the command line in SAM."""
    with open(first, "rb") as a, open(second, "rb") as b:
        return all(x == y or (x.startswith(b"@PG") and y.startswith(b"@PG")) for x, y in itertools.zip_longest(a, b, fillvalue=b""))


def work_of_device(path):
    """From a report: the largest share of a stage's work that a device did, and the counters of what it left to the CPU, as words."""
    with open(path) as text:
        stages = json.load(text)["stages"]
    share = max((each["share_of_work"] for stage in stages for each in stage["implementations"] if each["device"] not in ("cpu", "writer")), default=0)
    left = [f"{name} {value:.0f}" for stage in stages for name, value in stage["counters"].items() if "left_to_cpu" in name or "again_on_cpu" in name]
    return f"{100 * share:.0f} %", ", ".join(left)


def median(rows):
    return [statistics.median(column) for column in zip(*rows)]


def run_case(case, inputs, args):
    """A row of the table."""
    row = {"case": case.name, "peer": case.program, "said": [], "work": {}}
    run = case.make(inputs)
    folder = run.folder or inputs.folder
    row["units"], row["unit"], row["family"] = run.units, run.unit, case.family
    commands = {}
    for device in args.devices:
        output = os.path.join(folder, device + "_" + run.output)
        commands[device] = [*inputs.sluice, *run.ours, "--output", output, "--quiet", "--profile", "none", "--threads", str(args.threads), "--device", device]
        if device != args.devices[0]:
            commands[device] += ["--report", os.path.join(folder, device + ".json")]
    if run.peer:
        try:
            commands["peer"] = run.peer()
        except worst_cases.Missing as missing:
            row["said"].append(f"beside nothing: {missing}")
    figures = {name: [] for name in commands}
    for round_number in range(args.runs):
        for name, command in commands.items():
            figures[name].append(measure(command, folder, os.path.join(folder, name + "_said"), args.limit))
        if round_number == 0:
            for device in args.devices[1:]:
                row["work"][device] = work_of_device(os.path.join(folder, device + ".json"))
                if not same_bytes(*(os.path.join(folder, name + "_" + run.output) for name in (args.devices[0], device))):
                    raise Failed(f"other bytes with --device {device}")
        if sum(sample[0][1] for sample in figures.values()) > args.once:
            break
    row["figures"] = {name: median(rows) for name, rows in figures.items()}
    return row


def compare(rows, devices):
    """Adds ratio, growth and, for each further device, its wall seconds over the CPU's."""
    smallest = {}
    for row in rows:
        figures = row.get("figures")
        if not figures:
            continue
        ours = figures[devices[0]]
        row["ratio"] = figures["peer"][1] / max(ours[1], 1e-3) if "peer" in figures else None
        if row["units"]:
            row["each"] = {name: figure[1] / row["units"] for name, figure in figures.items()}
        if row["family"]:
            first = smallest.setdefault(row["family"], row)
            row["growth"] = {name: each / first["each"][name] for name, each in row["each"].items() if name in first["each"]}
        row["beside"] = {device: figures[device][0] / ours[0] for device in devices[1:]}


def columns(devices):
    head = ["case", "CPU s", "wall s", "MB", "beside", "CPU s", "wall s", "MB", "ratio", "ms", "growth", "its growth"]
    for device in devices[1:]:
        head += [f"{device}, wall s", f"{device} over {devices[0]}", f"{device}'s share", f"left by {device}"]
    return head


def cells(row, devices):
    if "figures" not in row:
        return [row["case"], "", "", "", "; ".join(row["said"]), *[""] * (len(columns(devices)) - 5)]
    figures = row["figures"]
    number = lambda value, form="{:.2f}": "" if value is None else form.format(value)
    (wall, cpu, memory), peer = figures[devices[0]], figures.get("peer")
    words = [row["case"], number(cpu), number(wall), number(memory, "{:.0f}")]
    words += [row["peer"], number(peer[1]), number(peer[0]), number(peer[2], "{:.0f}")] if peer else ["; ".join(row["said"]), "", "", ""]
    words.append(number(row["ratio"]))
    each, growth = row.get("each", {}), row.get("growth", {})
    words.append(f"{each[devices[0]] * 1e3:.3f} a {row['unit'].removesuffix('s')}" if each else "")
    words += [number(growth.get(devices[0])), number(growth.get("peer"))]
    for device in devices[1:]:
        words += [number(figures[device][0]), number(row["beside"][device]), *row["work"][device]]
    return words


def worst_ratio(row):
    """To the other program, or of the CPU to a device."""
    ratios = [1 / ratio for ratio in row.get("beside", {}).values()]
    if row.get("ratio") is not None:
        ratios.append(row["ratio"])
    return min(ratios, default=float("inf"))


def print_table(rows, devices, form):
    ordered = sorted(rows, key=worst_ratio)
    head, lines = columns(devices), [cells(row, devices) for row in ordered]
    if form == "markdown":
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for line in lines:
            print("| " + " | ".join(line) + " |")
        return
    if form == "rows":  # of tests/gpu/run.sh
        for line in lines:
            print(line[0] + "\t" + ", ".join(f"{name} {word}" for name, word in zip(head[1:], line[1:]) if word))
        return
    widths = [max(len(line[at]) for line in [head, *lines] if line[1] or at != 4) for at in range(len(head))]  # messages may be longer
    for line in [head, *lines]:
        print("  ".join(word.ljust(width) if at in (0, 4) else word.rjust(width) for at, (word, width) in enumerate(zip(line, widths))).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", required=True, help="the program")
    parser.add_argument("--tools", required=True, help="folder of make_test_input, make_alignments, sweep_mapping_case and spoa_windows")
    parser.add_argument("--peers", help="a folder with other programs, before those of PATH")
    parser.add_argument("--cases", default="*", help="patterns with commas between them, as 'polish/*,map/drawn*'")
    parser.add_argument("--devices", default="cpu", help="with commas between them; the first is compared with other programs")
    parser.add_argument("--threads", type=int, default=1, help="of all programs that have them")
    parser.add_argument("--runs", type=int, default=3, help="each figure is the median of so many")
    parser.add_argument("--once", type=float, default=8, help="a case whose programs take more processor seconds than that is run once")
    parser.add_argument("--limit", type=int, default=60, help="processor seconds after which a program is ended")
    parser.add_argument("--format", choices=["text", "markdown", "rows"], default="text")
    parser.add_argument("--list", action="store_true", help="only the names of the cases")
    args = parser.parse_args()
    args.devices = args.devices.split(",")
    patterns = args.cases.split(",")
    chosen = [case for case in worst_cases.table() if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)]
    if not chosen:
        parser.error(f"no case is named like {args.cases}")
    if args.list:
        print("\n".join(case.name for case in chosen))
        return 0
    sluice = [os.path.abspath(args.sluice), "run"]
    rows, failures = [], 0
    with tempfile.TemporaryDirectory() as folder:
        inputs = worst_cases.Inputs(folder, sluice, os.path.abspath(args.tools), args.peers and os.path.abspath(args.peers), args.threads)
        for case in chosen:
            print(f"{case.name} ...", file=sys.stderr, flush=True)
            try:
                rows.append(run_case(case, inputs, args))
            except worst_cases.Missing as missing:
                rows.append({"case": case.name, "said": [f"skipped: {missing}"]})
            except (Failed, subprocess.CalledProcessError) as failed:
                rows.append({"case": case.name, "said": [f"FAILED: {failed}"]})
                failures += 1
    compare(rows, args.devices)
    print_table(rows, args.devices, args.format)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
