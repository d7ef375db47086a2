# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""One experiment: the programs that it runs and how they are measured, the data that it makes, its checks, and the page that it writes."""

import contextlib
import datetime
import filecmp
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from framework import cgroup, machine, plot
from framework.sequences import bases_of

SIZES = ("tiny", "small", "full")


# The source of a figure that stands beside the published ones.
OURS = "measured by this project's authors, not published"


class Failed(Exception):
    """A program failed, or an answer is wrong."""


class Run:
    """One process: wall and processor seconds, peak resident MB, and sluice's report where there is one."""

    def __init__(self, wall, cpu, megabytes, report=None, text=""):
        self.wall, self.cpu, self.megabytes, self.report, self.text = wall, cpu, megabytes, report, text

    def shares(self):
        """Of each stage that a device took part in: the device's share of the work."""
        found = {}
        for stage in (self.report or {}).get("stages", []):
            share = sum(i["share_of_work"] for i in stage["implementations"] if i["device"] not in ("cpu", "writer"))
            if any(i["device"] not in ("cpu", "writer") for i in stage["implementations"]):
                found[stage["name"]] = share
        return found

    def counter(self, stage, name, default=0):
        for s in (self.report or {}).get("stages", []):
            if s["name"] == stage:
                return s["counters"].get(name, default)
        return default


def resident_peak(pid, word="VmHWM:"):
    """Kilobytes that a running process had at most; what wait4 says may be of this program, from which it was forked. Of a script: what it and its programs have now."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as file:
            children = [int(child) for child in file.read().split()]
        with open("/proc/%d/status" % pid, encoding="utf-8") as file:
            own = next((int(line.split()[1]) for line in file if line.startswith("VmRSS:" if children else word)), 0)
    except OSError:
        return 0
    return own + sum(resident_peak(child, "VmRSS:") for child in children)


def ended(process):
    """Ends a process and all that it began."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.wait4(process.pid, 0)
    process.returncode = -9


def written(path, text):
    """A whole file or none: several runs may have the same output folder."""
    with open("%s.%d" % (path, os.getpid()), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)


def stamp(*paths):
    """A word that says which files these are: sets that are made of them are not those of others."""
    said = "".join("%s %d %d\n" % (os.path.realpath(path), os.path.getsize(path), os.stat(path).st_mtime_ns) for path in paths)
    return hashlib.sha256(said.encode()).hexdigest()[:8]


class Table:
    def __init__(self, columns):
        self.columns, self.rows = columns, []

    def row(self, name, *cells):
        if len(cells) + 1 > len(self.columns):
            raise ValueError("row '%s' has more cells than the table columns" % name)
        self.rows.append([name] + [cell if isinstance(cell, str) else plot.figure(cell) for cell in cells] + [""] * (len(self.columns) - 1 - len(cells)))

    def markdown(self):
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        return lines + ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in self.rows]


def reason_without_device(findings):
    """Of what `sluice doctor --json` finds: why there is no CUDA device; None where there is one."""
    said = {finding["what"]: finding["found"] for finding in findings}
    if "cuda:0" in said:
        return None
    found = said.get("cuda", said.get("gpu", "sluice doctor says nothing of it"))
    return re.sub(r"^(none|no CUDA): ", "", found)


class Experiment:
    def __init__(self, paper, name, options):
        self.paper, self.name, self.options = paper, name, options
        self.size, self.threads = options.size, options.threads or machine.cores()
        self.work = os.path.join(options.work, paper, name)
        self.sets = os.path.join(options.work, "sets")
        os.makedirs(self.work, exist_ok=True)
        os.makedirs(self.sets, exist_ok=True)
        self.environment = dict(os.environ, LC_ALL="C")
        build = os.path.realpath(options.build)
        self.programs = os.path.join(build, "bin")
        if os.path.isdir(os.path.join(build, "pipelines")):  # a packed runtime: bin, lib, pipelines
            libraries = os.path.join(build, "lib")
            self.environment.update(LD_LIBRARY_PATH=libraries, SLUICE_PLUGIN_PATH=libraries, SLUICE_PIPELINE_PATH=os.path.join(build, "pipelines"))
        self.environment["PATH"] = self.programs + os.pathsep + os.environ.get("PATH", "")
        self.program = os.path.join(self.programs, "sluice")
        self.tables, self.pictures, self.notes, self.checks, self.data_lines, self.published_rows, self.comparable = [], [], [], [], [], [], []
        self.peers, self.used, self._bases = {}, {}, {}
        self.cgroup = None  # in which programs are measured, see framework.cgroup
        self.started, self.load = datetime.datetime.now(datetime.timezone.utc), machine.load()

    # ---- sizes
    def pick(self, tiny, small, full):
        return {"tiny": tiny, "small": small, "full": full}[self.size]

    # ---- programs
    def path(self, name):
        return os.path.join(self.work, name)

    def measure(self, command, stdout=None, stdin=None, limit=None, environment=None):
        """Runs a command to its end; fails with its last words when it fails, and when it takes longer than `limit` seconds."""
        limit = limit or self.options.patience
        log = self.path("log")
        start = time.monotonic()
        with open(stdout or os.devnull, "wb") as out, open(log, "wb") as err, open(stdin or os.devnull, "rb") as source:
            try:  # a group of its own: nothing of it is left when it takes too long, or this run is ended
                process = subprocess.Popen(cgroup.inside(self.cgroup, command), stdin=source, stdout=out, stderr=err, env=dict(self.environment, **(environment or {})), start_new_session=True)
            except OSError as error:
                raise Failed("%s: %s" % (command[0], error.strerror)) from error
            peak = 0
            try:
                while True:
                    peak = max(peak, resident_peak(process.pid))
                    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                    if pid:
                        break
                    if time.monotonic() - start > limit:
                        raise Failed("longer than %d s: %s" % (limit, " ".join(command)))
                    time.sleep(0.005)
            except BaseException:
                ended(process)
                raise
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if process.returncode != 0:
            raise Failed("%s\n  ends with %d: %s" % (" ".join(command), process.returncode, " / ".join(text.strip().split("\n")[-4:])))
        return Run(wall, usage.ru_utime + usage.ru_stime, (peak or usage.ru_maxrss) / 1024, text=text)

    def median(self, measure_once):
        """The run with the median processor seconds of --rounds."""
        runs = sorted((measure_once() for _ in range(self.options.rounds)), key=lambda run: run.cpu)
        return runs[len(runs) // 2]

    def sluice(self, pipeline, *arguments, device="cpu", threads=None):
        """`sluice PIPELINE ...` with a report; the median of the rounds."""
        report = self.path("report.json")

        def once():
            run = self.measure([self.program, pipeline, *map(str, arguments), "--device", device, "--threads", str(threads or self.threads), "--report", report, "--quiet"])
            with open(report, encoding="utf-8") as file:
                run.report = json.load(file)
            return run

        return self.median(once)

    def bench(self, stage, pipeline, *arguments, device="cpu"):
        """`sluice bench STAGE`: seconds for all batches, which are in memory."""
        run = self.measure([self.program, "bench", stage, "--pipeline", pipeline, *map(str, arguments), "--device", device, "--threads", str(self.threads),
                            "--repeat", str(self.pick(1, 3, 5))], stdout=self.path("bench"))
        with open(self.path("bench"), encoding="utf-8") as file:
            run.text = file.read()
        for line in run.text.split("\n"):
            if line.startswith("all: "):
                words = line.split()
                return float(words[2]) / 1000 if words[3].startswith("ms") else float(words[2])
        raise Failed("sluice bench %s: there is no time in '%s'" % (stage, run.text))

    def devices(self):
        """(device, None) of each that can be asked for, or (device, the reason why it is skipped)."""
        if not hasattr(self, "_devices"):
            done = subprocess.run([self.program, "doctor", "--json"], capture_output=True, encoding="utf-8", errors="replace", env=self.environment, check=False)
            findings = json.loads(done.stdout).get("findings", []) if done.stdout.startswith("{") else []
            reason = reason_without_device(findings)
            self._devices = [("cpu", None), ("cuda", reason), ("auto", reason)]
        return self._devices

    def peer(self, name):
        """Where another program is, or None. The page names its version."""
        found = shutil.which(name, path=self.environment["PATH"])
        if found:
            self.peers[name] = found
        return found

    @contextlib.contextmanager
    def beside(self, name, table=None):
        """What is done with another program and with what it writes. Where that fails, a check fails, and the rest of the table goes on."""
        try:
            yield
        except Exception as failure:  # it may write anything  # pylint: disable=broad-except
            reason = str(failure) if isinstance(failure, Failed) else "what it writes can't be read (%s: %s)" % (type(failure).__name__, failure)
            if table:
                table.row(name, "failed: " + " ".join(reason.split("\n")[-1].split())[-100:])
            print("  %s: %s" % (name, reason), flush=True)
            self.check(False, "%s ends well, and what it writes can be read" % name)

    def tool(self, name):
        """A program of our own that makes or judges data; it is in the build's bin folder."""
        path = os.path.join(self.programs, name)
        if not os.path.exists(path):
            raise Failed("%s is not there: `./dev build release program %s` makes it" % (path, name))
        return path

    def not_installed(self, table, name, why=""):
        table.row(name, "not installed" + why)

    def skipped(self, table, name, reason):
        table.row(name, "skipped: " + reason)

    # ---- data
    def made(self, name, make):
        """A folder of the made sets, which several tables share; make(folder) fills it once."""
        folder = os.path.join(self.sets, "%s-%s" % (self.size, name))
        if not os.path.exists(os.path.join(folder, ".complete")):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            make(folder)
            open(os.path.join(folder, ".complete"), "w", encoding="utf-8").close()
        return folder

    def reference(self, name, length, seed=7, **options):
        def make(folder):
            extra = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), str(value))]
            self.sluice_quietly("synthetic_reference", "--length", length, "--seed", seed, "--output", folder + "/reference.fa", *extra)
        return self.made("reference-" + name, make) + "/reference.fa"

    def sluice_quietly(self, pipeline, *arguments):
        return self.measure([self.program, pipeline, *map(str, arguments), "--threads", str(self.threads), "--quiet", "--device", "cpu"])

    def simulated(self, name, reference, reads, seed=7, signal=True, plain=False, **options):
        """Reads of a reference: reads.fastq.gz, and with signal reads.blow5, reads.bam and the truth; plain: reads.fq, too."""
        def make(folder):
            extra = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), str(value))]
            if not signal:
                for stage in ("signal_file", "alignment_file", "truth_files"):
                    extra += ["--set", "stages.%s.enabled=false" % stage]
            # nanopolish 0.14 of Debian can't read svb-zd.
            self.sluice_quietly("simulate", reference, "--reads", reads, "--seed", seed, "--output-prefix", folder + "/reads", "--signal-compression", "none", *extra)
            if plain:
                with gzip.open(folder + "/reads.fastq.gz", "rb") as packed, open(folder + "/reads.fq", "wb") as out:
                    shutil.copyfileobj(packed, out)
        return self.made("reads-" + name + ("" if reference.startswith(self.sets + os.sep) else "-" + stamp(reference)), make)

    def bases(self, path):
        if path not in self._bases:
            self._bases[path] = bases_of(path)
            if self._bases[path] == 0:
                raise Failed("%s has no bases" % path)
        return self._bases[path]

    def given(self, name):
        """A file or folder of --data, or None; fails where it is empty. The page names it."""
        path = os.path.join(self.options.data, name) if self.options.data else ""
        if not path or not os.path.exists(path):
            return None
        if os.path.getsize(path) == 0:
            raise Failed("%s is empty" % path)
        self.used[name] = path
        return path

    # ---- answers
    def check(self, condition, text):
        self.checks.append((text, bool(condition)))
        print("  %s: %s" % ("ok" if condition else "FAILED", text), flush=True)

    def same(self, one, other, text):
        """Two files of the same bytes, and of more than one line: two empty tables say nothing."""
        with open(one, "rb") as file:
            more_than_a_line = next(file, b"") and next(file, b"")
        self.check(more_than_a_line and filecmp.cmp(one, other, shallow=False), text)

    def broken(self, reason):
        """Why the experiment did not come to its end; a page of it is not to be cited."""
        self.check(False, "the experiment comes to its end: " + " ".join(reason.split())[:300])

    # ---- the page
    def table(self, *columns):
        self.tables.append(Table(list(columns)))
        return self.tables[-1]

    def note(self, text):
        self.notes.append(text)

    def data(self, text):
        self.data_lines.append(text)

    def published(self, figure, value, hardware, source):
        self.published_rows.append((figure, value, hardware, source))

    def compare(self, text):
        self.comparable.append(text)

    def picture(self, svg):
        self.pictures.append(svg)

    def write(self, title):
        """The page and its pictures, in the output folder; False where a check failed."""
        out = self.options.output
        os.makedirs(out, exist_ok=True)
        stem = "%s-%s%s" % (self.paper, self.name, "-" + self.options.label if self.options.label else "")
        lines = ["# " + title, "", "Written by `experiments/run %s %s --size %s`; the [README](%s) says how.%s" % (
            self.paper, self.name, self.size, os.path.relpath(os.path.join(self.options.source, "experiments", "README.md"), out) if out.startswith(self.options.source + os.sep) else "../../experiments/README.md",
            " " + self.options.remark if self.options.remark else ""), ""]
        lines += ["Machine: %s; %d threads; load %.1f when it began. Commit %s, %s." % (
            machine.describe(), self.threads, self.load, machine.commit(self.options.source), self.started.strftime("%Y-%m-%d")), ""]
        if self.peers:
            lines += ["Other programs: %s." % ", ".join("%s %s" % (name, machine.version(path)) for name, path in sorted(self.peers.items())), ""]
        if self.used:
            self.data_lines.append("Of --data: %s." % ", ".join("`%s` (%d bytes)" % (name, os.path.getsize(path)) for name, path in sorted(self.used.items())))
        lines += ["Data: " + " ".join(self.data_lines), ""]
        for table in self.tables:
            lines += table.markdown() + [""]
        lines += ["- " + note for note in self.notes] + ([""] if self.notes else [])
        for i, svg in enumerate(self.pictures):
            name = "%s%s.svg" % (stem, "" if i == 0 else "-%d" % (i + 1))
            written(os.path.join(out, name), svg)
            lines += ["![%s](%s)" % (title, name), ""]
        lines += ["## Published", ""]
        published = Table(["figure", "value", "hardware", "source"])
        for row in self.published_rows:
            published.row(*row)
        lines += published.markdown() + [""] + ["## What can be compared", ""] + ["- " + text for text in self.comparable] + [""]
        lines += ["## Checks", ""]
        checks = Table(["check", "result"])
        for text, good in self.checks:
            checks.row(text, "ok" if good else "FAILED")
        lines += checks.markdown()
        written(os.path.join(out, stem + ".md"), "\n".join(lines) + "\n")
        if not self.checks:
            print("  FAILED: this experiment has no check", file=sys.stderr)
        return bool(self.checks) and all(good for _, good in self.checks)
