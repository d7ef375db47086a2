# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""@sluice.stage: map stages in Python."""

import functools
import logging
import pathlib
import threading
import unittest
from typing import Literal, Optional

import sluice

import numpy
import pyarrow


def around(stage, columns, output="staged.tsv", **params):
    """Reads, the stage, a table."""
    return (
        sluice.Pipeline("p")
        .stage("reads", use="read_reader", path="r.fastq.gz")
        .stage("own", use=stage, **params)
        .stage("table", use="table_writer", output=output, columns=columns)
    )


class Stages(unittest.TestCase):
    def test_a_copy_is_the_column(self):
        @sluice.stage(needs={"bases": "utf8"}, gives={"copy": ("utf8", "the bases again")})
        def copy_bases(batch):
            """Copies the bases."""
            return batch["bases"]

        around(copy_bases, "read_id,copy").run(batch_work=5000)
        around(copy_bases, "read_id,bases", output="plain.tsv").run()
        with open("staged.tsv") as staged, open("plain.tsv") as plain:
            self.assertEqual(staged.read().replace("copy", "bases", 1), plain.read())
        said = sluice.stages()["copy_bases"]
        self.assertEqual((said["summary"], said["gives"]["columns"][0]["meaning"]), ("Copies the bases.", "the bases again"))

    def test_every_type(self):
        types = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"]
        gives = {f"c_{t}": t for t in types} | {f"l_{t}": f"list<{t}>" for t in types} | {"t": "utf8", "b": "binary"}

        @sluice.stage(needs={"bases": "utf8"}, gives=gives)
        def all_types(batch):
            rows = len(batch)
            made = {f"c_{t}": numpy.arange(rows) for t in types} | {f"l_{t}": [[1, 2]] * rows for t in types}
            return made | {"t": ["x"] * rows, "b": [b"\x00y"] * rows}

        @sluice.stage(needs=gives, gives={"same": "u8"})
        def read_again(batch):
            for t in types:
                assert (batch.numpy(f"c_{t}") == numpy.arange(len(batch))).all()
                offsets, values = batch.numpy(f"l_{t}")
                assert (numpy.diff(offsets) == 2).all() and values[1] == 2
            assert batch["t"][0].as_py() == "x" and batch["b"][0].as_py() == b"\x00y"
            return numpy.ones(len(batch), "u1")

        pipeline = around(all_types, "same").stage("again", use=read_again, inputs=["own"])
        table = pyarrow.table(pipeline.stream(stage="again", columns=["same", "l_i16", "b"]))
        self.assertEqual((len(table), table["l_i16"][59].as_py()), (60, [1, 2]))

    def test_parameters_come_from_the_signature(self):
        seen = {}

        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"}, options={"least": {"help": "at least", "minimum": 1, "unit": "bases"}})
        def with_parameters(batch, least: int, share: float = 0.5, name: str = "x", loud: bool = False, way: Literal["a", "b"] = "a",
                            table: Optional[pathlib.Path] = None):
            seen.update(least=least, share=share, name=name, loud=loud, way=way, table=table)
            return numpy.zeros(len(batch), "i4")

        around(with_parameters, "n", least=3, share=0.25, loud=True, way="b").run()
        self.assertEqual(seen, {"least": 3, "share": 0.25, "name": "x", "loud": True, "way": "b", "table": None})
        said = "\n".join(map(str, around(with_parameters, "n", least=0, way="c").check()))
        self.assertIn("0 is out of range", said)
        self.assertIn("'c' is not one of a, b", said)
        self.assertIn("least", "\n".join(map(str, around(with_parameters, "n").check())))

    def test_rows_that_fail(self):
        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"}, reasons={"odd": "an odd row"})
        def odd_rows(batch):
            numbers = numpy.arange(len(batch))
            if len(batch) > 1:
                batch.fail(numbers[1], "odd")
            for rows in (numbers % 2 == 1, list(numbers % 2 == 1), pyarrow.array(numbers % 2 == 1), range(1, len(batch), 2)):
                batch.fail(rows, "odd")
            for wrong, error in ((-1, IndexError), (len(batch), IndexError), ([True], IndexError if len(batch) == 1 else ValueError), (True, TypeError)):
                if len(batch) > 1:
                    with self.assertRaises(error):
                        batch.fail(wrong, "odd")
            return numpy.arange(len(batch), dtype="i4")

        @sluice.stage(needs={"n": "i32"}, gives={"m": "i32"})
        def sees_them(batch):
            assert list(batch.ok) == [row % 2 == 0 for row in range(len(batch))]
            return batch["n"]

        report = around(odd_rows, "n").stage("second", use=sees_them, inputs=["own"]).stage("end", use="table_writer", inputs=["second"], output="end.tsv", columns="m").run()
        failed = report.stage("own")["failed"]["odd"]
        self.assertEqual(failed + report.stage("end")["rows_out"], 60)
        self.assertTrue(all(account["adds_up"] for account in report.account))

    def test_an_exception_ends_the_run_and_is_its_cause(self):
        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"})
        def raising(batch):
            raise KeyError("no such thing" * 1000)

        with self.assertRaises(sluice.StageError) as caught:
            around(raising, "n").run()
        self.assertEqual(caught.exception.stage, "own")
        self.assertIn("stages_test.py", caught.exception.message)
        self.assertIsInstance(caught.exception.__cause__, KeyError)
        with self.assertRaises(sluice.StageError):
            for _ in around(raising, "n").stream(stage="own"):
                pass

    def test_an_exception_may_cost_one_batch(self):
        calls = []

        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32", "t": "utf8", "l": "list<u8>"}, on_error="fail_batch")
        def raising_once(batch):
            calls.append(len(batch))
            if len(calls) == 2:
                raise ValueError("only this once")
            return {"n": [1] * len(batch), "t": ["x"] * len(batch), "l": [[1]] * len(batch)}

        with self.assertLogs("sluice", logging.WARNING) as logs:
            report = around(raising_once, "n").run(batch_work=20000)
        self.assertIn("ValueError: only this once", "".join(logs.output))
        self.assertEqual(report.stage("own")["failed"], {"exception": calls[1]})
        self.assertEqual(report.stage("table")["rows_out"], 60 - calls[1])

    def test_wrong_answers_are_named(self):
        for answer, words in (
            (lambda n: {"m": [1] * n}, "'m' is not declared"),
            (lambda n: {}, "'n' was not returned"),
            (lambda n: [1] * (n - 1), "rows, the batch has"),
            (lambda n: ["x"] * n, "ArrowInvalid|Could not convert|ArrowTypeError"),
            (lambda n: [None] * n, "has nulls"),
        ):
            stage = sluice.stage(lambda batch: answer(len(batch)), id="wrong", needs={"bases": "utf8"}, gives={"n": "i32"})
            with self.assertRaisesRegex(sluice.StageError, words):
                around(stage, "n").run()

    def test_descriptors_are_checked(self):
        with self.assertRaisesRegex(TypeError, "none of bool, int"):
            sluice.stage(lambda batch, x=(): None, id="odd", needs={}, gives={"n": "i32"})
        stage = sluice.stage(lambda batch: None, id="odd", needs={}, gives={"n": "int"})
        with self.assertRaisesRegex(sluice.UsageError, "unknown type 'int'"):
            stage.register()
        def choosing(batch, k: Literal[1, 2] = 1):
            return [k] * len(batch)

        with self.assertRaisesRegex(TypeError, "must be str"):
            sluice.stage(choosing, id="odd", needs={}, gives={"n": "i32"})
        needing = sluice.stage(lambda batch: None, id="needing", needs={"nothing": "utf8"}, gives={"n": "i32"})
        self.assertIn("needs column 'nothing'", str(around(needing, "n").check()[0]))

    def test_functions_that_can_not_be_stages_are_refused_with_a_reason(self):
        needs, gives = {"bases": "utf8"}, {"n": "i32"}

        class Callable:
            def __call__(self, batch):
                return [1] * len(batch)

        for function, words in (
            (lambda batch, **named: None, "by their names"),
            (lambda batch, *more: None, "by their names"),
            (lambda: None, "takes the rows of a batch first"),
            (Callable(), "Callable is no function"),
            (functools.partial(lambda batch, k: None, k=1), "partial is no function"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                sluice.stage(function, id="odd", needs=needs, gives=gives)

    def test_the_name_of_a_shipped_stage_is_taken_and_later_runs_go_on(self):
        for name in ("sample", "read_reader"):
            stage = sluice.stage(lambda batch: [1] * len(batch), id=name, needs={"bases": "utf8"}, gives={"n": "i32"})
            with self.assertRaisesRegex(sluice.UsageError, f"has a stage '{name}' already"):
                around(stage, "n").run()
        sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("some", use="sample", fraction=1).stage(
            "table", use="table_writer", output="later.tsv", columns="read_id"
        ).run()

    def test_numbers_that_f32_lacks_and_texts_for_all_rows_are_refused(self):
        for gives, made, words in (
            ("f32", lambda n: numpy.full(n, 1e300), "beyond f32"),
            ("f32", lambda n: [1e39] * n, "beyond f32"),
            ("f32", lambda n: pyarrow.array([-1e39] * n), "beyond f32"),
            ("list<f32>", lambda n: [[0.0, 1e300]] * n, "beyond f32"),
            ("utf8", lambda n: "x" * n, "one str: give one for each row"),
            ("f32", lambda n: None, "was not returned"),
        ):
            stage = sluice.stage(lambda batch: {"n": made(len(batch))}, id="too_large", needs={"bases": "utf8"}, gives={"n": gives})
            with self.assertRaisesRegex(sluice.StageError, words):
                around(stage, "n").run()
        fine = sluice.stage(lambda batch: [numpy.inf] * len(batch), id="too_large", needs={"bases": "utf8"}, gives={"n": "f32"})
        self.assertEqual(around(fine, "n").run().state, "finished")

    def test_a_zero_byte_in_an_exception_hides_nothing(self):
        def raising(batch):
            raise ValueError("before\0behind")

        stage = sluice.stage(raising, needs={"bases": "utf8"}, gives={"n": "i32"})
        with self.assertRaisesRegex(sluice.StageError, "before behind") as caught:
            around(stage, "n").run()
        self.assertIsInstance(caught.exception.__cause__, ValueError)

    def test_the_later_of_one_name_counts(self):
        for value in (1, 2):
            stage = sluice.stage(lambda batch, v=value: [v] * len(batch), id="again", needs={"bases": "utf8"}, gives={"n": "i32"})
            self.assertEqual(set(pyarrow.table(around(stage, "n").stream(stage="own", columns=["n"]))["n"].to_pylist()), {value})

    def test_columns_outlive_the_call_and_the_run(self):
        kept = []

        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"})
        def keeping(batch):
            kept.append(batch["bases"])
            with_view.append(batch)
            return [1] * len(batch)

        with_view = []
        around(keeping, "read_id,bases", output="kept.tsv").stage("end", use="table_writer", inputs=["own"], output="n.tsv", columns="n").run(batch_work=20000)
        with open("kept.tsv") as file:
            bases = [line.rstrip("\n").split("\t")[1] for line in file][1:]
        self.assertEqual(sorted(text for array in kept for text in array.to_pylist()), sorted(bases))
        with self.assertRaisesRegex(ValueError, "the call has ended"):
            with_view[0].fail(0, "x")
        with self.assertRaisesRegex(ValueError, "the call of these rows has ended"):
            with_view[0].log("late")

    def test_numbers_of_numpy_are_parameters(self):
        seen = set()

        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "f64"})
        def scaled(batch, factor: float, shift: int, doubled: bool):
            seen.add((factor, shift, doubled))
            return [factor] * len(batch)

        around(scaled, "n", factor=numpy.float64(0.5), shift=numpy.int32(-3), doubled=numpy.bool_(True)).run()
        self.assertEqual(seen, {(0.5, -3, True)})

    def test_text_that_is_not_utf8_is_told_all_the_same(self):
        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"})
        def unsayable(batch):
            batch.log("from \udcff")
            raise ValueError("bad name \udcff")

        with self.assertRaisesRegex(sluice.StageError, "bad name"):
            around(unsayable, "n").run()
        with self.assertRaisesRegex(ValueError, "no text of UTF-8"):
            around(unsayable, "n", output="\udcff.tsv").to_toml()

    def test_a_reader_that_holds_the_interpreter_waits_without_it(self):
        """duckdb and polars take batches with the interpreter's lock held, which the stage needs."""
        threads = set()

        @sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"})
        def slow(batch):
            threads.add(threading.get_ident())
            return [1] * len(batch)

        table = pyarrow.table(around(slow, "n").stream(stage="own", columns=["n"], batch_work=1, depth=1))
        self.assertEqual(len(table), 60)
        self.assertNotIn(threading.get_ident(), threads)
        try:
            import polars
        except ImportError as missing:
            self.skipTest(str(missing))
        self.assertEqual(polars.DataFrame(around(slow, "n").stream(stage="own", columns=["n"], batch_work=1, depth=1)).height, 60)


if __name__ == "__main__":
    unittest.main()
