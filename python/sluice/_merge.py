# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.merge: the outputs of shards become the output of one run."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from typing import Any, Iterable

from . import _library as _l
from ._engine import Engine, settings_array
from ._errors import Interrupted, Problem, error_of
from ._run import Report


def _path(of: Any) -> bytes | None:
    return None if of is None else os.fsencode(of)


class _Merge:
    """One call of the library, on a thread of its own, so that Ctrl-C is heard."""

    def __init__(self, engine: Engine, request: Any):
        self.engine, self.request = engine, request
        self.status, self.text, self.error = _l.OK, ctypes.c_void_p(), _l.SluiceError()
        self.stop = ctypes.c_int32(0)
        request.stop = ctypes.pointer(self.stop)
        self.thread = threading.Thread(target=self._call)

    def _call(self) -> None:
        self.status = _l.lib.sluice_merge(self.engine.handle, ctypes.byref(self.request), ctypes.byref(self.text), ctypes.byref(self.error))

    def finished_report(self) -> Report:
        self.thread.start()
        try:
            while self.thread.is_alive():
                self.thread.join(0.1)
        except BaseException:
            self.stop.value = 1
            self.thread.join()
            raise
        text = _l.taken_text(self.text.value)
        if self.status == _l.ERROR_CANCELLED:
            raise Interrupted(None)
        if self.status != _l.OK:
            message, remedy = _l.text_of(self.error.message), _l.text_of(self.error.remedy)
            raise error_of([Problem(self.status, False, "merge", "", message, remedy, f"merge: {message}" + (f" ({remedy})" if remedy else ""))])
        return Report(json.loads(text or "{}"))


def merge(
    shards: Iterable[Any] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    of: str | None = None,
    report: str | os.PathLike[str] | None = None,
    account: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    plugin_dir: Any = None,
) -> Report:
    """Puts the outputs of all shards of a run (`sluice.run(..., shard="1/3")`) together: the bytes of one run over all rows.

    `shards`: the files in any order, or folders with them; `of` says which output is meant where folders have shards of several. Returns the shards'
    reports, added up; `report` writes them as JSON, `account` the tables of lost rows that the runs' `account` has made. Raises InputError where shards
    are missing, doubled, or of another run.

    >>> sluice.merge(["calls.1.tsv", "calls.2.tsv", "calls.3.tsv"], "calls.tsv")
    """
    named = [shards] if isinstance(shards, (str, os.PathLike)) else list(shards)
    request = _l.MergeRequest()
    request.struct_size = ctypes.sizeof(request)
    request.output, request.report, request.account = _path(output), _path(report), _path(account)
    request.of = None if of is None else of.encode()
    request.shards, request.shard_count = (ctypes.c_char_p * max(len(named), 1))(*(os.fsencode(one) for one in named)), len(named)
    request.options, request.option_count = settings_array({"threads": threads, "memory": memory})
    return _Merge(Engine.of(plugin_dir), request).finished_report()
