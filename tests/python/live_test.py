# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice live against the stand-in for a sequencer, as a user starts it."""

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import sluice

SLUICE = os.environ["SLUICE_PROGRAM"]
PIPELINE = ["--target", "target.fa", "--threshold", "0.3"]
PATIENT = ("--deadline", "30", "--stop-seconds", "0")  # where decisions are counted: other programs may keep the machine busy


@contextlib.contextmanager
def stand_in(*options):
    """Plays r.blow5; gives what it says of itself, and its summary under "summary" behind the end."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        words = [sys.executable, "-m", "sluice.live.stand_in", "--signal", "r.blow5", "--report", report, "--output", folder, *options]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            said = {}
            try:
                said = json.loads(process.stdout.readline())
                yield said
            finally:
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            if process.returncode != 0:
                raise AssertionError(f"the stand-in ends with {process.returncode}: {errors}")
            with open(report) as file:
                said["summary"] = json.load(file)


def start(said, *options):
    environment = {**os.environ, "MINKNOW_TRUSTED_CA": said["certificate"]}
    words = [SLUICE, "live", "--port", str(said["port"]), "--position", said["position"], *PIPELINE, *options]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)


def live(said, *options, timeout=200):
    process = start(said, *options)
    _, errors = process.communicate(timeout=timeout)
    return process.returncode, errors


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file, delimiter="\t"))


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sluice.run("classify_signal", signal="r.blow5", target="target.fa", threshold=0.3, output="calls.tsv")
        cls.calls = {row["read_id"]: row for row in table("calls.tsv")}

    def test_decisions_are_those_of_the_file(self):
        with stand_in("--channels", "16", "--once", "--capture-seconds", "0.2") as said:
            code, errors = live(said, "--log", "live.tsv", "--report", "live.json", *PATIENT)
            self.assertEqual(code, 0, errors)
        rows = table("live.tsv")
        self.assertEqual(len({row["read_id"] for row in rows}), len(rows))
        decided = {row["read_id"]: row for row in rows if row["decision"] != "wait"}
        self.assertGreater(len(decided), 80)
        for name, row in decided.items():
            for column in ("decision", "target", "strand", "start", "end", "score", "prefix_samples"):
                self.assertEqual(row[column], self.calls[name][column], f"{column} of {name}")
            self.assertEqual(row["action"], self.calls[name]["action"])
        # The sequencer has heard of every decision that was in time, and of nothing else.
        fates = said["summary"]["fates"]
        for name, row in decided.items():
            if row["sent"] == row["action"]:
                self.assertIn(fates[name], (row["sent"], "ended"), name)
        self.assertEqual(sum(fate == "unblock" for fate in fates.values()), said["summary"]["unblocked"])
        self.assertEqual(said["summary"]["unknown_actions"], 0)
        with open("live.json") as file:
            report = json.load(file)
        self.assertEqual(report["latency_seconds"]["count"], len(decided))

    def test_control_channels_and_a_dry_run_eject_nothing(self):
        with stand_in("--channels", "8", "--duration", "8", "--capture-seconds", "0.1") as said:
            code, errors = live(said, "--log", "control.tsv", "--control-channels", "1-4", *PATIENT)
            self.assertEqual(code, 0, errors)
        rows = [row for row in table("control.tsv") if row["decision"] != "wait"]
        self.assertTrue(all((row["condition"] == "control") == (int(row["channel"]) <= 4) for row in rows))
        self.assertFalse([row for row in rows if row["condition"] == "control" and row["sent"] == "unblock"])
        self.assertTrue([row for row in rows if row["sent"] == "unblock"])
        with stand_in("--channels", "8", "--duration", "6", "--capture-seconds", "0.1") as said:
            code, errors = live(said, "--log", "dry.tsv", "--dry-run", *PATIENT)
            self.assertEqual(code, 0, errors)
        self.assertEqual(said["summary"]["unblocked"], 0)
        self.assertTrue([row for row in table("dry.tsv") if row["reason"] == "dry_run"])

    def test_it_lives_through_what_happens_to_a_run(self):
        events = ("--drop-seconds", "4", "--mux-seconds", "7", "--vanish-seconds", "5", "--jump-seconds", "3", "--garbage-seconds", "0.5")
        with stand_in("--channels", "16", "--duration", "25", "--capture-seconds", "0.1", *events) as said:
            code, errors = live(said, "--log", "events.tsv", "--report", "events.json", "--give-up", "20", *PATIENT)
            self.assertEqual(code, 0, errors)
        with open("events.json") as file:
            report = json.load(file)
        self.assertGreaterEqual(report["decisions"]["reconnects"], 2)
        self.assertGreaterEqual(said["summary"]["drops"], 2)
        self.assertGreater(report["channels"].get("skipped_garbage", 0), 0)
        self.assertEqual(said["summary"]["unknown_actions"], 0)
        # No channel that is there was forgotten.
        heard = {int(row["channel"]) for row in table("events.tsv")}
        self.assertGreaterEqual(heard | set(said["summary"]["vanished_channels"]), set(range(1, 17)))

    def test_an_interrupt_ends_it_with_its_report(self):
        with stand_in("--channels", "8", "--capture-seconds", "0.1") as said:
            process = start(said, "--report", "interrupted.json", "--log", "interrupted.tsv")
            deadline = time.monotonic() + 60
            while not (os.path.exists("interrupted.tsv") and len(table("interrupted.tsv")) > 3) and time.monotonic() < deadline:
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 0, errors)
        self.assertTrue(os.path.exists("interrupted.json"))

    def test_a_full_disk_costs_the_log_and_no_decision(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with stand_in("--channels", "8", "--duration", "8", "--capture-seconds", "0.1") as said:
            code, errors = live(said, "--log", "/dev/full", "--report", "full.json", *PATIENT)
            self.assertEqual(code, 0, errors)
        self.assertIn("loses lines", errors)
        with open("full.json") as file:
            report = json.load(file)
        self.assertGreater(report["log_lines_lost"], 0)
        self.assertGreater(said["summary"]["unblocked"], 0)

    def test_what_is_wrong_is_said(self):
        with stand_in("--channels", "8", "--product-code", "FLO-XYZ") as said:
            code, errors = live(said)
            self.assertEqual(code, 2, errors)
            self.assertIn("the pore is not known", errors)
            code, errors = live(said, "--pore", "r9", "--tarqet", "x.fa")
            self.assertEqual(code, 2, errors)
            self.assertIn("tarqet", errors)
            code, errors = live(said, "--last-channel", "9", "--pore", "r9")
            self.assertEqual(code, 2, errors)
            self.assertIn("no channel 9", errors)
            code, errors = live(said, "--stage", "x")
            self.assertEqual(code, 2, errors)
            code, errors = live(said, "--report", "nowhere/report.json")
            self.assertEqual(code, 1, errors)
            code, errors = live({**said, "position": "X9"})
            self.assertEqual(code, 1)
            self.assertIn("has no position 'X9'", errors)
            code, errors = live(said, "--pore", "r9", "--pipeline", "map")
            self.assertEqual(code, 2, errors)
            self.assertIn("has no flow cell", errors)
        code, errors = live({"port": 1, "position": "X1", "certificate": os.devnull})
        self.assertEqual(code, 1, errors)


if __name__ == "__main__":
    unittest.main()
