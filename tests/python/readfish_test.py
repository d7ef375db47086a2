# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""readfish against the stand-in for a sequencer: with its own plugins that do nothing, and with sluice's."""

import csv
import glob
import gzip
import os
import subprocess
import sys
import tempfile
import unittest

import sluice
from live_test import stand_in, table

REGION = """
[[regions]]
name = "all"
control = false
targets = ["{contig}"]
min_chunks = 1
max_chunks = 100
single_on = "stop_receiving"
multi_on = "stop_receiving"
single_off = "unblock"
multi_off = "unblock"
no_map = "unblock"
no_seq = "{no_seq}"
"""
NO_OP = "[caller_settings.no_op]\n\n[mapper_settings.no_op]\n"
OURS = '[caller_settings."sluice.readfish"]\ntarget = "{folder}/target.fa"\nthreshold = 0.3\n\n[mapper_settings."sluice.readfish"]\nfn_idx_in = "{folder}/genome.fa"\n'
PORES = 12


def contig():
    with open("target.fa") as file:
        return file.readline()[1:].split()[0]


def readfish(*words, cwd, environment=None, timeout=240):
    done = subprocess.run([sys.executable, "-m", "readfish", *words], cwd=cwd, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout + done.stderr


def experiment(toml, folder):
    """Runs it on every read once, each on a pore of its own. Returns readfish's log and the stand-in's summary."""
    path = os.path.join(folder, "experiment.toml")
    with open(path, "w") as file:
        file.write(toml)
    with stand_in("--channels", "512", "--pores", str(PORES), "--once", "--capture-seconds", "0.2") as said:
        code, errors = readfish("targets", "--toml", path, "--device", said["position"], "--port", str(said["port"]), "--experiment-name", "test", "--throttle", "0.1",
                                cwd=folder, environment={"MINKNOW_TRUSTED_CA": said["certificate"]})
        if code != 0:
            raise AssertionError(f"readfish ends with {code}: {errors[-3000:]}")
    logs = glob.glob(os.path.join(folder, "*_readfish.tsv"))
    return (table(logs[0]) if logs else []), said["summary"], errors


class Readfish(unittest.TestCase):
    def test_its_own_plugins_that_do_nothing_eject_everything(self):
        with tempfile.TemporaryDirectory() as folder:
            log, summary, errors = experiment(NO_OP + REGION.format(contig=contig(), no_seq="unblock"), folder)
        self.assertTrue(log, errors[-2000:])
        self.assertEqual({row["mode"] for row in log} - {"no_seq", "first_read_override"}, set())
        self.assertGreater(summary["unblocked"], 50)  # but for the first read of each channel, which readfish sequences

    def test_with_ours_decisions_are_those_of_the_file(self):
        here = os.getcwd()
        sluice.run("classify_signal", signal="r.blow5", target="target.fa", threshold=0.3, output="calls.tsv")
        calls = {row["read_id"]: row["decision"] for row in table("calls.tsv")}
        with tempfile.TemporaryDirectory() as folder:
            log, summary, errors = experiment(OURS.format(folder=here) + REGION.format(contig=contig(), no_seq="proceed"), folder)
            decided = {row["read_id"]: row for row in log if row["mode"] in ("single_on", "single_off", "no_map")}
            self.assertGreater(len(decided), 60, errors[-2000:])
            for name, row in decided.items():
                self.assertEqual({"single_on": "accept", "no_map": "reject"}[row["mode"]], calls[name], name)
            for name, fate in summary["fates"].items():
                if name in decided and fate != "ended":
                    self.assertEqual(fate, "unblock" if calls[name] == "reject" else "stop_receiving", name)
            self.assertGreater(summary["unblocked"], 20)
            self.stats(folder, {row["read_id"]: row["channel"] for row in log})

    def stats(self, folder, channels):
        """readfish's summary of the finished reads, by the same experiment file."""
        reads = os.path.join(folder, "fastq")
        os.mkdir(reads)
        with gzip.open("r.fastq.gz", "rt") as file, open(os.path.join(reads, "reads.fastq"), "w") as out:
            lines = file.read().splitlines()
            for name, bases, _, qualities in zip(*(iter(lines),) * 4):
                name = name[1:].split()[0]
                if name in channels:
                    out.write(f"@{name} runid=stand_in ch={channels[name]} start_time=2026-01-01T00:00:00Z\n{bases}\n+\n{qualities}\n")
        code, said = readfish("stats", "--toml", "experiment.toml", "--fastq-directory", reads, "--no-demultiplex", cwd=folder, environment={"CI": "1"})
        self.assertEqual(code, 0, said[-3000:])
        summaries = glob.glob(os.path.join(folder, "*.csv"))
        self.assertTrue(summaries, said[-2000:])
        with open(summaries[0]) as file:
            rows = list(csv.reader(file))
        self.assertIn("all", {cell for row in rows for cell in row}, rows)

    def test_an_experiment_without_a_target_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.toml")
            with open(path, "w") as file:
                file.write('[caller_settings."sluice.readfish"]\n\n[mapper_settings."sluice.readfish"]\n' + REGION.format(contig="c", no_seq="proceed"))
            _, said = readfish("validate", path, cwd=folder)
        self.assertIn("the TOML names no target", said)


if __name__ == "__main__":
    unittest.main()
