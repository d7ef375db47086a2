# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.stream: the rows of any stage, while the run goes on."""

from __future__ import annotations

import threading
from ctypes import byref
from typing import Any, Iterable, Iterator, Mapping, Sequence

from . import _library as _l
from ._arrow import Batch, Schema, new_capsule
from ._engine import RunHandle
from ._errors import Problem, StageError, error_of
from ._run import Report, raise_if_failed, split_options


class Stream:
    """Batches of one stage's rows, in order. Iterate over it, or give it to what reads Arrow streams: `pyarrow.RecordBatchReader.from_stream(stream)`,
    `polars.from_arrow(stream)`, `duckdb.sql("select ... from stream")`. Once: the run is not begun again.

    A few batches wait; then the run does. Whoever stops early ends the run, by close(), at the end of a `with`, or when the stream is forgotten.
    """

    def __init__(self, handle: RunHandle):
        self._handle: RunHandle | None = handle
        self._ended = False
        self._given_away = False
        self._error = _l.SluiceError()
        self.report: Report | None = None  # once the last batch has been taken
        struct = _l.ArrowSchema()
        _l.lib.sluice_run_stream_schema(handle.handle, byref(struct))
        self.schema = Schema(struct)
        self._started = False
        self._taking = threading.RLock()  # held by who waits for a batch: the run is not freed under its feet

    @property
    def column_names(self) -> list[str]:
        return self.schema.names

    def _start(self) -> RunHandle:
        if self._handle is None or self._given_away:
            raise ValueError("the stream has been closed, or given to another reader")
        if not self._started:
            self._started = True
            self._handle.start()
        return self._handle

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        with self._taking:
            return self._next()

    def _next(self) -> Batch:
        if self._ended:
            raise StopIteration
        handle = self._handle
        if handle is None or not self._started or self._given_away:
            handle = self._start()
        array = _l.ArrowArray()
        next_batch = _l.lib.sluice_run_next_batch
        error = self._error
        try:
            # A tenth of a second at a time, so that Ctrl-C is heard.
            while (status := next_batch(handle.handle, 0.1, byref(array), error)) == _l.ERROR_CANCELLED:
                handle.log()
        except BaseException:
            self.close()
            raise
        if status == _l.OK:
            return Batch(self.schema, array)
        was_closed, self._ended = self._ended, True
        if was_closed:
            raise StopIteration
        if status != _l.END:
            self._raise_why_not(handle)
        handle.wait(-1)
        handle.log()
        self.report = Report(handle.report() or {})
        try:
            raise_if_failed(handle, self.report)
        finally:
            self.close()
        raise StopIteration

    def _raise_why_not(self, handle: RunHandle) -> None:
        """A batch that the run had could not be given."""
        self.close()
        message, remedy = _l.text_of(self._error.message), _l.text_of(self._error.remedy)
        raise StageError([Problem(self._error.code, False, "stream", "", message, remedy, f"stream: {message}")])

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        handle = self._start()
        exported, capsule = new_capsule(_l.ArrowArrayStream)
        _l.lib.sluice_run_export_stream(handle.handle, byref(exported))
        self._given_away = True  # it keeps the run
        return capsule

    def snapshot(self) -> dict[str, Any]:
        """How far the run is, as a dict with the keys of Progress."""
        return {} if self._handle is None else self._handle.snapshot()

    def close(self) -> None:
        """Ends the run if it still goes on. Batches that were taken stay. From any thread: who waits for a batch is told that there are no more."""
        self._ended = True
        handle = self._handle
        if handle is not None and not self._given_away:
            handle.close_stream()
        with self._taking:
            handle, self._handle = self._handle, None
            if handle is not None:
                handle.free()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a stream belongs to a run of this process: its batches can be copied and pickled")

    def __repr__(self) -> str:
        return f"<sluice.Stream of {', '.join(self.column_names)}>"


def stream(
    pipeline: Any,
    *,
    stage: str,
    columns: Sequence[str] | str | None = None,
    failed_rows: str = "drop",
    write: bool = False,
    depth: int = 4,
    parameters: Mapping[str, Any] | None = None,
    set: Iterable[str] = (),
    plugin_dir: Any = None,
    **arguments: Any,
) -> Stream:
    """The rows that leave a stage of a pipeline, while it runs.

    The pipeline runs up to that stage: its own sinks are left out, and parameters that only they need are not asked for. With write=True they write
    as in run(). `columns` names the columns that are wanted, also optional ones; without it those come that are made anyway. Rows that failed in a
    stage before are left out; failed_rows="keep" lets them come, with a column `failed` that holds "stage: reason", null for rows that are fine.
    `depth` batches may wait. Other arguments: see run().

    >>> for batch in sluice.stream("map", reads="reads.fq", reference="ref.fa", stage="hits"):
    ...     print(pyarrow.record_batch(batch))
    """
    if failed_rows not in ("drop", "keep"):
        raise ValueError(f"failed_rows is 'drop' or 'keep', not {failed_rows!r}")
    if depth < 1:
        raise ValueError(f"depth is at least 1, not {depth}")
    given, options = split_options(arguments, parameters)
    wish = {"stage": stage, "columns": columns, "failed_rows": failed_rows, "write": write, "depth": depth}
    handle = RunHandle(pipeline, given, options=options, changes=set, plugin_dir=plugin_dir, stream=wish)
    if handle.status() != _l.OK:
        try:
            raise error_of(handle.problems())
        finally:
            handle.free()
    return Stream(handle)
