# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Stages for workers_test.py, which names them as this file's functions. Files in the working directory say what has happened."""

import os
import pathlib
import signal
import time
from typing import Literal

import numpy
import pyarrow

import sluice

COPY = {"needs": {"bases": "utf8"}, "gives": {"copy": "utf8"}}
TYPES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"]
GIVES = {f"c_{t}": t for t in TYPES} | {f"l_{t}": f"list<{t}>" for t in TYPES} | {"t": "utf8", "b": "binary"}


def first_of(name: str) -> bool:
    """True for one of all callers, of whatever process."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


@sluice.stage(**COPY)
def copying(batch):
    """Copies the bases."""
    return batch["bases"]


@sluice.stage(needs={"bases": "utf8"}, gives={"length": ("i64", "bases"), "lengths": "list<i32>"}, reasons={"odd": "an odd number of bases"},
              options={"least": {"help": "at least", "minimum": 1, "unit": "bases"}})
def measuring(batch, least: int = 1, way: Literal["a", "b"] = "a", share: float = 0.1, loud: bool = False, table: pathlib.Path = pathlib.Path("x")):
    assert (share, loud, table) == (0.1, True, pathlib.Path("some where"))
    lengths = numpy.array([len(bases) for bases in batch["bases"].to_pylist()])
    batch.fail(numpy.flatnonzero(batch.ok & (lengths % 2 == 1)), "odd")
    print("not in the run's output")
    return {"length": lengths, "lengths": [[n, -n] for n in lengths]}


@sluice.stage(needs={"bases": "utf8"}, gives=GIVES)
def all_types(batch):
    rows = len(batch)
    made = {f"c_{t}": numpy.arange(rows) for t in TYPES} | {f"l_{t}": [[1, row % 100] for row in range(rows)] for t in TYPES}
    return made | {"t": pyarrow.array(["other", *"x" * rows], pyarrow.large_string())[1:], "b": [b"\x00y"] * rows}


@sluice.stage(needs=GIVES, gives={"same": "u8"})
def read_again(batch):
    for t in TYPES:
        assert (batch.numpy(f"c_{t}") == numpy.arange(len(batch))).all()
        offsets, values = batch.numpy(f"l_{t}")
        assert (numpy.diff(offsets) == 2).all() and (values[1::2] == numpy.arange(len(batch)) % 100).all()
    assert batch["t"].to_pylist() == ["x"] * len(batch) and batch["b"].to_pylist() == [b"\x00y"] * len(batch)
    assert pyarrow.record_batch(batch).column("t").equals(batch["t"]) and batch.column_names[0] == "c_i8"
    return numpy.ones(len(batch), "u1")


@sluice.stage(needs={"length": "i64"}, gives={"seen": "u8"})
def sees_failures(batch):
    assert (batch.ok == (batch.numpy("length") % 2 == 0)).all() and not batch.ok.all()
    return batch.ok.astype("u1")


kept = []


@sluice.stage(**COPY)
def keeping(batch):
    """What somebody keeps stays what it was, also when the engine sends more."""
    kept.append((batch["bases"], batch["bases"].to_pylist()))
    assert all(array.to_pylist() == texts for array, texts in kept)
    return batch["bases"]


@sluice.stage(**COPY)
def raising_once(batch):
    if first_of("raised"):
        raise ValueError("only this once")
    return batch["bases"]


@sluice.stage(**COPY)
def wrong_answer(batch):
    return ["x"] * (len(batch) + 1)


@sluice.stage(**COPY, on_error="fail_run")
def raising(batch):
    raise KeyError("no such thing")


@sluice.stage(**COPY)
def exiting_once(batch):
    if first_of("exited"):
        os._exit(3)
    return batch["bases"]


@sluice.stage(**COPY)
def killed_once(batch):
    if first_of("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    return batch["bases"]


@sluice.stage(**COPY)
def dying(batch):
    os.abort()


@sluice.stage(**COPY)
def killing_the_engine(batch):
    if os.path.exists(".resumed.tsv.resume") and first_of("engine_killed"):  # other runs that were ended leave journals, too
        os.kill(os.getppid(), signal.SIGKILL)
    return batch["bases"]


@sluice.stage(**COPY)
def hanging(batch):
    with open("hanging", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(1000)


@sluice.stage(needs={"bases": "utf8"}, gives={"large": "binary"})
def growing(batch):
    """Far more than it gets."""
    return [b"z" * 200_000] * len(batch)


@sluice.stage(needs={"bases": "utf8"}, gives={"process": "i64"})
def processes(batch):
    time.sleep(0.01)
    return [os.getpid()] * len(batch)


def not_a_stage(batch):
    return batch
