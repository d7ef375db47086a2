# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.stream: the rows of any stage as Arrow, without a copy."""

import filecmp
import gc
import os
import threading
import unittest

import sluice
from inputs import MAP, METHYLATION, lengths_pipeline

import pyarrow

WANTED = ["read_id", "hit_score"]


def hits(**more):
    return sluice.stream("map", **MAP, stage="hits", columns=WANTED, **more)


class Copied:
    """Asks for a copy."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **wishes):
        return self.tensor.__dlpack__(**wishes | {"copy": True})


class Streams(unittest.TestCase):
    def test_another_thread_may_close_a_stream_that_waits(self):
        for _ in range(20):
            source = sluice.Source("never", gives={"read_id": "utf8"})
            stream = sluice.Pipeline("waits").stage("never", use=source).stage("table", use="table_writer", output="never.tsv", columns="read_id").stream(stage="never")
            taken = []
            reader = threading.Thread(target=lambda: taken.extend(stream))
            reader.start()
            stream.close()
            reader.join(timeout=30)
            self.assertFalse(reader.is_alive())
            self.assertEqual(taken, [])

    def test_rows_are_those_of_the_table(self):
        sluice.run(lengths_pipeline(), reads="r.fastq.gz")
        with open("lengths.tsv") as file:
            rows = [tuple(line.rstrip("\n").split("\t")) for line in file][1:]
        streamed = []
        stream = lengths_pipeline().stream(reads="r.fastq.gz", stage="reads", columns=["read_id", "bases"], batch_work=5000)
        for batch in stream:
            table = pyarrow.record_batch(batch)
            table.validate(full=True)
            streamed += zip(table["read_id"].to_pylist(), table["bases"].to_pylist())
        self.assertEqual(streamed, rows)
        self.assertEqual(stream.report.state, "finished")

    def test_parameters_of_sinks_are_not_needed(self):
        rows = sum(len(batch) for batch in sluice.stream("methylation", **METHYLATION, stage="hmm"))
        self.assertEqual(rows, 60)
        with self.assertRaisesRegex(sluice.UsageError, "--signal is required"):
            sluice.stream("methylation", stage="hmm")

    def test_every_column_is_whole(self):
        for stage in ("reads", "seeds", "chains", "hits"):
            for batch in sluice.stream("map", **MAP, stage=stage):
                pyarrow.record_batch(batch).validate(full=True)

    def test_optional_columns_come_when_asked_for(self):
        self.assertNotIn("qualities", sluice.stream("map", **MAP, stage="hits").column_names)
        table = pyarrow.table(sluice.stream("map", **MAP, stage="hits", columns=["qualities"]))
        self.assertEqual(table.column_names, ["qualities"])

    def test_sinks_may_write_too(self):
        rows = sum(len(batch) for batch in sluice.stream("map", **MAP, stage="hits", output="streamed.paf", write=True))
        sluice.run("map", **MAP, output="alone.paf")
        self.assertEqual(rows, 60)
        self.assertTrue(filecmp.cmp("streamed.paf", "alone.paf", shallow=False))

    def test_no_copy(self):
        batch = next(iter(hits()))
        first, second = pyarrow.record_batch(batch), pyarrow.record_batch(batch)
        addresses = [b.column("hit_score").values.buffers()[1].address for b in (first, second)]
        self.assertEqual(addresses[0], addresses[1])
        self.assertEqual(batch.numpy("hit_score")[1].ctypes.data, addresses[0])

    def test_dlpack(self):
        """Without a copy, and read-only where the form can say so."""
        import numpy

        batch = next(iter(hits()))
        offsets, values = batch.numpy("hit_score")
        column = batch.column("hit_score")
        self.assertEqual((len(column), column.values.__dlpack_device__()), (len(batch), (1, 0)))
        for part, expected in ((column.values, values), (column.offsets, offsets)):
            tensor = numpy.from_dlpack(part)
            self.assertEqual((tensor.ctypes.data, tensor.dtype), (expected.ctypes.data, expected.dtype))
            self.assertTrue((tensor == expected).all())
            self.assertFalse(tensor.flags.writeable)
            self.assertIn('"dltensor"', repr(part.__dlpack__()))
            self.assertNotEqual(numpy.from_dlpack(Copied(part)).ctypes.data, expected.ctypes.data)
        kept = numpy.from_dlpack(column.values)
        expected = values.tolist()
        del batch, column, values, offsets, part, tensor
        gc.collect()
        self.assertEqual(kept.tolist(), expected)
        batch = next(iter(hits()))
        with self.assertRaisesRegex(TypeError, "its `values` and `offsets` are tensors"):
            batch.column("hit_score").__dlpack__()
        with self.assertRaisesRegex(TypeError, "utf8"):
            batch.column("read_id")
        with self.assertRaises(BufferError):
            batch.column("hit_score").values.__dlpack__(dl_device=(2, 0))

    def test_device_arrays(self):
        """pyarrow prefers this form where there is one."""
        batch = next(iter(hits()))
        schema, array = batch.__arrow_c_device_array__()
        self.assertIn('"arrow_device_array"', repr(array))
        table = pyarrow.RecordBatch._import_from_c_device_capsule(schema, array)
        self.assertEqual((table.to_pylist(), table.column("hit_score").device_type), (pyarrow.record_batch(batch).to_pylist(), pyarrow.DeviceAllocationType.CPU))
        self.assertEqual(table.column("hit_score").values.buffers()[1].address, batch.numpy("hit_score")[1].ctypes.data)
        before = batch.__arrow_c_device_array__()  # nobody takes it
        del before, batch
        gc.collect()
        self.assertEqual(len(table.to_pylist()), len(table))

    def test_batches_outlive_stream_and_run(self):
        expected = [pyarrow.record_batch(batch).to_pylist() for batch in hits(batch_work=5000)]
        kept = [pyarrow.record_batch(batch) for batch in hits(batch_work=5000)]
        views = [batch.numpy("hit_score")[1] for batch in hits(batch_work=5000)]
        gc.collect()
        self.assertEqual([batch.to_pylist() for batch in kept], expected)
        self.assertEqual([list(view) for view in views], [[s for row in rows for s in row["hit_score"]] for rows in expected])

    def test_failed_rows(self):
        @sluice.stage(needs={"bases": "utf8"}, gives={"length": "i32"}, reasons={"odd": "every other row"})
        def failing(batch):
            batch.fail(range(1, len(batch), 2), "odd")
            return [len(bases) for bases in batch["bases"].to_pylist()]

        pipeline = sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("lengths", use=failing)
        wish = {"stage": "lengths", "columns": ["read_id", "bases", "length"], "batch_work": 20000}
        every = pyarrow.table(pipeline.stream(**wish, failed_rows="keep")).to_pylist()
        self.assertEqual(len(every), 60)
        self.assertEqual({row["failed"] for row in every}, {None, "lengths: odd"})
        good = pyarrow.table(pipeline.stream(**wish)).to_pylist()
        self.assertEqual(good, [{k: v for k, v in row.items() if k != "failed"} for row in every if row["failed"] is None])

    def test_polars_and_duckdb(self):
        try:
            import duckdb
            import polars
        except ImportError as missing:
            self.skipTest(str(missing))
        self.assertEqual(polars.DataFrame(hits()).height, 60)
        stream = hits()
        self.assertEqual(duckdb.sql("select count(*) from stream").fetchall(), [(60,)])

    def test_a_stream_given_away_keeps_its_run(self):
        reader = pyarrow.RecordBatchReader.from_stream(hits(batch_work=3000))
        gc.collect()
        self.assertEqual(sum(batch.num_rows for batch in reader), 60)

    def test_once(self):
        stream = hits()
        pyarrow.table(stream)
        with self.assertRaisesRegex(ValueError, "given to another reader"):
            next(stream)


class Endings(unittest.TestCase):
    def test_stopping_early_ends_the_run(self):
        before = threading.active_count(), len(os.listdir("/proc/self/task"))
        for way in ("close", "with", "forget", "exception"):
            stream = sluice.stream("map", **MAP, stage="hits", columns=WANTED, output="early.paf", write=True, batch_work=1, depth=1)
            first = next(stream)
            if way == "close":
                stream.close()
            elif way == "with":
                with stream:
                    pass
            elif way == "exception":
                with self.assertRaises(ZeroDivisionError), stream:
                    raise ZeroDivisionError
            del stream
            gc.collect()
            self.assertEqual(len(first), 1)
            self.assertFalse(os.path.exists("early.paf"))
        self.assertLessEqual(len(os.listdir("/proc/self/task")), before[1] + 2)  # the engine's own threads stay for the next run

    def test_a_reader_that_stops_early(self):
        reader = pyarrow.RecordBatchReader.from_stream(hits(batch_work=1))
        reader.read_next_batch()
        reader.close()
        del reader
        self.assertEqual(sum(len(batch) for batch in hits()), 60)

    def test_the_run_waits_for_its_reader(self):
        stream = lengths_pipeline().stream(reads="many.fa", stage="reads", columns=["read_id"], batch_work=1, depth=2, threads=1)
        next(stream)
        self.assertFalse(stream._handle.wait(0.3))  # 2,000 batches would be through by then
        self.assertLess(next(s for s in stream.snapshot()["stages"] if s["name"] == "reads")["rows_out"], 1000)
        self.assertEqual(1 + sum(len(batch) for batch in stream), 2000)

    def test_a_failure_on_the_way(self):
        with open("broken.fq", "w") as file:
            file.write("@a\nACGTACGT\n+\nIIIIIIII\n" * 50 + "@a\nACGT\n+\nII\n")
        rows = 0
        with self.assertRaises(sluice.InputError) as caught:
            for batch in sluice.stream("map", reference="ref.fa", reads="broken.fq", stage="reads", batch_work=10):
                rows += len(batch)
        self.assertIn("broken.fq", str(caught.exception))
        self.assertLessEqual(rows, 50)
        with self.assertRaisesRegex(OSError, "broken.fq"):
            pyarrow.table(sluice.stream("map", reference="ref.fa", reads="broken.fq", stage="reads", batch_work=10))

    def test_what_can_not_be_streamed(self):
        for stage, words in (("hitz", "did you mean 'hits'"), ("paf", "is a sink"), ("mem_seeds", "disabled by the parameters")):
            with self.assertRaisesRegex(sluice.UsageError, words):
                sluice.stream("map", **MAP, stage=stage)
        with self.assertRaisesRegex(sluice.UsageError, "did you mean 'hit_score'"):
            sluice.stream("map", **MAP, stage="hits", columns=["hit_scor"])

    def test_many_small_batches(self):
        self.assertEqual(sum(1 for _ in lengths_pipeline().stream(reads="many.fa", stage="reads", columns=["read_id"], batch_work=1)), 2000)


if __name__ == "__main__":
    unittest.main()
