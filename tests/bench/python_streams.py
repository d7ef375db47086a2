# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What a batch costs on its way into Python, and a stage in Python beside the engine's own. Run with the package on the path:
  python3 python_streams.py SLUICE [BATCHES]
Times of the reading thread are processor time of that thread, without the engine's."""

import os
import subprocess
import sys
import tempfile
import time

import pyarrow
import sluice

program, batches = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
os.chdir(tempfile.mkdtemp())
with open("many.fa", "w") as file:
    file.writelines(f">read_{number}\nACGTACGTACGTACGTACGT\n" for number in range(batches))
subprocess.run([program, "run", "synthetic_reference", "--length", "8000", "--contigs", "2000", "--output", "long.fa", "--quiet"], check=True)


def reads(file):
    return sluice.Pipeline("p").stage("reads", use="read_reader", path=file)


def measured(name, take):
    wall, thread = time.monotonic(), time.thread_time()
    count = take()
    wall, thread = time.monotonic() - wall, time.thread_time() - thread
    assert count == batches, count
    print(f"{name:34} {1e6 * thread / batches:7.1f} us of the reading thread, {1e6 * wall / batches:7.1f} us in all, per batch")


def small():
    return reads("many.fa").stream(stage="reads", columns=["read_id", "bases"], batch_work=1, depth=64)


def engine_alone():
    pipeline = reads("many.fa").stage("table", use="table_writer", output="/dev/null", columns="read_id,bases")
    return pipeline.run(batch_work=1).stage("reads")["rows_out"]


measured("engine alone, to a table", engine_alone)
measured("for batch in stream", lambda: sum(1 for _ in small()))
measured("pyarrow.record_batch(batch)", lambda: sum(pyarrow.record_batch(batch).num_rows for batch in small()))
measured("RecordBatchReader.from_stream", lambda: sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(small())))


@sluice.stage(needs={"bases": "utf8"}, gives={"copy": "utf8"})
def copying(batch):
    return pyarrow.concat_arrays([batch["bases"], batch["bases"].slice(0, 0)])  # a copy, not the same memory


def rate(name, pipeline, column):
    best = min(run_seconds(pipeline, column) for _ in range(3))
    print(f"{name:34} {16 / best:7.1f} Mbases/s")


def run_seconds(pipeline, column):
    begin = time.monotonic()
    for _ in pipeline.stream(stage="reads" if column == "bases" else "copy", columns=[column]):
        pass
    return time.monotonic() - begin


rate("2,000 reads of 8 kb, no stage", reads("long.fa"), "bases")
rate("with a copying stage in Python", reads("long.fa").stage("copy", use=copying), "copy")
