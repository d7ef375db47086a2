# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Many runs at once, in threads and in processes; and objects that travel between these."""

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import unittest

import pyarrow
import sluice
from inputs import MAP, METHYLATION, lengths_pipeline


@sluice.stage(needs={"bases": "utf8"}, gives={"length": "i64"})
def length_of(batch):
    return [len(bases) for bases in batch["bases"].to_pylist()]


def mapped(number):
    return sluice.run("map", **MAP, output=f"process{number}.paf", threads=1)


def refused(number):
    return sluice.run("map", reference="nowhere.fa", reads="r.fastq.gz", output=f"process{number}.paf")


def rows_of(pipeline):
    """In another process: what a pipeline of the parent gives there."""
    return [batch for batch in pipeline.stream(stage="lengths", columns="length")]


def sum_of(batch):
    return int(batch.numpy("length").sum())


def length_pipeline():
    return sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("lengths", use=length_of)


def content(path):
    with open(path, "rb") as file:
        return file.read()


COPIES = {"pickle": lambda one: pickle.loads(pickle.dumps(one)), "copy": copy.copy, "deepcopy": copy.deepcopy}


class Objects(unittest.TestCase):
    def test_reports(self):
        report = mapped("alone")
        for name, copied in COPIES.items():
            with self.subTest(name):
                again = copied(report)
                self.assertEqual((again.data, again.state, again.outputs), (report.data, report.state, report.outputs))
                with self.assertRaises(AttributeError):
                    again.nothing_of_this_name

    def test_errors(self):
        failures = []
        for arguments in ({"refrence": "ref.fa"}, {"reference": "nowhere.fa", "reads": "r.fastq.gz"}, {**MAP, "output": "nowhere/x.paf"}):
            with self.assertRaises(sluice.Error) as caught:
                sluice.run("map", **arguments)
            failures.append(caught.exception)
        failures.append(sluice.BadReads(failures[0].problems, mapped("alone")))
        for failure in failures:
            for name, copied in COPIES.items():
                with self.subTest(name, failure=failure):
                    again = copied(failure)
                    self.assertIs(type(again), type(failure))
                    self.assertEqual((str(again), again.problems, again.remedy), (str(failure), failure.problems, failure.remedy))
                    self.assertEqual(again.report and again.report.data, failure.report and failure.report.data)
        again = pickle.loads(pickle.dumps(sluice.Interrupted(mapped("alone"))))
        self.assertEqual((str(again), again.report.state), ("interrupted", "finished"))

    def test_batches_outlive_the_stream_and_its_process(self):
        for name, copied in COPIES.items():
            with self.subTest(name):
                batches = list(length_pipeline().stream(stage="lengths", columns="length,bases"))
                again = [copied(batch) for batch in batches]
                wanted = [batch.to_pyarrow().to_pylist() for batch in batches]
                del batches
                self.assertEqual([batch.to_pyarrow().to_pylist() for batch in again], wanted)
                self.assertEqual([pyarrow.record_batch(batch).to_pylist() for batch in again], wanted)
                self.assertEqual(sum(sum_of(batch) for batch in again), sum(row["length"] for rows in wanted for row in rows))
                self.assertEqual(list(copied(again[0].schema)), list(again[0].schema))

    def test_pipelines_and_stages(self):
        for name, copied in COPIES.items():
            with self.subTest(name):
                self.assertIs(copied(length_of), length_of)
                self.assertEqual(copied(length_pipeline()).to_toml(), length_pipeline().to_toml())
        self.assertIs(pickle.loads(pickle.dumps(sluice.pipelines.map)), sluice.pipelines.map)

    def test_what_belongs_to_a_run_says_so(self):
        with lengths_pipeline().stream(reads="r.fastq.gz", stage="reads") as stream:
            for copied in COPIES.values():
                with self.assertRaisesRegex(TypeError, "belongs to a run of this process"):
                    copied(stream)
                with self.assertRaisesRegex(TypeError, "make it in the process that runs"):
                    copied(sluice.Source("rows", gives={"length": "i64"}))


class Threads(unittest.TestCase):
    def test_each_run_is_as_if_alone_and_files_of_the_program_stay_open(self):
        mapped("alone")
        wanted, is_over, lost = content("processalone.paf"), threading.Event(), []

        def host():
            while not is_over.is_set():
                try:
                    with open("host", "wb") as file:
                        for _ in range(20):
                            file.write(b"x" * 5000)
                    if os.path.getsize("host") != 100000:
                        lost.append("a short file")
                except OSError as error:
                    lost.append(str(error))

        beside = threading.Thread(target=host)
        beside.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(mapped, range(100)))
        finally:
            is_over.set()
            beside.join()
        self.assertEqual(lost, [])
        self.assertEqual([number for number in range(100) if content(f"process{number}.paf") != wanted], [])


class StandardStreams(unittest.TestCase):
    def test_they_are_the_programs_own(self):
        sluice.run("methylation", **METHYLATION, output="calls.tsv")
        sluice.run("map", **MAP, output="hits.sam")
        sluice.run("overlap", reads="r.fastq.gz", output="overlaps.paf", allow_empty=True)
        with open("windows.txt", "w") as file:
            file.write(">1 3\nACGTACGTTACCA\nACGTACGTACCA\nACGTACGTTACCA\n")
        inputs = [
            ("r.fastq.gz", "map", {"reference": "ref.fa", "reads": "-"}),
            ("ref.fa", "map", {"reference": "-", "reads": "r.fastq.gz"}),
            ("hits.sam", "map", {"reference": "ref.fa", "reads": "-"}),
            ("calls.tsv", "frequency", {"calls": "-"}),
            ("windows.txt", "consensus", {"windows": "-"}),
            ("overlaps.paf", "polish", {"targets": "r.fastq.gz", "reads": "r.fastq.gz", "overlaps": "-"}),
        ]
        for file, pipeline, arguments in inputs:
            for form in ("file", "pipe"):
                with self.subTest(file, pipeline=pipeline, form=form):
                    self.after_a_run(file, form, pipeline, {**arguments, "output": "standard.out", "allow_empty": True})
        for output in ({"output": "-"}, {"output": "-", "format": "bam"}, {"output": "-", "format": "cram", "sort": True}, {"output": "/dev/stdout"}):
            with self.subTest(output):
                self.after_a_run("r.fastq.gz", "file", "map", {**MAP, **output})

    def after_a_run(self, file, form, pipeline, arguments):
        """Streams of a program are open behind its run, whatever that said of its input, and are the same files."""
        code = textwrap.dedent("""
            import os, sys, sluice
            before = [os.fstat(number) for number in range(3)]
            try:
                sluice.run(sys.argv[1], **eval(sys.argv[2]))
            except sluice.Error as error:
                print(error, file=sys.stderr)
            sys.exit([os.fstat(number)[:3] for number in range(3)] != [one[:3] for one in before])
        """)
        command = [sys.executable, "-c", code, pipeline, repr(arguments)]
        with open(file, "rb") as given:
            data = given.read() if form == "pipe" else None
            given.seek(0)
            streams = {"input": data} if form == "pipe" else {"stdin": given}
            ended = subprocess.run(command, capture_output=True, timeout=120, **streams)
        self.assertEqual(ended.returncode, 0, ended.stderr.decode())


class Processes(unittest.TestCase):
    def test_runs_of_a_pool(self):
        mapped("alone")  # the library's threads have been there before the first fork
        wanted = content("processalone.paf")
        for start in ("fork", "spawn"):
            context = multiprocessing.get_context(start)
            with self.subTest(start), concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                self.assertEqual({report.state for report in pool.map(mapped, range(8))}, {"finished"})
                self.assertTrue(all(content(f"process{number}.paf") == wanted for number in range(8)))
                with self.assertRaisesRegex(sluice.UsageError, "nowhere.fa"):
                    list(pool.map(refused, range(2)))
                batches = list(length_pipeline().stream(stage="lengths", columns="length"))
                self.assertEqual(list(pool.map(sum_of, batches)), [sum_of(batch) for batch in batches])
                there = pool.submit(rows_of, length_pipeline()).result()
                self.assertEqual(sum(map(sum_of, there)), sum(map(sum_of, batches)))
            with self.subTest(start), context.Pool(2) as pool:
                self.assertEqual([report.exit_code for report in pool.map(mapped, range(2))], [0, 0])
                with self.assertRaisesRegex(sluice.UsageError, "nowhere.fa"):
                    pool.map(refused, range(2))

    def test_a_process_that_was_forked_amid_a_run_is_told(self):
        # A stream that waits for its reader is in flight.
        with length_pipeline().stream(stage="lengths", batch_work=1) as stream:
            next(stream)
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
                with self.assertRaisesRegex(sluice.UsageError, "forked while a run was in flight.*spawn"):
                    pool.submit(mapped, "never").result()
            self.assertEqual(len(list(stream)), 59)


if __name__ == "__main__":
    unittest.main()
