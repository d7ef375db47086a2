# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.run, sluice.check, sluice.pipelines, Pipeline: the bytes, checks and words of the program."""

import filecmp
import inspect
import json
import logging
import os
import shutil
import subprocess
import sys
import textwrap
import unittest

import sluice
from inputs import MAP, METHYLATION, SLUICE, lengths_pipeline


class Runs(unittest.TestCase):
    def test_same_bytes_as_the_program(self):
        report = sluice.run("map", **MAP, output="python.paf")
        subprocess.run([SLUICE, "run", "map", "--reference", "ref.fa", "--reads", "r.fastq.gz", "--output", "program.paf", "--quiet"], check=True)
        self.assertTrue(filecmp.cmp("python.paf", "program.paf", shallow=False))
        self.assertEqual((report.state, report.exit_code, report.outputs), ("finished", 0, ["python.paf"]))
        self.assertEqual(report.stage("reads")["rows_out"], 60)
        self.assertTrue(all(account["adds_up"] for account in report.account))

    def test_a_report_shows_itself_in_a_notebook(self):
        report = sluice.run("map", **MAP, output="shown.paf")
        results = {figure["title"]: figure for figure in report.stage("paf")["results"]}
        shown = report._repr_html_()
        self.assertIn(f"{100 * results['mapped bases']['value']:.2f} %", shown)
        self.assertIn(f", {results['coverage']['value']:,.4g}x</td>", shown)
        self.assertIn("shown.paf", shown)
        self.assertIn("<svg", shown)
        self.assertEqual(shown.count("<table>"), shown.count("</table>"))
        report.data["outputs"].append("<script>alert(1)</script>")
        results["coverage"]["rows"][0]["name"] = "<img src=x>"
        self.assertNotIn("<script>", report._repr_html_())
        self.assertNotIn("<img", report._repr_html_())
        report.data["error"] = {"stage": "paf", "message": "no room", "remedy": "make some", "status": 1}
        report.data["stages"] = report.data["account"] = report.data["outputs"] = []
        self.assertIn("no room (make some)", report._repr_html_())

    def test_methylation_by_its_function(self):
        sluice.pipelines.methylation(**METHYLATION, output="calls.tsv", threads=2, device="cpu")
        with open("calls.tsv") as file:
            self.assertTrue(file.readline().startswith("chromosome\tstrand\tstart"))

    def test_lists_are_repeated_options(self):
        shutil.copy("r.fastq.gz", "more.fastq.gz")
        both = sluice.run("map", reference="ref.fa", reads=["r.fastq.gz", "more.fastq.gz"], output="twice.paf")
        self.assertEqual(both.stage("reads")["rows_out"], 120)
        with self.assertRaisesRegex(sluice.UsageError, "--reference is given more than once"):
            sluice.run("map", reference=["ref.fa", "ref.fa"], reads="r.fastq.gz", output="x.paf")

    def test_a_text_ends_where_it_ends(self):
        for values in ({"reads": "r.fastq.gz\0x"}, {"reads": "r.fastq.gz", "read_group": "a\0b"}):
            with self.assertRaisesRegex(ValueError, "cannot have a NUL"):
                sluice.run("map", reference="ref.fa", output="x.sam", **values)

    def test_progress_and_log(self):
        seen, lines = [], []
        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())
        logger = logging.getLogger("sluice")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            sluice.run("map", **MAP, output="x.paf", progress=seen.append, progress_interval=0)
        finally:
            logger.removeHandler(handler)
        self.assertEqual(seen[-1].progress, 1.0)
        self.assertEqual({stage["name"] for stage in seen[-1].stages}, {"index", "reads", "seeds", "chains", "hits", "paf"})
        self.assertTrue(any("60 mapped" in line for line in lines), lines)

    def test_an_exception_of_the_callback_ends_the_run(self):
        def give_up(progress):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            sluice.run("map", **MAP, output="given_up.paf", progress=give_up, progress_interval=0)

    def test_files_about_the_run(self):
        sluice.run("map", **MAP, output="x.paf", report=["x.json", "x.html"], account="x.tsv", trace="x.trace")
        for name in ("x.json", "x.html", "x.tsv", "x.trace"):
            self.assertGreater(os.path.getsize(name), 0, name)


class Errors(unittest.TestCase):
    def test_all_at_once_with_place_thing_and_remedy(self):
        with self.assertRaises(sluice.UsageError) as caught:
            sluice.run("map", refrence="ref.fa", k="abc", reads="r.fastq.gz", threads=0)
        error = caught.exception
        self.assertEqual(len(error.problems), 4)
        self.assertIn("--reference is required", str(error))
        self.assertIn("did you mean --reference?", str(error))
        self.assertIn("options of the run: threads: 0 is out of range", str(error))
        named = next(problem for problem in error.problems if "'abc'" in problem.message)
        self.assertEqual((named.place, named.remedy), ("command line", "write a whole number from 1 to 28 bases"))
        self.assertIsNone(error.report)

    def test_lists_without_items_and_empty_names_are_no_parameters_that_were_left_out(self):
        for reads in ([], (), iter(()), "", ["r.fastq.gz", ""]):
            with self.assertRaises(sluice.UsageError) as caught:
                sluice.run("map", reference="ref.fa", reads=reads, output="hits.paf")
            self.assertIn("--reads is empty", str(caught.exception))

    def test_one_change_is_no_list_of_letters(self):
        with self.assertRaises(sluice.UsageError) as caught:
            sluice.run("map", reference="ref.fa", reads="r.fastq.gz", output="hits.paf", set="stages.none.params.k=1")
        self.assertEqual(len(caught.exception.problems), 1)
        self.assertIn("stages.none.params.k", str(caught.exception))

    def test_places_in_files(self):
        with open("wrong.toml", "w") as file:
            file.write('[pipeline]\nname = "wrong"\n[stages.reads]\nuse = "read_redaer"\n')
        with self.assertRaises(sluice.UsageError) as caught:
            sluice.run("wrong.toml")
        self.assertEqual(caught.exception.place, "wrong.toml:4:7")
        self.assertIn("did you mean 'read_reader'?", caught.exception.remedy)

    def test_unknown_pipeline(self):
        with self.assertRaisesRegex(sluice.UsageError, "did you mean 'map'"):
            sluice.run("mapp")
        with self.assertRaisesRegex(AttributeError, "sluice.pipelines has"):
            sluice.pipelines.mapp

    def test_an_input_is_not_overwritten(self):
        with self.assertRaisesRegex(sluice.UsageError, "also an input"):
            sluice.run("map", **MAP, output="r.fastq.gz")

    def test_corrupt_input(self):
        with open("corrupt.fq", "w") as file:
            file.write("@a\nACGT\n+\nII\n")
        with self.assertRaises(sluice.InputError) as caught:
            sluice.run("map", reference="ref.fa", reads="corrupt.fq", output="x.paf")
        self.assertEqual(caught.exception.stage, "reads")
        self.assertIn("corrupt.fq", caught.exception.message)
        self.assertEqual(caught.exception.report.state, "failed")

    def test_nothing_produced_and_bad_reads(self):
        with open("alien.fa", "w") as file:
            file.write(">a\n" + "A" * 300 + "\n")
        with self.assertRaisesRegex(sluice.BadReads, "nothing was produced") as caught:
            sluice.run("map", reference="ref.fa", reads="alien.fa", output="alien.paf")
        self.assertEqual((caught.exception.report.exit_code, caught.exception.report.outputs), (3, ["alien.paf"]))
        self.assertEqual(sluice.run("map", reference="ref.fa", reads="alien.fa", output="alien.paf", allow_empty=True).exit_code, 0)

    def test_unwritable_output(self):
        with self.assertRaises(sluice.Error) as caught:
            sluice.run("map", **MAP, output="no_such_folder/x.paf")
        self.assertIn("no_such_folder", str(caught.exception))


class Parts(unittest.TestCase):
    def test_shards_are_merged_to_the_bytes_of_one_run(self):
        sluice.run("map", **MAP, output="whole.paf")
        for part in (1, 2, 3):
            report = sluice.run("map", **MAP, output=f"part.{part}.paf", shard=f"{part}/3", account=f"part.{part}.account.tsv")
        report = sluice.merge(["part.3.paf", "part.1.paf", "part.2.paf"], "merged.paf", report="merged.json", account="merged.account.tsv", threads=1)
        self.assertTrue(filecmp.cmp("merged.paf", "whole.paf", shallow=False))
        self.assertEqual(report.stage("reads")["rows_out"], 60)
        with open("merged.json") as file:
            self.assertEqual(json.load(file), report.data)
        sluice.run("map", **MAP, output="whole.paf", account="whole.account.tsv")
        self.assertTrue(filecmp.cmp("merged.account.tsv", "whole.account.tsv", shallow=False))

    def test_what_can_not_be_merged(self):
        sluice.run("map", **MAP, output="half.1.paf", shard="1/2")
        with self.assertRaisesRegex(sluice.InputError, "1 of 2 shards is missing: 2"):
            sluice.merge("half.1.paf", "merged.paf")
        with self.assertRaisesRegex(sluice.UsageError, "give it another name"):
            sluice.run("map", **MAP, output="half.2.paf", shard="2/2")
            sluice.merge(["half.1.paf", "half.2.paf"], "half.1.paf")
        with self.assertRaisesRegex(sluice.UsageError, "threads: 0 is out of range"):
            sluice.merge(["half.1.paf", "half.2.paf"], "merged.paf", threads=0)

    def test_what_can_not_be_a_shard(self):
        for wish, words in (({"shard": "3/2"}, "is no part of a whole"), ({"shard": "0/2", "resume": True}, "is no part of a whole")):
            with self.assertRaisesRegex(sluice.UsageError, words):
                sluice.run("map", **MAP, output="x.paf", **wish)
        for wish in ({"shard": "1/2"}, {"resume": True}):
            with self.assertRaisesRegex(sluice.UsageError, "a stream"):
                sluice.stream("map", **MAP, stage="hits", **wish)

    def test_a_killed_run_is_gone_on_with(self):
        """Killed behind some checkpoints that were made after its stage had been called often, for which it takes its time."""
        program = textwrap.dedent("""
            import os, signal, sys, time, sluice
            calls, points = 0, set()
            @sluice.stage(needs={"bases": "utf8"}, gives={"copy": "utf8"})
            def counting(batch):
                global calls
                calls += len(batch)
                if "resume" not in sys.argv and calls > 200:
                    time.sleep(0.002)
                    try:
                        points.add(os.stat(".killed.tsv.resume").st_mtime_ns)
                    except FileNotFoundError:
                        pass
                    if len(points) > 2:
                        os.kill(os.getpid(), signal.SIGKILL)
                return batch["bases"]
            pipeline = (sluice.Pipeline("p").stage("reads", use="read_reader", path="many.fa").stage("copy", use=counting)
                        .stage("table", use="table_writer", output="killed.tsv", columns="read_id,copy"))
            pipeline.run(batch_work=1, threads=1, checkpoint=0.001, resume="resume" in sys.argv)
            print(calls)
        """)
        killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual(killed.returncode, -9, killed.stderr)
        resumed = subprocess.run([sys.executable, "-c", program, "resume"], capture_output=True, text=True, timeout=120)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertLess(int(resumed.stdout), 2000)
        whole = sluice.Pipeline("p").stage("reads", use="read_reader", path="many.fa")
        whole.stage("table", use="table_writer", output="unkilled.tsv", columns="read_id,bases").run()
        with open("killed.tsv") as file, open("unkilled.tsv") as other:
            self.assertEqual(file.read().replace("copy", "bases", 1), other.read())

    def test_nothing_to_go_on_with(self):
        with self.assertLogs("sluice", logging.INFO) as logs:
            sluice.run("map", **MAP, output="fresh.paf", resume=True)
        self.assertIn("nothing to resume", "".join(logs.output))


class Interrupts(unittest.TestCase):
    def test_ctrl_c_when_the_outputs_are_there(self):
        """It ends the program as at any other time, and the outputs are whole."""

        raised_once = []

        def progress(now):
            if os.path.exists("late.paf") and not raised_once:
                raised_once.append(now)
                raise KeyboardInterrupt

        with self.assertRaises(sluice.Interrupted) as raised:
            sluice.run("map", **MAP, output="late.paf", progress=progress, progress_interval=0.001)
        self.assertEqual(raised.exception.report.state, "finished")

    def test_ctrl_c(self):
        """The stage sends the signal, and goes on once the main thread has told the run."""
        program = textwrap.dedent("""
            import os, signal, threading, sluice
            from sluice import _engine
            told = threading.Event()
            interrupt = _engine.RunHandle.interrupt
            _engine.RunHandle.interrupt = lambda self: (interrupt(self), told.set())
            @sluice.stage(needs={"bases": "utf8"}, gives={"copy": "utf8"})
            def interrupting(batch):
                if not told.is_set():
                    os.kill(os.getpid(), signal.SIGINT)
                    told.wait()
                return batch["bases"]
            pipeline = (sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("copy", use=interrupting)
                        .stage("table", use="table_writer", output="interrupted.tsv", columns="read_id,copy"))
            try:
                pipeline.run(batch_work=1, threads=1)
            except KeyboardInterrupt as exception:
                print(type(exception).__name__, exception.report.state)
        """)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.returncode), ("Interrupted interrupted\n", 0), done.stderr)
        self.assertFalse(os.path.exists("interrupted.tsv"))
        self.assertTrue(os.path.exists("interrupted.tsv.partial"))

    def test_ctrl_c_at_many_moments(self):
        """Before the first batch, in any, and behind the last one: the run is interrupted, and its output is whole, absent, or a beginning."""
        program = textwrap.dedent("""
            import os, signal, sys, threading, time, sluice
            at, batch_now, sent = 0, 0, 0.0
            def send():
                global sent
                sent = time.monotonic()
                os.kill(os.getpid(), signal.SIGINT)
            @sluice.stage(needs={"bases": "utf8"}, gives={"copy": "utf8"})
            def interrupting(batch):
                global batch_now
                if batch_now == at:
                    send()
                batch_now += 1
                return batch["bases"]
            pipeline = (sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("copy", use=interrupting)
                        .stage("table", use="table_writer", output="moments.tsv", columns="read_id,copy"))
            at = -1
            pipeline.run(batch_work=1, threads=1)
            whole, batches, slowest = open("moments.tsv").read(), batch_now, 0.0
            for number in range(int(sys.argv[1])):
                at, batch_now = number * 7919 % batches, 0
                for name in ("moments.tsv", "moments.tsv.partial"):
                    if os.path.exists(name):
                        os.remove(name)
                try:
                    pipeline.run(batch_work=1, threads=1 + number % 2)
                    print("not interrupted in batch", at)
                except sluice.Interrupted:
                    slowest = max(slowest, time.monotonic() - sent)
                if os.path.exists("moments.tsv") and open("moments.tsv").read() != whole:
                    print("not whole behind batch", at)
                if os.path.exists("moments.tsv.partial") and not whole.startswith(open("moments.tsv.partial").read()):
                    print("no beginning behind batch", at)
            print(f"the slowest after {slowest:.2f} s", file=sys.stderr)
        """)
        done = subprocess.run([sys.executable, "-c", program, os.environ.get("SLUICE_TEST_SIGNALS", "20")], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)


class Pipelines(unittest.TestCase):
    def test_signature_and_documentation(self):
        signature = inspect.signature(sluice.pipelines.methylation)
        self.assertIs(signature.parameters["signal"].default, inspect.Parameter.empty)
        self.assertEqual(signature.parameters["min_mapq"].default, 20)
        self.assertIs(signature.return_annotation, sluice.Report)
        self.assertIn("raw signal: BLOW5", inspect.getdoc(sluice.pipelines.methylation))
        self.assertIn("map", dir(sluice.pipelines))

    def test_no_parameter_has_the_name_of_an_argument(self):
        own = set(inspect.signature(sluice.run).parameters) | set(inspect.signature(sluice.stream).parameters)
        for name in dir(sluice.pipelines):
            signature = inspect.signature(getattr(sluice.pipelines, name))
            self.assertFalse(own & (set(signature.parameters) - {"options"}), name)

    def test_objects_are_the_toml(self):
        pipeline = lengths_pipeline()
        pipeline.save("lengths.toml")
        subprocess.run([SLUICE, "check", "lengths.toml", "--reads", "r.fastq.gz"], check=True, capture_output=True)
        self.assertEqual(pipeline.check(reads="r.fastq.gz"), [])
        pipeline.run(reads="r.fastq.gz")
        os.rename("lengths.tsv", "by_object.tsv")
        subprocess.run([SLUICE, "run", "lengths.toml", "--reads", "r.fastq.gz", "--quiet"], check=True)
        self.assertTrue(filecmp.cmp("by_object.tsv", "lengths.tsv", shallow=False))

    def test_objects_are_checked_alike(self):
        pipeline = sluice.Pipeline("p").stage("reads", use="read_reader", pahth="x").stage("table", use="table_writer", output="t.tsv", columns="lenght")
        texts = [str(problem) for problem in pipeline.check()]
        self.assertTrue(any("pipeline 'p':" in text and "did you mean 'path'?" in text for text in texts), texts)
        with self.assertRaises(sluice.UsageError):
            pipeline.run()

    def test_texts_of_any_kind_come_through(self):
        odd = 'a "quoted" \\ back\tslash\nand \x7f é'
        text = sluice.Pipeline("p", summary=odd).stage("s", use="read_reader", path=odd, inputs=[]).to_toml()
        self.assertEqual(sluice.Pipeline("p", summary="x").stage("s", use="y").to_toml(), '[pipeline]\nname = "p"\nsummary = "x"\n\n[stages.s]\nuse = "y"\n')
        with open("odd.toml", "w", encoding="utf-8") as file:
            file.write(text)
        said = "\n".join(str(problem) for problem in sluice.check("odd.toml"))
        self.assertNotIn("odd.toml:3", said)  # the summary was read
        self.assertIn("no such file", said.lower())

    def test_stages(self):
        described = sluice.stages()["abea"]
        self.assertEqual(described["kind"], "map")
        self.assertTrue(described["parameters"])


if __name__ == "__main__":
    unittest.main()
