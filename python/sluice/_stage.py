# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""@sluice.stage: map stages written in Python."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import json
import operator
import os
import pathlib
import threading
import traceback
import typing
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _library as _l
from ._arrow import Batch, Schema, take
from ._errors import Error, UsageError, Problem

_ARROW_TYPES = {"i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
                "f32": "float32", "f64": "float64", "utf8": "large_string", "binary": "large_binary"}
_DEFAULT_REASON = "exception"


def _arrow_type(kind: str) -> Any:
    import pyarrow

    if kind.startswith("list<"):
        return pyarrow.large_list(_arrow_type(kind[5:-1]))
    if kind not in _ARROW_TYPES:
        raise ValueError(f"{kind!r} is no type of a column: write {', '.join(_ARROW_TYPES)} or list<TYPE>")
    return getattr(pyarrow, _ARROW_TYPES[kind])()


_exceptions = itertools.count(1)


def _row_numbers(rows: Any, count: int) -> list[int]:
    """A number, numbers or a mask, as numbers."""
    if isinstance(rows, bool):
        raise TypeError("True and False are no rows: give a mask of all rows, or numbers")
    if not hasattr(rows, "__iter__"):
        return [operator.index(rows)]
    listed = rows.to_pylist() if hasattr(rows, "to_pylist") else list(rows)
    if not listed or type(listed[0]).__name__ not in ("bool", "bool_"):
        return [operator.index(row) for row in listed]
    if len(listed) != count:
        raise ValueError(f"a mask of {len(listed)} rows for a batch of {count}")
    return [row for row, is_bad in enumerate(listed) if is_bad]


def _refuse_overflow(name: str, values: Any, made: Any) -> None:
    """pyarrow makes inf of a number beyond f32; it refuses all else that does not fit."""
    import pyarrow
    import pyarrow.compute

    def infinite(array: Any) -> int:
        flat = array.flatten() if pyarrow.types.is_large_list(array.type) else array
        return pyarrow.compute.sum(pyarrow.compute.is_inf(flat)).as_py() or 0

    is_list = pyarrow.types.is_large_list(made.type)
    if (made.type.value_type if is_list else made.type) != pyarrow.float32() or not infinite(made):
        return
    wide = pyarrow.large_list(pyarrow.float64()) if is_list else pyarrow.float64()
    given = values.cast(wide) if isinstance(values, pyarrow.Array) else pyarrow.array(values, type=wide)
    if infinite(given) != infinite(made):
        raise ValueError(f"column '{name}' has numbers beyond f32")


class Rows(Batch):
    """What a stage's function gets: the needed columns of a batch's rows. batch["name"] is a pyarrow array, batch.numpy("name") a numpy view. Both stay
    valid as long as somebody has them.
    """

    __slots__ = ("_ok", "_output", "_reasons", "_open")

    @property
    def ok(self) -> Any:
        """Per row: False where it failed in a stage before; its cells hold nothing then."""
        import numpy

        return numpy.ones(len(self), bool) if self._ok is None else self._ok

    def fail(self, rows: int | Iterable[int], reason: str) -> None:
        """These rows are bad from here on, for one of the stage's reasons: later stages skip them, and the account names them. rows: a number, numbers,
        or a mask (a bool for each row of the batch).
        """
        if not self._open:
            raise ValueError("the call has ended")
        if reason not in self._reasons:
            raise ValueError(f"'{reason}' is no reason of this stage: declare it in reasons={{...}}")
        number = self._reasons.index(reason)
        for row in _row_numbers(rows, len(self)):
            if not 0 <= row < len(self) or not self._fail_row(row, number):
                raise IndexError(f"row {row} of {len(self)}")

    def _fail_row(self, row: int, reason: int) -> bool:
        return _l.lib.sluice_rows_fail(self._output, row, reason) == _l.OK

    def log(self, line: str, level: str = "info") -> None:
        """Says a line in the run's log; level: info, warning or error. ValueError behind the call that these rows are of."""
        if not self._open:
            raise ValueError("the call of these rows has ended")
        _l.lib.sluice_rows_log(self._output, {"info": _l.LOG_INFO, "warning": _l.LOG_WARNING, "error": _l.LOG_ERROR}[level], str(line).encode("utf-8", "replace"))


class Stage:
    """A stage written in Python: call it as the function that it is, or name it in Pipeline().stage(use=...)."""

    _lock = threading.Lock()
    _current: dict[str, "Stage"] = {}
    _ever: list["Stage"] = []  # the library may call each of them for as long as it lives

    def __init__(self, function: Callable[..., Any], description: Mapping[str, Any], on_error: str | None):
        self.function = function
        self.description = dict(description)
        self.id: str = description["stage"]
        self.on_error = on_error
        self.gives = {column["name"]: column["type"] for column in description["gives"]}
        self.optional = {column["name"] for column in description["gives"] if column.get("optional")}
        self.reasons = [reason["code"] for reason in description["reasons"]]
        self.last_exception: BaseException | None = None
        self.last_said, self.last_number = "", 0  # of it, as the library passes it on; how many exceptions of stages there were
        self._instances: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(1)
        self._functions: Any = None
        self.__doc__ = function.__doc__
        self.__name__ = self.id
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def reference(self) -> str:
        """What a pipeline file calls it: "FILE.py:FUNCTION". ValueError where no other process could find it there."""
        file, name = inspect.getsourcefile(self.function), self.function.__qualname__
        if not file or not file.endswith(".py") or not os.path.exists(file) or not name.isidentifier():
            raise ValueError(f"stage '{self.id}' is no function on the first level of a file, so `sluice run` can't find it")
        return f"{os.path.abspath(file)}:{name}"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __reduce__(self) -> Any:
        return self.function.__qualname__  # of its module: another process finds it there

    def __repr__(self) -> str:
        return f"<sluice.Stage '{self.id}'>"

    def register(self) -> None:
        """Makes the stage known to pipelines by its id; a Pipeline does so itself."""
        with Stage._lock:
            if Stage._current.get(self.id) is self:
                return
            functions = _l.StageFunctions()
            functions.struct_size = ctypes.sizeof(functions)
            functions.create = _l.CREATE(self._create)
            functions.process = _l.PROCESS(self._process)
            functions.destroy = _l.DESTROY(self._destroy)
            error = _l.SluiceError()
            if _l.lib.sluice_stage_register(json.dumps(self.description).encode(), ctypes.byref(functions), ctypes.byref(error)) != _l.OK:
                message, remedy = _l.text_of(error.message), _l.text_of(error.remedy)
                raise UsageError([Problem(error.code, False, self.id, self.id, message, remedy, f"stage '{self.id}': {message}")])
            self._functions = functions
            Stage._ever.append(self)
            Stage._current[self.id] = self

    # What the library calls. No exception leaves.

    def _create(self, _user: Any, parameters: bytes, instance: Any, error: Any) -> int:
        try:
            number = next(self._numbers)
            values = json.loads(parameters)
            for parameter in self.description["parameters"]:
                if parameter["type"] == "path" and parameter["name"] in values:
                    values[parameter["name"]] = pathlib.Path(values[parameter["name"]])
            self._instances[number] = values
            self.last_exception = None
            instance[0] = number
            return _l.OK
        except BaseException as exception:
            return self._fail(error, exception)

    def _destroy(self, _user: Any, instance: Any) -> None:
        self._instances.pop(instance, None)

    def _process(self, _user: Any, instance: Any, schema: Any, array: Any, status: Any, made_schema: Any, made_array: Any, output: Any, error: Any) -> int:
        rows = None
        try:
            rows = self._rows(schema.contents, array.contents, status, output)
            try:
                made = self._checked(self.function(rows, **self._instances[instance]), len(rows))
            except Exception as exception:
                if self.on_error != "fail_batch":
                    raise
                rows.log(f"stage '{self.id}': a batch of {len(rows)} rows failed: {''.join(traceback.format_exception(exception))}", "warning")
                rows.fail(range(len(rows)), _DEFAULT_REASON)
                made = {name: _nothing(_arrow_type(kind), len(rows)) for name, kind in self.gives.items()}
            _give(made, made_schema.contents, made_array.contents)
            return _l.OK
        except BaseException as exception:
            return self._fail(error, exception)
        finally:
            if rows is not None:
                rows._open = False

    def _rows(self, schema: Any, array: Any, status: Any, output: Any) -> Rows:
        own_schema, own_array = _l.ArrowSchema(), _l.ArrowArray()
        for own, theirs in ((own_schema, schema), (own_array, array)):
            ctypes.memmove(ctypes.addressof(own), ctypes.addressof(theirs), ctypes.sizeof(own))
            theirs.release = None
        rows = Rows(Schema(own_schema), own_array)
        rows._ok, rows._output, rows._reasons, rows._open = None, output, self.reasons, True
        if status:
            import numpy

            rows._ok = numpy.ctypeslib.as_array(status, (own_array.length,)) == 0
        return rows

    def _checked(self, columns: Any, rows: int) -> dict[str, Any]:
        """What the function returned, as Arrow arrays of the declared types."""
        if hasattr(columns, "column_names") and hasattr(columns, "column"):  # a RecordBatch
            columns = {name: columns.column(name) for name in columns.column_names}
        elif not isinstance(columns, Mapping):
            if len(self.gives) != 1:
                raise TypeError(f"the stage gives {len(self.gives)} columns: return a dict of them, not {type(columns).__name__}")
            columns = {next(iter(self.gives)): columns}
        for name in columns:
            if name not in self.gives:
                raise ValueError(f"column '{name}' is not declared in gives={{...}}")
        columns = {name: values for name, values in columns.items() if values is not None}
        for name in self.gives:
            if name not in columns and name not in self.optional:
                raise ValueError(f"column '{name}' was not returned")
        return {name: self._converted(name, values, rows) for name, values in columns.items()}

    def _converted(self, name: str, values: Any, rows: int) -> Any:
        import pyarrow

        kind = _arrow_type(self.gives[name])
        if isinstance(values, (str, bytes)):
            raise TypeError(f"column '{name}' is one {type(values).__name__}: give one for each row")
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        elif not isinstance(values, pyarrow.Array) and not hasattr(values, "__len__"):
            values = list(values)
        made = values if isinstance(values, pyarrow.Array) else pyarrow.array(values, type=kind)
        if made.type != kind:
            made = made.cast(kind)
        _refuse_overflow(name, values, made)
        if len(made) != rows:
            raise ValueError(f"column '{name}' has {len(made)} rows, the batch has {rows}")
        return made

    def _fail(self, error: Any, exception: BaseException) -> int:
        """The traceback's end: the library has room for a thousand characters."""
        self.last_exception = exception
        lines = "".join(traceback.format_exception_only(exception)).strip()
        where = traceback.extract_tb(exception.__traceback__)
        place = f"{where[-1].filename}:{where[-1].lineno}: " if where else ""
        error.contents.code = _l.ERROR_INTERNAL
        said = (place + lines).replace("\0", " ").encode("utf-8", "replace")[:1023]
        error.contents.message = said
        self.last_said, self.last_number = said.decode("utf-8", "ignore"), next(_exceptions)
        error.contents.remedy = b""
        return _l.ERROR_INTERNAL


def _give(columns: dict[str, Any], schema: Any, array: Any) -> None:
    import pyarrow

    schema_capsule, array_capsule = pyarrow.RecordBatch.from_arrays(list(columns.values()), names=list(columns)).__arrow_c_array__()
    take(schema_capsule, _l.ArrowSchema, schema)
    take(array_capsule, _l.ArrowArray, array)


def _nothing(kind: Any, rows: int) -> Any:
    """Cells of rows that have failed: zeros, empty texts and lists."""
    import pyarrow

    empty: Any = [] if pyarrow.types.is_large_list(kind) else "" if pyarrow.types.is_large_string(kind) else b"" if pyarrow.types.is_large_binary(kind) else 0
    return pyarrow.array([empty] * rows, type=kind)


def exception_of(error: Error) -> BaseException | None:
    """What a stage in Python raised, if that is what the error says."""
    for stage in sorted(Stage._ever, key=lambda one: one.last_number, reverse=True):
        if stage.last_exception is not None and error.message and stage.last_said[-200:] in str(error.message):
            return stage.last_exception
    return None


def stage_columns(of: Any, optional: Sequence[str]) -> list[dict[str, Any]]:
    columns = []
    for name, said in of.items():
        kind, meaning = said if isinstance(said, tuple) else (said, "")
        columns.append({"name": name, "type": kind, "meaning": meaning, "optional": name in optional})
    return columns


def _parameters(function: Callable[..., Any], helps: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Keyword arguments behind the batch: annotations say the type, defaults the default."""
    hints = typing.get_type_hints(function)
    parameters = []
    arguments = list(inspect.signature(function).parameters.values())
    if not arguments or arguments[0].kind == inspect.Parameter.KEYWORD_ONLY:
        raise TypeError("the function of a stage takes the rows of a batch first")
    for parameter in arguments[1:]:
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise TypeError(f"argument '{parameter.name}': the parameters of a stage are given by their names, so there is no *, ** or / behind the batch")
        kind = hints.get(parameter.name, str if parameter.default is parameter.empty else type(parameter.default))
        optional = typing.get_origin(kind) is typing.Union or "UnionType" in type(kind).__name__
        if optional:
            kind = next(one for one in typing.get_args(kind) if one is not type(None))
        entry: dict[str, Any] = {"name": parameter.name}
        if typing.get_origin(kind) is typing.Literal:
            if not all(isinstance(choice, str) for choice in typing.get_args(kind)):
                raise TypeError(f"parameter '{parameter.name}': the choices of {kind} must be str")
            entry.update(type="choice", choices=list(typing.get_args(kind)))
        else:
            names = {bool: "bool", int: "int", float: "float", str: "string", pathlib.Path: "path"}
            if kind not in names:
                raise TypeError(f"parameter '{parameter.name}': {kind} is none of bool, int, float, str, pathlib.Path, Literal")
            entry["type"] = names[kind]
        said = helps.get(parameter.name, "")
        entry.update({"help": said} if isinstance(said, str) else said)
        if parameter.default is parameter.empty:
            entry["required"] = True
        elif parameter.default is not None:
            value = parameter.default
            entry["default"] = ("true" if value else "false") if isinstance(value, bool) else os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        parameters.append(entry)
    return parameters


def stage(
    function: Callable[..., Any] | None = None,
    *,
    needs: Mapping[str, Any],
    gives: Mapping[str, Any],
    optional: Sequence[str] = (),
    id: str | None = None,
    row_type: str = "*",
    reasons: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    on_error: str | None = None,
) -> Any:
    """Makes a function over the columns of a batch a map stage, with a descriptor like that of any other.

    needs, gives: columns by name, as "type" or ("type", "meaning"); types: i8 ... u64, f32, f64, utf8, binary, list<T>. Those in `optional` need not
    be there, or be returned. The function gets Rows and returns a dict of arrays (pyarrow, numpy or lists; of a single column the array alone), one
    cell per row. Its further arguments are the stage's parameters: annotated with bool, int, float, str, pathlib.Path or Literal["a", "b"]; their
    defaults are the stage's; `options` holds their help (or {"help", "minimum", "maximum", "unit"}). `reasons`: why rows fail here, for Rows.fail().

    on_error: an exception ends the run ("fail_run": it is the error's __cause__), or fails the rows of its batch for the reason `exception`, which is
    logged with the traceback, and the run goes on ("fail_batch"). Left out: the first where this program hosts the engine, the second in worker
    processes (a pipeline file's use = "FILE.py:FUNCTION"). Calls come from other threads, one at a time.

    >>> @sluice.stage(needs={"bases": "utf8"}, gives={"gc": ("f32", "share of G and C")})
    ... def gc_share(batch):
    ...     return [(b.count("G") + b.count("C")) / max(len(b), 1) for b in batch["bases"].to_pylist()]
    """
    if on_error not in (None, "fail_run", "fail_batch"):
        raise ValueError(f"on_error is 'fail_run' or 'fail_batch', not {on_error!r}")

    def decorate(function: Callable[..., Any]) -> Stage:
        name = id or getattr(function, "__name__", None)
        if name is None or not hasattr(function, "__qualname__"):
            raise TypeError(f"a {type(function).__name__} is no function: write one that calls it")
        said = inspect.getdoc(function) or ""
        codes = dict(reasons or {})
        if on_error == "fail_batch":
            codes.setdefault(_DEFAULT_REASON, "the stage's function raised an exception")
        description = {
            "stage": name,
            "summary": said.split("\n", 1)[0] or "a stage in Python",
            "doc": said,
            "row_type": row_type,
            "needs": stage_columns(needs, optional),
            "gives": stage_columns(gives, optional),
            "parameters": _parameters(function, options or {}),
            "reasons": [{"code": code, "meaning": meaning} for code, meaning in codes.items()],
        }
        return Stage(function, description, on_error)

    return decorate if function is None else decorate(function)
