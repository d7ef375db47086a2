# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Stages in Python within `sluice run`: functions in worker processes."""

import gc
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import sluice
from inputs import SLUICE

STAGES = pathlib.Path(__file__).with_name("worker_stages.py")
PLAIN = {}


def columns_of(file):
    with open(file) as lines:
        return [line.rstrip("\n").split("\t") for line in lines][1:]


def pipeline(function, columns, name="p", stage=None, **params):
    return (
        sluice.Pipeline(name)
        .stage("reads", use="read_reader", path="r.fastq.gz")
        .stage("own", use=stage or f"worker_stages.py:{function}", **params)
        .stage("table", use="table_writer", output="worked.tsv", columns=columns)
    )


def run(pipeline, *options, python=sys.executable, code=0):
    """Runs it by the program. Its report, and what it said."""
    pipeline.save("worked.toml")
    command = [SLUICE, "run", "worked.toml", "--report", "worked.json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | {"SLUICE_PYTHON": python})
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == "", done.stdout
    written = pathlib.Path("worked.json")
    return (json.loads(written.read_text()) if written.exists() else None), done.stderr


def started_hanging():
    """A run whose function does not return, and the process that runs it."""
    pipeline("hanging", "read_id,copy").save("hanging.toml")
    heeding = ["env", "--default-signal=INT"]
    process = subprocess.Popen([*heeding, SLUICE, "run", "hanging.toml"], stderr=subprocess.PIPE, text=True, env=os.environ | {"SLUICE_PYTHON": sys.executable})
    place = pathlib.Path("hanging")
    while not (place.exists() and place.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process, int(place.read_text())


class Workers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.copy(STAGES, "worker_stages.py")
        plain = sluice.Pipeline("plain").stage("reads", use="read_reader", path="r.fastq.gz")
        plain.stage("table", use="table_writer", output="plain.tsv", columns="read_id,bases").run()
        PLAIN.update(columns_of("plain.tsv"))

    def setUp(self):
        for name in ("raised", "exited", "killed", "hanging", "worked.tsv", "worked.json"):
            pathlib.Path(name).unlink(missing_ok=True)

    def failed(self, report, reason):
        """Rows that failed in the stage for this reason: the others are in the table, whole."""
        rows = columns_of("worked.tsv")
        failed = next(stage for stage in report["stages"] if stage["name"] == "own")["failed"]
        self.assertEqual(set(failed), {reason})
        self.assertEqual(len(rows) + failed[reason], len(PLAIN))
        self.assertTrue(all(PLAIN[name] == bases for name, bases in rows))
        self.assertTrue(all(account["adds_up"] for account in report["account"]))
        return failed[reason]

    def test_same_bytes_with_any_threads_and_batches(self):
        expected = [[name, bases] for name, bases in PLAIN.items()]
        for options in (["--threads", "1"], ["--threads", "4"], ["--threads", "4", "--batch-work", "1"], ["--batch-work", "7000", "--executor", "serial"]):
            run(pipeline("copying", "read_id,copy"), *options)
            self.assertEqual(columns_of("worked.tsv"), expected, options)
        run(pipeline("copying", "read_id,copy", workers=1), "--threads", "4", "--batch-work", "3000")
        self.assertEqual(columns_of("worked.tsv"), expected)

    def test_parameters_reasons_and_optional_columns(self):
        report, said = run(pipeline("measuring", "read_id,length", loud=True, table="some where"))
        odd = sum(len(bases) % 2 for bases in PLAIN.values())
        self.assertEqual(next(stage for stage in report["stages"] if stage["name"] == "own")["failed"], {"odd": odd})
        self.assertEqual({name: int(length) for name, length in columns_of("worked.tsv")},
                         {name: len(bases) for name, bases in PLAIN.items() if len(bases) % 2 == 0})
        self.assertIn("not in the run's output", said)
        _, said = run(pipeline("measuring", "read_id,length", least=0, way="c", lest=1), code=2)
        for words in ("0 is out of range", "'c' is not one of a, b", "did you mean 'least'?"):
            self.assertIn(words, said)

    def test_every_type_there_and_back(self):
        both = (sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("own", use="worker_stages.py:all_types")
                .stage("again", use="worker_stages.py:read_again").stage("table", use="table_writer", output="worked.tsv", columns="same"))
        run(both, "--batch-work", "9000")
        self.assertEqual(columns_of("worked.tsv"), [["1"]] * len(PLAIN))

    def test_rows_that_failed_before(self):
        both = (sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz")
                .stage("own", use="worker_stages.py:measuring", loud=True, table="some where").stage("second", use="worker_stages.py:sees_failures")
                .stage("table", use="table_writer", output="worked.tsv", columns="read_id,seen"))
        run(both, "--batch-work", "20000")
        self.assertEqual({name: seen for name, seen in columns_of("worked.tsv")}, {name: "1" for name, bases in PLAIN.items() if len(bases) % 2 == 0})

    def test_results_larger_than_expected(self):
        run(pipeline("growing", "large"), "--batch-work", "9000")
        self.assertTrue(all(len(row[0]) >= 200_000 for row in columns_of("worked.tsv")))

    def test_what_is_kept_stays(self):
        report, said = run(pipeline("keeping", "read_id,copy"), "--batch-work", "5000", "--threads", "2")
        self.assertEqual(len(columns_of("worked.tsv")), len(PLAIN), said)

    def test_workers_option(self):
        run(pipeline("processes", "process", workers=1), "--batch-work", "1", "--threads", "4")
        self.assertEqual(len({row[0] for row in columns_of("worked.tsv")}), 1)
        run(pipeline("processes", "process"), "--batch-work", "1", "--threads", "3")
        self.assertLessEqual(len({row[0] for row in columns_of("worked.tsv")}), 3)

    def test_an_exception_costs_its_batch(self):
        report, said = run(pipeline("raising_once", "read_id,copy"), "--batch-work", "20000")
        self.assertLess(self.failed(report, "exception"), len(PLAIN))
        self.assertIn("ValueError: only this once", said)
        self.assertRegex(said, r"worker_stages\.py\", line \d+, in raising_once")
        report, said = run(pipeline("wrong_answer", "read_id,copy"), "--allow-empty")
        self.assertIn("rows, the batch has", said)

    def test_an_exception_may_end_the_run(self):
        _, said = run(pipeline("raising", "read_id,copy"), code=4)
        self.assertRegex(said, r"stage 'own': .*worker_stages\.py:raising raised KeyError: 'no such thing'")
        self.assertFalse(os.path.exists("worked.tsv"))

    def test_a_crash_costs_its_batch(self):
        for stage, words in (("exiting_once", "it ended itself with status 3"), ("killed_once", "it was ended by signal 9")):
            report, said = run(pipeline(stage, "read_id,copy"), "--batch-work", "20000")
            self.assertLess(self.failed(report, "worker_died"), len(PLAIN))
            self.assertIn(words, said)

    def test_crashes_without_end_end_the_run(self):
        _, said = run(pipeline("dying", "read_id,copy"), "--batch-work", "1", "--threads", "2", code=4)
        self.assertIn("3 batches, one after the other, have ended the worker of", said)
        self.assertRegex(said, r"Fatal Python error: Aborted[\s\S]*in dying")
        self.assertFalse(os.path.exists("worked.tsv"))

    def test_a_function_that_hangs(self):
        process, worker = started_hanging()
        for _ in range(2):  # the first would wait for what is under way
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        with self.assertRaises(ProcessLookupError):
            os.kill(worker, 0)
        self.assertFalse(os.path.exists("worked.tsv"))

    def test_workers_end_with_a_killed_engine(self):
        process, worker = started_hanging()
        process.kill()
        process.communicate()
        for _ in range(600):
            if not os.path.exists(f"/proc/{worker}") or pathlib.Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
                return
            time.sleep(0.1)
        self.fail("the worker goes on without its engine")


class Parts(unittest.TestCase):
    """--resume and --shard of pipelines with stages in workers."""

    def sluice(self, *arguments, code=0):
        done = subprocess.run([SLUICE, *arguments, "--quiet"], capture_output=True, text=True, timeout=300, env=os.environ | {"SLUICE_PYTHON": sys.executable})
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_resume(self):
        shutil.copy(STAGES, "worker_stages.py")
        killing = (sluice.Pipeline("p").stage("reads", use="read_reader", path="many.fa").stage("own", use="worker_stages.py:killing_the_engine")
                   .stage("table", use="table_writer", output="resumed.tsv", columns="read_id,copy"))
        killing.save("resumed.toml")
        command = ["run", "resumed.toml", "--batch-work", "1", "--checkpoint", "0.001"]
        self.sluice(*command, code=-signal.SIGKILL)
        with open("worker_stages.py", "a") as file:
            file.write("\n# another text\n")
        self.assertIn("the plugin of stage 'own'", self.sluice(*command, "--resume", code=2))
        shutil.copy(STAGES, "worker_stages.py")
        self.sluice(*command, "--resume")
        self.assertEqual(len(columns_of("resumed.tsv")), 2000)
        resumed = pathlib.Path("resumed.tsv").read_text()
        self.sluice(*command)
        self.assertEqual(pathlib.Path("resumed.tsv").read_text(), resumed)

    def test_shards(self):
        shutil.copy(STAGES, "worker_stages.py")
        pipeline("copying", "read_id,copy").save("sharded.toml")
        self.sluice("run", "sharded.toml")
        os.rename("worked.tsv", "whole.tsv")
        for part in "12":
            self.sluice("run", "sharded.toml", "--shard", f"{part}/2", "--set", f"stages.table.params.output=shard.{part}.tsv")
        # No code is looked for when they are merged: neither that of the run nor what somebody has written into a manifest.
        pathlib.Path("worker_stages.py").write_text("open('ran', 'w')\n")
        self.sluice("merge", "--output", "merged.tsv", "shard.2.tsv", "shard.1.tsv")
        self.assertEqual(pathlib.Path("merged.tsv").read_text(), pathlib.Path("whole.tsv").read_text())
        pathlib.Path("evil.py").write_text("open('ran', 'w')\n")
        manifest = pathlib.Path("shard.1.tsv.shard.json")
        manifest.write_text(manifest.read_text().replace("worker_stages.py:copying", "evil.py:f"))
        self.sluice("merge", "--output", "merged.tsv", "shard.2.tsv", "shard.1.tsv", code=4)
        self.assertFalse(os.path.exists("ran"))
        shutil.copy(STAGES, "worker_stages.py")


class Saved(unittest.TestCase):
    def test_pipelines_are_saved_with_their_stages(self):
        import worker_stages

        os.makedirs("saved", exist_ok=True)
        pipeline(None, "read_id,copy", stage=worker_stages.copying).save("saved/p.toml")
        subprocess.run([SLUICE, "run", "saved/p.toml", "--quiet"], check=True, timeout=120, env=os.environ | {"SLUICE_PYTHON": sys.executable})
        self.assertEqual(len(columns_of("worked.tsv")), 60)
        inner = sluice.stage(lambda batch: None, id="inner", needs={}, gives={"n": "i32"})
        with self.assertRaisesRegex(ValueError, "is no function on the first level of a file"):
            pipeline(None, "n", stage=inner).save("saved/inner.toml")
        self.assertFalse(os.path.exists("saved/inner.toml"))


class Refusals(unittest.TestCase):
    """What is wrong is known before the run begins: place, thing, remedy."""

    def check(self, use, *words, python=sys.executable):
        with open("refused.toml", "w") as file:
            file.write(f'[pipeline]\nname = "p"\n[stages.reads]\nuse = "read_reader"\nparams.path = "r.fastq.gz"\n[stages.own]\nuse = "{use}"\n'
                       '[stages.table]\nuse = "table_writer"\nparams.output = "refused.tsv"\nparams.columns = "read_id"\n')
        done = subprocess.run([SLUICE, "check", "refused.toml"], capture_output=True, text=True, timeout=120, env=os.environ | {"SLUICE_PYTHON": python})
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in (*words, "refused.toml:7:7: stage 'own'"):
            self.assertIn(word, done.stderr + done.stdout)

    def test_files_and_functions(self):
        shutil.copy(STAGES, "worker_stages.py")
        self.check("nothing.py:f", "there is no file", "nothing.py")
        self.check("worker_stages.py:nothing", "'nothing' is not there", "the file has copying")
        self.check("worker_stages.py:not_a_stage", "is not decorated with @sluice.stage")
        self.check("worker_stages.py:", "names no function")
        pathlib.Path("broken.py").write_text("import sluice\nx = (\n")
        self.check("broken.py:f", "can't be imported", "SyntaxError", "broken.py")
        pathlib.Path("leaving.py").write_text("import os\nos._exit(5)\n")
        self.check("leaving.py:f", "could not start: it ended itself with status 5")
        pathlib.Path("odd.py").write_text("import sluice\n@sluice.stage(needs={}, gives={'n': 'int'})\ndef f(batch, workers: int = 1):\n    pass\n"
                                          "@sluice.stage(needs={}, gives={'n': 'int'})\ndef g(batch):\n    pass\n")
        self.check("odd.py:f", "the name of parameter 'workers' is taken")
        self.check("odd.py:g", "unknown type 'int'")

    def test_no_python(self):
        shutil.copy(STAGES, "worker_stages.py")
        self.check("worker_stages.py:copying", "Python can't be started as '/no/such/python'", "let SLUICE_PYTHON name its interpreter", python="/no/such/python")
        os.makedirs("bin", exist_ok=True)
        pathlib.Path("bin/python").write_text("#!/bin/sh\nexit 1\n")
        os.chmod("bin/python", 0o755)
        self.check("worker_stages.py:copying", "could not start", "Python 3.10 or later", python=os.path.abspath("bin/python"))

    def test_files_lie_beside_the_pipeline(self):
        os.makedirs("elsewhere", exist_ok=True)
        shutil.copy(STAGES, "elsewhere/its_own.py")
        with open("elsewhere/p.toml", "w") as file:
            file.write('[pipeline]\nname = "p"\n[stages.reads]\nuse = "read_reader"\nparams.path = "r.fastq.gz"\n[stages.own]\nuse = "its_own.py:copying"\n'
                       '[stages.table]\nuse = "table_writer"\nparams.output = "elsewhere.tsv"\nparams.columns = "copy"\n')
        subprocess.run([SLUICE, "run", "elsewhere/p.toml", "--quiet"], check=True, timeout=120, env=os.environ | {"SLUICE_PYTHON": sys.executable})
        with open("elsewhere.tsv") as lines:
            self.assertEqual(len(lines.readlines()), 61)


def children():
    """How many processes have been started by this one, and are there."""
    count = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            count += stat.read_text().rsplit(")", 1)[1].split()[1] == str(os.getpid())
        except OSError:  # it has just ended
            pass
    return count


class WithinPython(unittest.TestCase):
    def test_a_program_that_hosts_the_engine_has_workers_too(self):
        shutil.copy(STAGES, "worker_stages.py")
        report = pipeline("copying", "read_id,copy").run(threads=2, batch_work=5000)
        self.assertEqual(report.stage("table")["rows_out"], 60)
        rows = sum(len(batch) for batch in pipeline("copying", "read_id,copy").stream(stage="own", columns=["copy"]))
        self.assertEqual(rows, 60)

    def test_runs_leave_nothing_behind(self):
        shutil.copy(STAGES, "worker_stages.py")

        def left():
            gc.collect()
            return len(os.listdir("/proc/self/fd")), children()

        def once():
            pipeline("copying", "read_id,copy").run(threads=2, batch_work=3000)
            batches = list(pipeline("copying", "read_id,copy").stream(stage="own", columns=["copy"], threads=2, batch_work=3000))
            self.assertEqual(sum(len(batch) for batch in batches), 60)  # columns outlive their worker

        once()
        before = left()
        for _ in range(4):
            once()
        self.assertEqual(left(), before)


if __name__ == "__main__":
    unittest.main()
