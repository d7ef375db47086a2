# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.Source: rows that this program gives to a run while it goes on."""

from __future__ import annotations

import collections
import ctypes
import threading
import time
from typing import Any, Iterable, Mapping

from . import _library as _l
from ._stage import Stage, _arrow_type, _give, stage_columns

_WAIT = 0.1  # seconds that a call of the run waits for rows: so long an end of the run may take to be noticed


class Closed(Exception):
    """Nobody takes rows: the run has ended."""


class Source(Stage):
    """A source of a pipeline whose rows come from this program, batch by batch: push() gives them, end() says that there are no more.

    Of one run. `gives`: columns by name as in sluice.stage; `row_type` what a row is ("read"). At most `depth` batches wait.

    >>> chunks = sluice.Source("chunks", gives={"read_id": "utf8", "bases": "utf8"})
    >>> pipeline = sluice.Pipeline("p").stage("chunks", use=chunks).stage("gc", use=gc_share)
    >>> with pipeline.stream(stage="gc") as rows:
    ...     chunks.push({"read_id": ["a"], "bases": ["ACGT"]})
    ...     chunks.end()
    ...     print(next(rows))
    """

    def __init__(self, id: str, *, gives: Mapping[str, Any], row_type: str = "read", optional: Iterable[str] = (), depth: int = 64, doc: str = ""):
        description = {
            "stage": id, "kind": "source", "summary": doc.split("\n", 1)[0] or "rows of the program that hosts the engine", "doc": doc, "row_type": row_type,
            "needs": [], "gives": stage_columns(gives, tuple(optional)), "parameters": [], "reasons": [],
        }
        super().__init__(lambda batch: batch, description, None)
        self._types = {name: _arrow_type(kind) for name, kind in self.gives.items()}
        self._depth = depth
        self._changed = threading.Condition()  # guards what follows
        self._waiting: collections.deque[tuple[Any, float | None]] = collections.deque()
        self._has_ended = False
        self._instance: int | None = None
        self._was_used = False

    def __reduce__(self) -> Any:
        raise TypeError(f"source '{self.id}' gives rows to a run of this process: make it in the process that runs")

    def push(self, columns: Any, *, deadline: float | None = None, timeout: float | None = None) -> None:
        """The next rows: a mapping of columns (pyarrow or numpy arrays, lists), a pyarrow.RecordBatch or Table. What depends on them is wanted in `deadline`
        seconds. Waits while `depth` batches wait; TimeoutError after `timeout` seconds. Closed, where the run has ended.
        """
        import pyarrow

        if isinstance(columns, (pyarrow.RecordBatch, pyarrow.Table)):
            columns = {name: columns.column(name) for name in columns.schema.names}
        if not columns:
            raise ValueError("there are no columns")
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        rows = lengths.pop()
        checked = self._checked(columns, rows)
        due = None if deadline is None else time.monotonic() + deadline
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_ended or len(self._waiting) < self._depth, timeout):
                raise TimeoutError(f"{self._depth} batches wait to be taken")
            if self._has_ended:
                raise Closed("the source has been ended, or the run has")
            self._waiting.append((checked, due))
            self._changed.notify_all()

    def end(self) -> None:
        """There are no more rows."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Batches that the run has not taken yet."""
        with self._changed:
            return len(self._waiting)

    # What the library calls.

    def _create(self, user: Any, parameters: bytes, instance: Any, error: Any) -> int:
        with self._changed:
            if self._was_used or self._instance is not None:
                why = "was in a run that has ended: make a new one" if self._was_used else "is in another run"
                return self._fail(error, RuntimeError(f"source '{self.id}' {why}"))
            status = super()._create(user, parameters, instance, error)
            if status == _l.OK:
                self._instance = instance[0]
        return status

    def _destroy(self, user: Any, instance: Any) -> None:
        super()._destroy(user, instance)
        with self._changed:
            if instance == self._instance:
                self._instance = None
                self._has_ended = self._was_used = True
                self._waiting.clear()
                self._changed.notify_all()

    def _process(self, _user: Any, _instance: Any, _schema: Any, _array: Any, _status: Any, made_schema: Any, made_array: Any, rows: Any, error: Any) -> int:
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._has_ended, _WAIT)
                if not self._waiting:
                    return _l.END if self._has_ended else _l.OK
                columns, due = self._waiting.popleft()
                self._changed.notify_all()
            if due is not None:
                _l.lib.sluice_rows_deadline(rows, max(due - time.monotonic(), 0.0))
            _give(columns, made_schema.contents, made_array.contents)
            return _l.OK
        except BaseException as exception:
            return self._fail(error, exception)
