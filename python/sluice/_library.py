# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""libsluice through ctypes: the structs and functions of sluice.h, and nothing else."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint16, c_uint32, c_void_p
from pathlib import Path

LIBRARY_NUMBER = 1

OK, END = 0, 1
ERROR_USAGE, ERROR_INPUT, ERROR_OUTPUT, ERROR_MEMORY, ERROR_CANCELLED, ERROR_INTERNAL, ERROR_UNSUPPORTED, ERROR_CLOSED_PIPE = range(2, 10)
ERROR_DEVICE_MEMORY, ERROR_DEVICE_KERNEL, ERROR_DEVICE_LOST = 20, 21, 22

LOG_INFO, LOG_WARNING, LOG_ERROR = 1, 2, 3


class ArrowSchema(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]


class ArrowDeviceArray(ctypes.Structure):
    _fields_ = [("array", ArrowArray), ("device_id", c_int64), ("device_type", c_int32), ("sync_event", c_void_p), ("reserved", c_int64 * 3)]


DEVICE_CPU = 1  # of Arrow and of DLPack


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class SluiceError(ctypes.Structure):
    _fields_ = [("code", c_int32), ("message", ctypes.c_char * 1024), ("remedy", ctypes.c_char * 512)]


class Setting(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class RunRequest(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("pipeline", c_char_p),
        ("pipeline_text", c_char_p),
        ("parameters", POINTER(Setting)),
        ("parameter_count", c_size_t),
        ("changes", POINTER(c_char_p)),
        ("change_count", c_size_t),
        ("options", POINTER(Setting)),
        ("option_count", c_size_t),
        ("stream_stage", c_char_p),
        ("stream_columns", c_char_p),
        ("stream_failed_rows", c_int32),
        ("stream_and_write", c_int32),
        ("stream_depth", c_uint32),
    ]


class MergeRequest(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("output", c_char_p),
        ("of", c_char_p),
        ("shards", POINTER(c_char_p)),
        ("shard_count", c_size_t),
        ("report", c_char_p),
        ("account", c_char_p),
        ("options", POINTER(Setting)),
        ("option_count", c_size_t),
        ("stop", POINTER(c_int32)),
    ]


class ProblemStruct(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("is_warning", c_int32),
        ("place", c_char_p),
        ("stage", c_char_p),
        ("message", c_char_p),
        ("remedy", c_char_p),
        ("text", c_char_p),
    ]


CREATE = ctypes.CFUNCTYPE(c_int32, c_void_p, c_char_p, POINTER(c_void_p), POINTER(SluiceError))
PROCESS = ctypes.CFUNCTYPE(
    c_int32, c_void_p, c_void_p, POINTER(ArrowSchema), POINTER(ArrowArray), POINTER(c_uint16), POINTER(ArrowSchema), POINTER(ArrowArray), c_void_p,
    POINTER(SluiceError),
)
DESTROY = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)


class StageFunctions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("user", c_void_p), ("create", CREATE), ("process", PROCESS), ("destroy", DESTROY)]


def _find() -> Path:
    named = os.environ.get("SLUICE_LIBRARY")
    here = Path(__file__).resolve().parent
    places = [Path(named)] if named else [here / "_native" / "libsluice.so"]
    for place in places:
        if place.exists():
            return place
    raise ImportError(f"sluice: there is no {places[0]}: install the wheel, or let SLUICE_LIBRARY name libsluice.so of a build")


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_find()))
    engine, run, text = c_void_p, c_void_p, c_void_p  # texts are ours to free, so not c_char_p
    signatures = {
        "sluice_library_number": (c_uint32, []),
        "sluice_version": (c_char_p, []),
        "sluice_text_free": (None, [text]),
        "sluice_engine_new": (engine, [POINTER(c_char_p), c_size_t, POINTER(SluiceError)]),
        "sluice_engine_free": (None, [engine]),
        "sluice_engine_describe": (text, [engine]),
        "sluice_run_new": (run, [engine, POINTER(RunRequest)]),
        "sluice_run_free": (None, [run]),
        "sluice_end_all_runs": (None, []),
        "sluice_run_status": (c_int32, [run]),
        "sluice_run_problem_count": (c_size_t, [run]),
        "sluice_run_problem": (c_int32, [run, c_size_t, POINTER(ProblemStruct)]),
        "sluice_run_execute": (c_int32, [run]),
        "sluice_run_start": (c_int32, [run]),
        "sluice_run_wait": (c_int32, [run, c_double]),
        "sluice_run_interrupt": (c_int32, [run]),
        "sluice_run_snapshot": (text, [run]),
        "sluice_run_next_line": (text, [run, POINTER(c_int32)]),
        "sluice_run_report": (text, [run]),
        "sluice_merge": (c_int32, [engine, POINTER(MergeRequest), POINTER(text), POINTER(SluiceError)]),
        "sluice_run_stream_schema": (c_int32, [run, POINTER(ArrowSchema)]),
        "sluice_run_next_batch": (c_int32, [run, c_double, POINTER(ArrowArray), POINTER(SluiceError)]),
        "sluice_run_close_stream": (None, [run]),
        "sluice_run_export_stream": (c_int32, [run, POINTER(ArrowArrayStream)]),
        "sluice_schema_share": (c_int32, [POINTER(ArrowSchema), POINTER(ArrowSchema)]),
        "sluice_batch_share": (c_int32, [POINTER(ArrowArray), POINTER(ArrowArray)]),
        "sluice_batch_release": (None, [POINTER(ArrowArray)]),
        "sluice_around_waits": (None, [c_void_p, c_void_p, c_void_p]),
        "sluice_arrow_new": (c_void_p, [c_size_t]),
        "sluice_capsule_reader": (None, [c_void_p]),
        "sluice_end_schema_capsule": (None, [c_void_p]),
        "sluice_end_array_capsule": (None, [c_void_p]),
        "sluice_end_device_array_capsule": (None, [c_void_p]),
        "sluice_end_stream_capsule": (None, [c_void_p]),
        "sluice_stage_register": (c_int32, [c_char_p, POINTER(StageFunctions), POINTER(SluiceError)]),
        "sluice_rows_fail": (c_int32, [c_void_p, c_int64, c_uint32]),
        "sluice_rows_deadline": (None, [c_void_p, c_double]),
        "sluice_rows_log": (None, [c_void_p, c_int32, c_char_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    if library.sluice_library_number() != LIBRARY_NUMBER:
        raise ImportError(f"sluice: {library._name} is of another version than this package: install both together")
    # A stream that waits holds no lock of the interpreter: a stage of the run may be written in Python.
    api = ctypes.pythonapi
    library.sluice_around_waits(*(ctypes.cast(f, c_void_p) for f in (api.PyGILState_Check, api.PyEval_SaveThread, api.PyEval_RestoreThread)))
    library.sluice_capsule_reader(ctypes.cast(api.PyCapsule_GetPointer, c_void_p))
    return library


lib = _load()


def taken_text(address: int | None) -> str | None:
    """The text at an address that the library has given to us, which is freed."""
    if not address:
        return None
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        lib.sluice_text_free(address)


def text_of(chars: bytes | None) -> str:
    return "" if chars is None else chars.decode("utf-8", "replace")
