# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A worker of the plugin python_stages: runs one decorated function, over batches in shared memory.

    python _worker.py FILE FUNCTION

Number 3 is a socket that keeps the borders of packets (plugins/languages/python_stages/worker.cpp is at its other end), 4 a file for what Python was
doing when it crashes. Packets are int64 numbers of this machine, the first one of those below, and perhaps a text; the first packet of either side
is texts with a NUL behind each.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import inspect
import json
import mmap
import os
import socket
import struct
import sys
import threading
import traceback
import weakref
from pathlib import Path
from typing import Any

REGION, FORGET, CALL, ROOM, LOG, NEED, MADE, RAISED = 1, 2, 3, 4, 10, 11, 12, 13
WORKER_DIED, EXCEPTION = "worker_died", "exception"  # the first reasons of every stage here
MOST_TEXT = 32 << 10  # of a packet
LEVELS = {"info": 1, "warning": 2, "error": 3}


class CannotRun(Exception):
    """The file or its function is not what it has to be: message, remedy."""


def module_of(name: str, file: Path, **more: Any) -> Any:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file, **more)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def load_package() -> Any:
    """The package that this file belongs to, whatever else of the name is installed."""
    here = Path(__file__).resolve().parent
    return module_of("sluice", here / "__init__.py", submodule_search_locations=[str(here)])


def load_stage(file: str, function: str) -> Any:
    load_package()
    from sluice._stage import Stage

    sys.path[0] = str(Path(file).parent)  # as if the file were run
    try:
        import pyarrow  # noqa: F401
    except ImportError as missing:
        raise CannotRun(f"{sys.executable} has no pyarrow: {missing}", "install pyarrow there, or let SLUICE_PYTHON name another interpreter") from None
    try:
        name = Path(file).stem
        module = module_of(name if name not in sys.modules and name not in sys.stdlib_module_names else f"stages_in_{name}", Path(file))
    except BaseException as exception:
        raise CannotRun(f"{file} can't be imported: {short_traceback(exception)}", f"does `{sys.executable} {file}` run?") from None
    stage = getattr(module, function, None)
    if isinstance(stage, Stage):
        return stage
    there = [name for name, value in vars(module).items() if isinstance(value, Stage)]
    what = "is not decorated with @sluice.stage" if stage is not None else "is not there"
    raise CannotRun(f"{file}: '{function}' {what}", f"the file has {', '.join(there)}" if there else "decorate a function with @sluice.stage(needs=..., gives=...)")


def described(stage: Any) -> dict[str, Any]:
    """The stage's description with what all stages in workers have: two reasons, and the number of workers."""
    said = dict(stage.description)
    if any(parameter["name"] == "workers" for parameter in said["parameters"]):
        raise CannotRun(f"{stage.id}: the name of parameter 'workers' is taken", "call it something else")
    own = [reason for reason in said["reasons"] if reason["code"] not in (WORKER_DIED, EXCEPTION)]
    said["reasons"] = [{"code": WORKER_DIED, "meaning": "the process that ran the function died"},
                       {"code": EXCEPTION, "meaning": "the function raised an exception"}, *own]
    workers = {"name": "workers", "type": "int", "default": "0", "minimum": 0, "maximum": 4096, "help": "processes of Python at most; 0: one per thread of the run"}
    said["parameters"] = [*said["parameters"], workers]
    said.update(parallel=True, runs_in="processes of Python")
    return said


def short_traceback(exception: BaseException) -> str:
    """Without the frames of this file."""
    shown = traceback.TracebackException.from_exception(exception)
    own = os.path.abspath(__file__)
    shown.stack = traceback.StackSummary.from_list([frame for frame in shown.stack if os.path.abspath(frame.filename) != own and "importlib" not in frame.filename])
    return "".join(shown.format()).strip()


class Hold:
    """What columns over a region keep; whether somebody has it behind a call tells if the region can be used again."""

    __slots__ = ("region", "__weakref__")

    def __init__(self, region: Any):
        self.region = region


class Region:
    def __init__(self, descriptor: int, size: int):
        try:
            self.memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        import ctypes

        self._first = ctypes.c_char.from_buffer(self.memory)
        self.address = ctypes.addressof(self._first)
        self.view = memoryview(self.memory)
        self.size = size


class Link:
    """The socket to the engine."""

    def __init__(self, number: int):
        self.socket = socket.socket(fileno=number)
        self.regions: dict[int, Region] = {}

    def send(self, *numbers: int, text: str = "") -> None:
        packet = struct.pack(f"={len(numbers)}q", *numbers)
        self.socket.send(packet + text.encode("utf-8", "replace")[:MOST_TEXT] if text else packet)

    def send_texts(self, *texts: str) -> None:
        self.socket.send(b"".join(text.replace("\0", " ").encode("utf-8", "replace") + b"\0" for text in texts))

    def receive_texts(self) -> list[str]:
        packet = self.socket.recv(1 << 18)
        return [text.decode("utf-8", "surrogateescape") for text in packet.split(b"\0")[:-1]]

    def receive(self) -> tuple[int, bytes]:
        """The next packet that is not about regions: its kind, and all of it; 0 at the end."""
        while True:
            packet, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 18, 1)
            if not packet:
                return 0, b""
            (kind,) = struct.unpack_from("=q", packet)
            if kind == REGION:
                _, number, size = struct.unpack_from("=3q", packet)
                self.regions[number] = Region(descriptors[0], size)
            elif kind == FORGET:
                self.regions.pop(struct.unpack_from("=q", packet, 8)[0], None)
            else:
                return kind, packet


def worker_rows_class() -> Any:
    from sluice._arrow import Column
    from sluice._stage import Rows, _arrow_type

    import numpy
    import pyarrow

    class WorkerRows(Rows):
        """The rows of a batch in shared memory."""

        __slots__ = ("_count", "_columns", "_made", "_hold", "_link", "_failed", "_status")

        def __init__(self, count: int, columns: dict[str, tuple], hold: Hold, status: int, link: Link, reasons: list[str]):
            self.schema, self._array, self._arrow = None, None, None
            self._count, self._columns, self._made, self._hold, self._link = count, columns, {}, hold, link
            self._failed: list[tuple[int, int]] = []
            self._status, self._ok, self._output, self._reasons, self._open = status, None, None, reasons, True

        def __len__(self) -> int:
            return self._count

        num_rows = property(__len__)

        @property
        def column_names(self) -> list[str]:
            return list(self._columns)

        @property
        def ok(self) -> Any:
            if self._ok is None:
                if self._status < 0:
                    self._ok = numpy.ones(self._count, bool)
                else:
                    self._ok = numpy.frombuffer(self._hold.region.view, "u2", self._count, self._status) == 0
            return self._ok

        def _buffer(self, at: int, size: int) -> Any:
            return pyarrow.foreign_buffer(self._hold.region.address + at, size, self._hold)

        def __getitem__(self, column: str) -> Any:
            if column not in self._made:
                self._made[column] = self._array_of(*self._columns[column])
            return self._made[column]

        def _array_of(self, kind: str, offsets_at: int, at: int, count: int) -> Any:
            arrow = _arrow_type(kind)
            if offsets_at < 0:
                return pyarrow.Array.from_buffers(arrow, self._count, [None, self._buffer(at, count * arrow.byte_width)])
            offsets = self._buffer(offsets_at, 8 * (self._count + 1))
            if not pyarrow.types.is_large_list(arrow):
                return pyarrow.Array.from_buffers(arrow, self._count, [None, offsets, self._buffer(at, count)])
            item = arrow.value_type
            values = pyarrow.Array.from_buffers(item, count, [None, self._buffer(at, count * item.byte_width)])
            return pyarrow.Array.from_buffers(arrow, self._count, [None, offsets], children=[values])

        def to_pyarrow(self) -> Any:
            if self._arrow is None:
                self._arrow = pyarrow.RecordBatch.from_arrays([self[name] for name in self._columns], names=list(self._columns))
            return self._arrow

        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return self.to_pyarrow().__arrow_c_array__(requested_schema)

        def numpy(self, column: str) -> Any:
            kind = self._columns[column][0]
            array = self[column]
            if kind.startswith("list<"):
                return numpy.frombuffer(array.buffers()[1], "i8", len(array) + 1), array.values.to_numpy()
            if kind in ("utf8", "binary"):
                raise TypeError(f"column '{column}' is {kind}: use batch['{column}']")
            return array.to_numpy()

        def column(self, name: str) -> Any:
            return Column(name, self._columns[name][0], self.numpy(name))

        def __arrow_c_device_array__(self, requested_schema: Any = None, **more: Any) -> Any:
            return self.to_pyarrow().__arrow_c_device_array__(requested_schema, **more)

        def _fail_row(self, row: int, reason: int) -> bool:
            if not 0 <= row < self._count:
                return False
            self._failed.append((row, reason))
            return True

        def log(self, line: str, level: str = "info") -> None:
            self._link.send(LOG, LEVELS[level], text=str(line))

        def __repr__(self) -> str:
            return f"<sluice.Rows: {self._count} rows of {', '.join(self._columns)}>"

    return WorkerRows


class ResultWriter:
    """Puts columns into a region."""

    def __init__(self, link: Link, region: Region):
        self.link, self.region, self.used = link, region, 0
        self.parts: list[tuple[int, Any]] = []

    def plan(self, data: Any) -> int:
        at = self.used
        size = memoryview(data).nbytes
        self.used += (size + 63) // 64 * 64
        if size:
            self.parts.append((at, data))
        return at

    def column(self, array: Any) -> tuple[int, int, int]:
        """Where its offsets (or -1) and values will be, and how many values."""
        import pyarrow

        if array.null_count:
            raise ValueError("a column has nulls: fail rows that have no value")
        kind, count = array.type, len(array)
        if pyarrow.types.is_large_string(kind) or pyarrow.types.is_large_binary(kind):
            offsets, first, last = self._offsets(array)
            data = array.buffers()[2]
            return self.plan(offsets), self.plan(memoryview(data)[first:last] if data is not None else b""), last - first
        if pyarrow.types.is_large_list(kind):
            offsets, first, last = self._offsets(array)
            at = self.plan(offsets)
            _, values, _ = self.column(array.values[first:last])
            return at, values, last - first
        width = kind.byte_width
        data = array.buffers()[1]
        return -1, self.plan(memoryview(data)[array.offset * width : (array.offset + count) * width] if data is not None else b""), count

    @staticmethod
    def _offsets(array: Any) -> tuple[Any, int, int]:
        import numpy

        buffer = array.buffers()[1]
        if buffer is None or not len(array):
            return numpy.zeros(len(array) + 1, "i8"), 0, 0
        offsets = numpy.frombuffer(buffer, "i8", len(array) + 1, array.offset * 8)
        first, last = int(offsets[0]), int(offsets[-1])
        return (offsets - first if first else offsets), first, last

    def write(self) -> None:
        if self.used > self.region.size:
            self.link.send(NEED, self.used)
            _, packet = self.link.receive()
            self.region = self.link.regions[struct.unpack_from("=q", packet, 8)[0]]
        view = self.region.view
        for at, data in self.parts:
            bytes_of = memoryview(data).cast("B")
            view[at : at + len(bytes_of)] = bytes_of


class Calls:
    """Answers calls of one function."""

    def __init__(self, link: Link, stage: Any, reasons: list[str], values: dict[str, Any], wanted: list[str]):
        self.link, self.stage, self.reasons, self.values, self.wanted = link, stage, reasons, values, wanted
        self.rows = worker_rows_class()
        self.names: dict[bytes, list[tuple[str, str]]] = {}

    def answer(self, packet: bytes) -> None:
        columns, region, count, status, result = struct.unpack_from("=5q", packet, 8)
        places = struct.unpack_from(f"={3 * columns}q", packet, 48)
        texts = packet[48 + 24 * columns :]
        if texts not in self.names:
            words = [text.decode() for text in texts.split(b"\0")[:-1]]
            self.names[texts] = list(zip(words[::2], words[1::2]))
        found = {name: (kind, *places[3 * i : 3 * i + 3]) for i, (name, kind) in enumerate(self.names[texts])}
        hold = Hold(self.link.regions[region])
        kept = weakref.ref(hold)
        reply = self.run(self.rows(count, found, hold, status, self.link, self.reasons), result)
        del hold
        kind, numbers, text = reply
        self.link.send(kind, 0 if kept() is None else 1, *numbers, text=text)

    def run(self, rows: Any, result: int) -> tuple[int, list[int], str]:
        try:
            made = self.stage._checked(self.stage.function(rows, **self.values), len(rows))
            writer = ResultWriter(self.link, self.link.regions[result])
            places = [(1, *writer.column(made[name])) if name in made else (0, -1, 0, 0) for name in self.wanted]
            failed = struct.pack(f"={2 * len(rows._failed)}q", *(number for pair in rows._failed for number in pair))
            failed_at = writer.plan(failed)
            writer.write()
            return MADE, [writer.used, len(rows._failed), failed_at, *(number for place in places for number in place)], ""
        except Exception as exception:
            return RAISED, [int(self.stage.on_error == "fail_run")], short_traceback(exception)
        finally:
            rows._open = False


def values_of(stage: Any, texts: list[str]) -> dict[str, Any]:
    """The arguments behind the batch; the last parameter is the engine's."""
    make = {"bool": lambda text: text == "true", "int": int, "size": int, "float": float, "path": Path}
    given = zip(stage.description["parameters"], texts)
    return {said["name"]: make.get(said["type"], str)(text[1:]) for said, text in given if text.startswith("=")}


def end_with_engine() -> None:
    """Also while a function goes on for ever: a worker does not outlive its engine."""
    import select
    import time

    poll = select.poll()
    poll.register(3, select.POLLHUP | select.POLLRDHUP)
    while True:
        if any(event & (select.POLLHUP | select.POLLRDHUP) for _, event in poll.poll()):
            time.sleep(1)  # a worker that waits ends by itself
            os._exit(1)


def main() -> None:
    file, function = sys.argv[1:3]
    os.set_inheritable(3, False)
    os.set_inheritable(4, False)
    faulthandler.enable(file=4, all_threads=False)
    link = Link(3)
    try:
        stage = load_stage(file, function)
        said = described(stage)
    except CannotRun as problem:
        link.send_texts("failed", *problem.args)
        return
    gives = [text for column in said["gives"] for text in (column["name"], column["type"])]
    link.send_texts("ready", json.dumps(said), str(len(said["parameters"])), *gives)
    texts = link.receive_texts()
    if not texts:
        return  # only the description was wanted
    threading.Thread(target=end_with_engine, daemon=True).start()
    count = int(texts[0])
    calls = Calls(link, stage, [reason["code"] for reason in said["reasons"]], values_of(stage, texts[1 : count + 1]), texts[count + 1 :])
    while True:
        kind, packet = link.receive()
        if kind != CALL:
            return
        calls.answer(packet)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, ConnectionResetError):  # the engine has gone
        pass
