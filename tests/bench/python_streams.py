# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What a batch costs on its way into Python, and a stage in Python beside the engine's own. Run with the package on the path:
  python3 python_streams.py SLUICE FOLDER_WITH_COPYING_STAGE [BATCHES] [ROUNDS]
Times of the reading thread are processor time of that thread, without the engine's."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import pyarrow
import sluice

program, plugins = (os.path.abspath(name) for name in sys.argv[1:3])
batches, rounds = (int(sys.argv[i]) if len(sys.argv) > i else initial for i, initial in ((3, 100_000), (4, 5)))
reads_of_8_kb, options = 60_000, {"threads": 2}
os.chdir(tempfile.mkdtemp())
with open("many.fa", "w") as file:
    file.writelines(f">read_{number}\nACGTACGTACGTACGTACGT\n" for number in range(batches))
subprocess.run([program, "run", "synthetic_reference", "--length", "8000", "--contigs", str(reads_of_8_kb), "--output", "long.fa", "--quiet"], check=True)


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


def all_ready():
    """A stream whose batches wait, all but one: what is measured then is the way into Python alone."""
    stream = reads("many.fa").stream(stage="reads", columns=["read_id", "bases"], batch_work=1, depth=batches, memory="8GB")
    next(stream)
    while not stream._handle.wait(0.1):
        pass
    return stream


def ready(name, take):
    stream = all_ready()
    thread = time.thread_time()
    count = take(stream)
    print(f"{name:34} {1e6 * (time.thread_time() - thread) / count:7.1f} us of the reading thread, per batch that waits")


WAYS = {
    "for batch in stream": lambda stream: sum(1 for _ in stream),
    "pyarrow.record_batch(batch)": lambda stream: sum(pyarrow.record_batch(batch).num_rows for batch in stream),
    "RecordBatchReader.from_stream": lambda stream: sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(stream)),
}
for name, take in WAYS.items():
    ready(name, take)
measured("engine alone, to a table", engine_alone)
for name, take in WAYS.items():
    measured(name, lambda: take(small()))


with open("copies.py", "w") as file:
    file.write("""
import pyarrow
import sluice

@sluice.stage(needs={"bases": "utf8"}, gives={"copy": "utf8"})
def copying(batch):
    return pyarrow.concat_arrays([batch["bases"], batch["bases"].slice(0, 0)])  # a copy, not the same memory
""")
sys.path.insert(0, ".")
from copies import copying  # noqa: E402


def seconds(use):
    """Of a run, and the median of the stage's calls in it."""
    pipeline = reads("long.fa")
    if use:
        pipeline.stage("copy", use=use)
    pipeline.stage("end", use="table_writer", output="/dev/null", columns="copy" if use else "bases")
    report = pipeline.run(plugin_dir=plugins, **options)
    return report.seconds, report.stage("copy")["implementations"][0]["p50_seconds"] if use else 0


bases = 8000 * reads_of_8_kb
kinds = {"no stage": None, "C++": "copied_bases", "Python, in process": copying, "Python, in workers": "copies.py:copying"}
figures = {name: [] for name in kinds}
for _ in range(rounds):  # one after the other, so that what else the machine does is the same for all
    for name, use in kinds.items():
        figures[name].append(seconds(use))
print(f"{reads_of_8_kb} reads of 8 kb, copied; medians of {rounds} runs")
for name, runs in figures.items():
    run, call = (statistics.median(values) for values in zip(*runs))
    print(f"{name:20} {bases / run / 1e6:7.1f} Mbases/s" + (f", {1e6 * call:7.0f} us a call" if call else ""))
