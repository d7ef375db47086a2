# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.Source: rows that a program gives to a run."""

import threading
import unittest

import sluice


def pipeline(source):
    return sluice.Pipeline("pushed").stage("rows", use=source).stage("table", use="table_writer", output="pushed.tsv", columns="read_id,bases")


def new_source(**more):
    return sluice.Source("pushed_rows", gives={"read_id": "utf8", "bases": "utf8"}, **more)


class Sources(unittest.TestCase):
    def test_what_is_pushed_comes_out_in_order(self):
        source = new_source()
        with pipeline(source).stream(stage="rows") as stream:
            for i in range(5):
                source.push({"read_id": [f"a{i}", f"b{i}"], "bases": ["ACGT", "A" * i]})
            source.end()
            names = [name for batch in stream for name in batch["read_id"].to_pylist()]
        self.assertEqual(names, [f"{letter}{i}" for i in range(5) for letter in "ab"])

    def test_a_run_writes_what_is_pushed(self):
        source = new_source()
        threading.Thread(target=lambda: (source.push({"read_id": ["x"], "bases": ["AC"]}), source.end())).start()
        report = pipeline(source).run()
        self.assertEqual(report.stage("table")["rows_in"], 1)
        with open("pushed.tsv") as file:
            self.assertEqual(file.read().splitlines()[1], "x\tAC")

    def test_who_stops_early_ends_the_source(self):
        source = new_source()
        stream = pipeline(source).stream(stage="rows")
        source.push({"read_id": ["x"], "bases": ["AC"]})
        self.assertEqual(len(next(stream)), 1)
        stream.close()
        with self.assertRaises(sluice.Closed):
            source.push({"read_id": ["y"], "bases": ["AC"]})

    def test_a_source_of_a_run_that_has_ended_is_refused(self):
        source = new_source()
        source.push({"read_id": ["x"], "bases": ["AC"]})
        source.end()
        self.assertEqual(pipeline(source).check(), [])
        self.assertEqual(pipeline(source).run().stage("table")["rows_in"], 1)
        with self.assertRaises(sluice.Error) as caught:
            pipeline(source).run()
        self.assertIn("make a new one", str(caught.exception))

    def test_a_full_source_says_so(self):
        source = new_source(depth=2)  # of a run that has not begun
        for _ in range(2):
            source.push({"read_id": ["x"], "bases": ["AC"]})
        with self.assertRaises(TimeoutError):
            source.push({"read_id": ["x"], "bases": ["AC"]}, timeout=0)
        self.assertEqual(source.waiting, 2)

    def test_columns_are_checked(self):
        source = new_source()
        for columns in ({"read_id": ["x"]}, {"read_id": ["x"], "bases": ["A", "C"]}, {"read_id": ["x"], "bases": ["A"], "more": [1]}):
            with self.assertRaises(ValueError):
                source.push(columns)

        with self.assertRaisesRegex(ValueError, "there are no columns"):
            source.push({})
        with self.assertRaisesRegex(ValueError, "'int' is no type of a column"):
            sluice.Source("rows", gives={"n": "int"})

    def test_a_table_is_rows_too(self):
        import pyarrow

        source = new_source()
        source.push(pyarrow.table({"read_id": ["x", "y"], "bases": ["A", "C"]}))
        self.assertEqual(source.waiting, 1)

    def test_a_source_in_the_middle_is_refused(self):
        with self.assertRaises(sluice.UsageError):
            sluice.Pipeline("wrong").parameter("reads", "path", required=True).stage("reads", use="read_reader", path="${reads}").stage("rows", use=new_source(), inputs=["reads"]).stage(
                "table", use="table_writer", output="wrong.tsv", columns="read_id").run(reads="genome.fa")


if __name__ == "__main__":
    unittest.main()
