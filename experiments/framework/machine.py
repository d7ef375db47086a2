# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What a measurement was made on, in words."""

import os
import re
import shutil
import subprocess


def _first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().split("\n")[0] if done.returncode == 0 else ""


def processor():
    """The name of the processor, and the instruction set that matters most here."""
    text = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        pass
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    flags = re.search(r"^flags\s*: (.*)$", text, re.M)
    widest = next((title for flag, title in (("avx512bw", "AVX-512"), ("avx2", "AVX2")) if flags and flag in flags[1].split()), "no AVX2")
    return "%s, %s" % (name[1] if name else "an unknown processor", widest)


def cores():
    return len(os.sched_getaffinity(0))


def gpus():
    """Names of the GPUs, as nvidia-smi says them."""
    if not shutil.which("nvidia-smi"):
        return []
    done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, encoding="utf-8", errors="replace", check=False)
    return [line.strip() for line in done.stdout.split("\n") if line.strip()] if done.returncode == 0 else []


def commit(source):
    """The commit of the source tree, '+' behind it where files differ from it; SLUICE_COMMIT where there is no repository."""
    found = _first_line(["git", "-C", source, "rev-parse", "--short=8", "HEAD"])
    if not found:
        return os.environ.get("SLUICE_COMMIT", "unknown")
    changed = _first_line(["git", "-C", source, "status", "--porcelain", "--", "core", "plugins", "sdk", "pipelines", "experiments"])
    return found + ("+" if changed else "")


def version(program):
    """What a program says of its release: of --version, else of its usage, as bwa does."""
    for command in ([program, "--version"], [program]):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        text = done.stdout + done.stderr
        found = re.search(r"version:? *(v?\d[\w.+-]*)", text, re.I) or (re.search(r"(?:^| )(v?\d+\.\d[\w.+-]*)", text, re.M) if done.returncode == 0 else None)
        if found:
            return found[1]
    return "(says no version)"


def load():
    """Processes that wanted a processor in the last minute."""
    return os.getloadavg()[0]


def describe():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cards = gpus()
    return "%s, %d cores, %.0f GiB; %s" % (processor(), cores(), memory, ", ".join(cards) if cards else "no GPU")
