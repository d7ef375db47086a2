# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Many runs in one process leave nothing behind: files, threads, memory."""

import ctypes
import gc
import os
import unittest

import sluice

import pyarrow

PERIODS = 5


class MallocInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


C = ctypes.CDLL(None)
C.mallinfo2.restype = MallocInfo
M_ARENA_MAX = -8
C.mallopt(M_ARENA_MAX, 1)  # mallinfo2() counts one arena
pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def used_kib() -> int:
    """What is allocated, which unlike the resident memory is the same however busy the machine is."""
    info = C.mallinfo2()
    return (info.uordblks + info.hblkhd) // 1024


def of_process() -> tuple:
    gc.collect()
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), used_kib()


@sluice.stage(needs={"bases": "utf8"}, gives={"copy": "utf8"})
def copying(batch):
    return batch["bases"]


def one_of_each(number: int) -> None:
    pipeline = (
        sluice.Pipeline("p")
        .stage("reads", use="read_reader", path="r.fastq.gz")
        .stage("copy", use=copying)
        .stage("table", use="table_writer", output="leak.tsv", columns="copy")
    )
    pipeline.run()
    pyarrow.table(pipeline.stream(stage="copy"))
    stream = pipeline.stream(stage="copy", batch_work=1)
    next(stream).to_pyarrow()
    if number % 2:
        stream.close()
    try:
        sluice.run("map", refrence="ref.fa")
    except sluice.UsageError:
        pass


class Leaks(unittest.TestCase):
    def test_nothing_is_left_behind(self):
        for number in range(60):  # caches, pools of threads and of the allocator
            one_of_each(number)
        rounds = int(os.environ.get("SLUICE_LEAK_ROUNDS", "200")) // PERIODS
        seen = [of_process()]
        for _ in range(PERIODS):
            for number in range(rounds):
                one_of_each(number)
            seen.append(of_process())
        before, after = seen[0], seen[-1]
        self.assertLessEqual(after[0], before[0])
        self.assertLessEqual(after[1], before[1] + 1)
        # The input is 200 kB: a batch that stays in each round would be that much a round in every period.
        self.assertLess(min(later[2] - earlier[2] for earlier, later in zip(seen, seen[1:])), 20 * rounds)


if __name__ == "__main__":
    unittest.main()
