# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Engines and runs of the library as objects that free themselves."""

from __future__ import annotations

import atexit
import ctypes
import json
import logging
import os
import sys
import threading
from typing import Any, Iterable, Mapping, Sequence

from . import _library as _l
from ._errors import Problem

logger = logging.getLogger("sluice")
_LEVELS = {_l.LOG_INFO: logging.INFO, _l.LOG_WARNING: logging.WARNING, _l.LOG_ERROR: logging.ERROR}

# Options of a run that are not parameters of the pipeline, and what their values are.
RUN_OPTION_TYPES = {
    "device": "str", "threads": "int", "memory": "int | str", "gpu_memory": "int | str", "batch_work": "float", "policy": "str", "profile": "_Path",
    "watchdog": "float", "executor": "str", "log_level": "str", "max_bad_reads": "float", "allow_empty": "bool", "resume": "bool", "checkpoint": "float",
    "shard": "str", "report": "_Path | list[_Path]", "account": "_Path", "trace": "_Path",
}
RUN_OPTIONS = frozenset(RUN_OPTION_TYPES)


class Engine:
    """The loaded plugins. One per list of plugin folders, made when it is needed first."""

    _all: dict[tuple[str, ...], "Engine"] = {}
    _lock = threading.Lock()

    def __init__(self, plugin_dirs: tuple[str, ...]):
        if sys.executable:
            os.environ.setdefault("SLUICE_PYTHON", sys.executable)  # stages of `use="FILE.py:FUNCTION"` run in this Python
        folders = (ctypes.c_char_p * max(len(plugin_dirs), 1))(*(os.fsencode(folder) for folder in plugin_dirs))
        error = _l.SluiceError()
        self.handle = _l.lib.sluice_engine_new(folders, len(plugin_dirs), ctypes.byref(error))
        if not self.handle:
            raise MemoryError(_l.text_of(error.message))

    @classmethod
    def of(cls, plugin_dir: Any = None) -> "Engine":
        dirs = () if plugin_dir is None else (plugin_dir,) if isinstance(plugin_dir, (str, os.PathLike)) else tuple(plugin_dir)
        key = tuple(os.path.abspath(os.fspath(folder)) for folder in dirs)
        with cls._lock:
            if key not in cls._all:
                cls._all[key] = cls(key)
            return cls._all[key]

    def describe(self) -> dict[str, Any]:
        return json.loads(_l.taken_text(_l.lib.sluice_engine_describe(self.handle)) or "{}")


def plain(value: Any) -> Any:
    """The number that a number of numpy is; all else as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def value_text(value: Any) -> str:
    """A parameter's value as the command line has it."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fspath(value) if isinstance(os.fspath(value), str) else os.fsdecode(value)
    return str(value)


def encoded(text: str, what: str) -> bytes:
    """A text as C has it. Raises ValueError where C would see the end of it too early."""
    if "\0" in text:
        raise ValueError(f"{what}: a text of the library cannot have a NUL: {text!r}")
    return text.encode("utf-8", "surrogateescape")


def settings_array(values: Mapping[str, Any], *, of_nothing: Sequence[str] = ("",)) -> tuple[Any, int]:
    """Settings by name, a list as one setting for each of its values. A list without values is not left out, which would mean a default: it is an
    empty text, which the library refuses, or `of_nothing`."""
    pairs = []
    for name, value in values.items():
        if value is None:
            continue
        is_one = isinstance(value, (str, bytes, os.PathLike)) or not hasattr(value, "__iter__") or getattr(value, "shape", None) == ()
        several = [value] if is_one else list(value) or of_nothing
        pairs.extend(_l.Setting(encoded(name, name), encoded(value_text(one), name)) for one in several)
    return (_l.Setting * max(len(pairs), 1))(*pairs), len(pairs)


class RunHandle:
    """One run of the library: planned when it is made; freed, and ended, with this object."""

    def __init__(
        self,
        pipeline: Any,
        parameters: Mapping[str, Any],
        *,
        options: Mapping[str, Any],
        changes: Iterable[str] = (),
        plugin_dir: Any = None,
        stream: Mapping[str, Any] | None = None,
    ):
        self.handle = None
        self.lock = threading.Lock()
        self.engine = Engine.of(plugin_dir)
        request = _l.RunRequest()
        request.struct_size = ctypes.sizeof(request)
        if hasattr(pipeline, "to_toml"):
            pipeline._register_stages()
            request.pipeline, request.pipeline_text = encoded(pipeline.place, "pipeline"), encoded(pipeline.to_toml(), "pipeline")
        else:
            request.pipeline = encoded(value_text(pipeline), "pipeline")
        request.parameters, request.parameter_count = settings_array(parameters)
        request.options, request.option_count = settings_array(options, of_nothing=())
        changed = [encoded(change, "set") for change in ([changes] if isinstance(changes, str) else changes)]
        request.changes, request.change_count = (ctypes.c_char_p * max(len(changed), 1))(*changed), len(changed)
        if stream is not None:
            request.stream_stage = stream["stage"].encode()
            columns = stream.get("columns")
            request.stream_columns = None if not columns else ",".join([columns] if isinstance(columns, str) else columns).encode()
            request.stream_failed_rows = 1 if stream.get("failed_rows") == "keep" else 0
            request.stream_and_write = 1 if stream.get("write") else 0
            request.stream_depth = int(stream.get("depth") or 0)
        self.handle = _l.lib.sluice_run_new(self.engine.handle, ctypes.byref(request))
        if not self.handle:
            raise MemoryError("sluice: no memory for a run")

    def status(self) -> int:
        return _l.lib.sluice_run_status(self.handle)

    def problems(self) -> list[Problem]:
        found = []
        raw = _l.ProblemStruct()
        raw.struct_size = ctypes.sizeof(raw)
        for i in range(_l.lib.sluice_run_problem_count(self.handle)):
            _l.lib.sluice_run_problem(self.handle, i, ctypes.byref(raw))
            texts = (_l.text_of(t) for t in (raw.place, raw.stage, raw.message, raw.remedy, raw.text))
            found.append(Problem(raw.status, bool(raw.is_warning), *texts))
        return found

    def start(self) -> None:
        _l.lib.sluice_run_start(self.handle)

    def wait(self, seconds: float) -> bool:
        return bool(_l.lib.sluice_run_wait(self.handle, seconds))

    def interrupt(self) -> bool:
        """False: the run is over."""
        return bool(_l.lib.sluice_run_interrupt(self.handle))

    def snapshot(self) -> dict[str, Any]:
        return json.loads(_l.taken_text(_l.lib.sluice_run_snapshot(self.handle)) or "{}")

    def report(self) -> dict[str, Any] | None:
        text = _l.taken_text(_l.lib.sluice_run_report(self.handle))
        return None if text is None else json.loads(text)

    def log(self) -> None:
        """Gives what the run has said to the logger `sluice`."""
        level = ctypes.c_int32()
        while (line := _l.taken_text(_l.lib.sluice_run_next_line(self.handle, ctypes.byref(level)))) is not None:
            logger.log(_LEVELS.get(level.value, logging.DEBUG), "%s", line)

    def close_stream(self) -> None:
        """Nobody takes more of the stream. From any thread."""
        with self.lock:
            if self.handle:
                _l.lib.sluice_run_close_stream(self.handle)

    def free(self) -> None:
        with self.lock:
            handle, self.handle = self.handle, None
        if handle:
            _l.lib.sluice_run_free(handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.free()


def _after_fork() -> None:
    """Another thread of the parent may have held these, and is not here."""
    Engine._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
# Stages in Python can't be called once the interpreter ends.
atexit.register(_l.lib.sluice_end_all_runs)
