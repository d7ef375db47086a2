# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Batches and schemas of the Arrow C Data Interface as Python objects with the PyCapsule interface."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_void_p, py_object, sizeof
from typing import Any

from . import _library as _l

_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_pointer = _api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [py_object, c_char_p]
_RELEASE = ctypes.CFUNCTYPE(None, c_void_p)


def release(struct: Any) -> None:
    """Releases an Arrow struct unless somebody has."""
    if struct.release:
        _RELEASE(struct.release)(ctypes.addressof(struct))


# The names of their capsules, and how these end.
_KINDS = {
    _l.ArrowSchema: (b"arrow_schema", ctypes.cast(_l.lib.sluice_end_schema_capsule, c_void_p)),
    _l.ArrowArray: (b"arrow_array", ctypes.cast(_l.lib.sluice_end_array_capsule, c_void_p)),
    _l.ArrowDeviceArray: (b"arrow_device_array", ctypes.cast(_l.lib.sluice_end_device_array_capsule, c_void_p)),
    _l.ArrowArrayStream: (b"arrow_array_stream", ctypes.cast(_l.lib.sluice_end_stream_capsule, c_void_p)),
}


def new_capsule(kind: Any) -> tuple[Any, Any]:
    """An empty struct, and the capsule that owns it."""
    address = _l.lib.sluice_arrow_new(sizeof(kind))
    if not address:
        raise MemoryError
    name, end = _KINDS[kind]
    return kind.from_address(address), _new(address, name, end)


def take(of: Any, kind: Any, into: Any) -> None:
    """Moves the struct in a capsule to another place."""
    address = _pointer(of, _KINDS[kind][0])
    ctypes.memmove(ctypes.addressof(into), address, sizeof(kind))
    kind.from_address(address).release = None


# Of Arrow's formats those that columns of sluice have, and numpy's names for them.
_NUMPY = {b"c": "i1", b"C": "u1", b"s": "i2", b"S": "u2", b"i": "i4", b"I": "u4", b"l": "i8", b"L": "u8", b"f": "f4", b"g": "f8"}
_TYPES = {b"c": "i8", b"C": "u8", b"s": "i16", b"S": "u16", b"i": "i32", b"I": "u32", b"l": "i64", b"L": "u64", b"f": "f32", b"g": "f64", b"U": "utf8",
          b"Z": "binary"}


def column_type(schema: Any) -> str:
    """As in descriptors: "f32", "list<i16>"."""
    if schema.format == b"+L":
        return f"list<{column_type(schema.children[0].contents)}>"
    return _TYPES[schema.format]


class Schema:
    """The columns of a stream, in order: names and types as in descriptors; iterable, and an Arrow schema for other libraries."""

    def __init__(self, struct: Any):
        self._struct = struct
        fields = [struct.children[i].contents for i in range(struct.n_children)]
        self.names = [_l.text_of(field.name) for field in fields]
        self.types = [column_type(field) for field in fields]

    def __iter__(self) -> Any:
        return iter(zip(self.names, self.types))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return "<sluice.Schema: " + ", ".join(f"{name}: {kind}" for name, kind in self) + ">"

    def __arrow_c_schema__(self) -> Any:
        copy, capsule = new_capsule(_l.ArrowSchema)
        _l.lib.sluice_schema_share(byref(self._struct), byref(copy))
        return capsule

    def __copy__(self) -> "Schema":
        return self  # nobody changes it

    def __deepcopy__(self, _memo: Any) -> "Schema":
        return self

    def __reduce__(self) -> Any:
        import pyarrow

        return _schema_of, (pyarrow.schema(self),)

    def __del__(self) -> None:
        if getattr(self, "_struct", None) is not None:
            release(self._struct)


def _schema_of(arrow: Any) -> Schema:
    struct = _l.ArrowSchema()
    take(arrow.__arrow_c_schema__(), _l.ArrowSchema, struct)
    return Schema(struct)


class Column:
    """Numbers of a batch for libraries that take DLPack tensors (`torch.from_dlpack(batch.column("hit_score").values)`), over the batch's memory.

    A column with one number a row is a tensor itself; of lists `offsets` (rows + 1) and `values` are. Nobody may write into one: batches are shared with
    the engine. Libraries that ask for DLPack 1.0 or later are told so.
    """

    __slots__ = ("name", "type", "_parts")

    def __init__(self, name: str, kind: str, parts: Any):
        self.name, self.type, self._parts = name, kind, parts

    @property
    def offsets(self) -> "Column":
        """Of lists: where each row begins in `values`, and where the last one ends."""
        if not isinstance(self._parts, tuple):
            raise TypeError(f"column '{self.name}' is {self.type}: it is a tensor itself")
        return Column(self.name, "i64", self._parts[0])

    @property
    def values(self) -> "Column":
        """Of lists: the numbers of all rows, one row behind the other."""
        return Column(self.name, self.type[5:-1], self._parts[1]) if isinstance(self._parts, tuple) else self

    def __len__(self) -> int:
        return len(self._parts[0]) - 1 if isinstance(self._parts, tuple) else len(self._parts)

    def numpy(self) -> Any:
        """As Batch.numpy()."""
        return self._parts

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.array(self._tensor(), dtype=dtype) if copy else numpy.asarray(self._tensor(), dtype=dtype)

    def _tensor(self) -> Any:
        if isinstance(self._parts, tuple):
            raise TypeError(f"column '{self.name}' is {self.type}: its `values` and `offsets` are tensors")
        return self._parts

    def __dlpack_device__(self) -> tuple[int, int]:
        return _l.DEVICE_CPU, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        import numpy

        values = self._tensor()
        if stream is not None or (dl_device is not None and tuple(dl_device) != (_l.DEVICE_CPU, 0)):
            raise BufferError(f"column '{self.name}' is on the host")
        if copy:
            values = values.copy()
        if max_version is not None and max_version[0] >= 1:
            try:
                return values.__dlpack__(max_version=max_version)
            except TypeError:  # a numpy that does not know versions
                pass
        # The form before 1.0 has no way to say that nobody may write.
        if not values.flags.writeable and values.size:
            memory = (ctypes.c_char * values.nbytes).from_address(values.ctypes.data)
            memory._keeps = values
            values = numpy.frombuffer(memory, values.dtype)
        return values.__dlpack__()

    def __repr__(self) -> str:
        return f"<sluice.Column '{self.name}': {self.type}, {len(self)} rows>"


class Batch:
    """Rows, as columns in memory that is the run's own. An Arrow array for pyarrow, polars and duckdb (`pyarrow.record_batch(batch)`), without a copy;
    numbers as numpy arrays by numpy().
    """

    __slots__ = ("schema", "_array", "_arrow")

    def __init__(self, schema: Schema, array: Any):
        self.schema = schema
        self._array = array
        self._arrow = None

    def __len__(self) -> int:
        return self._array.length

    @property
    def num_rows(self) -> int:
        return self._array.length

    @property
    def column_names(self) -> list[str]:
        return self.schema.names

    def _share(self, into: Any) -> None:
        if self._arrow is not None:
            take(self._arrow.__arrow_c_array__()[1], _l.ArrowArray, into)
        elif _l.lib.sluice_batch_share(byref(self._array), byref(into)) != _l.OK:
            raise ValueError("this batch can't be given again")

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        shared, capsule = new_capsule(_l.ArrowArray)
        self._share(shared)
        return self.schema.__arrow_c_schema__(), capsule

    def __arrow_c_device_array__(self, requested_schema: Any = None, **_: Any) -> tuple[Any, Any]:
        """On the host, as all batches are when they leave a run."""
        shared, capsule = new_capsule(_l.ArrowDeviceArray)
        self._share(shared.array)
        shared.device_id, shared.device_type = -1, _l.DEVICE_CPU
        return self.schema.__arrow_c_schema__(), capsule

    def column(self, name: str) -> Column:
        """Numbers as a DLPack tensor."""
        return Column(name, self.schema.types[self.schema.names.index(name)], self.numpy(name))

    def to_pyarrow(self) -> Any:
        """A pyarrow.RecordBatch over the same memory."""
        if self._arrow is None:
            import pyarrow

            self._arrow = pyarrow.record_batch(self)
        return self._arrow

    def __getitem__(self, column: str) -> Any:
        """A column as a pyarrow.Array."""
        return self.to_pyarrow().column(column)

    def numpy(self, column: str) -> Any:
        """Numbers as a read-only numpy array over the same memory; of lists a pair: rows + 1 offsets, and the values."""
        import numpy

        index = self.schema.names.index(column)
        array, field = self._array.children[index].contents, self.schema._struct.children[index].contents

        def view(of: Any, buffer: int, dtype: str, count: int) -> Any:
            bytes_each = int(dtype[1])
            if count == 0:
                return numpy.empty(0, dtype)
            memory = (ctypes.c_char * (count * bytes_each)).from_address(of.buffers[buffer] + of.offset * bytes_each)
            memory._keeps = self
            values = numpy.frombuffer(memory, dtype)
            values.flags.writeable = False
            return values

        if field.format == b"+L":
            offsets = view(array, 1, "i8", array.length + 1)
            child, item = array.children[0].contents, field.children[0].contents
            return offsets, view(child, 1, _NUMPY[item.format], child.length)
        if field.format not in _NUMPY:
            raise TypeError(f"column '{column}' is {column_type(field)}: use batch['{column}']")
        return view(array, 1, _NUMPY[field.format], array.length)

    def __copy__(self) -> "Batch":
        return self  # nobody changes it

    def __deepcopy__(self, _memo: Any) -> "Batch":
        return self

    def __reduce__(self) -> Any:
        """Its rows, by pyarrow: another process has no part in the run's memory."""
        return _batch_of, (self.to_pyarrow(),)

    def __repr__(self) -> str:
        return f"<sluice.Batch: {len(self)} rows of {', '.join(self.column_names)}>"

    def __del__(self, release: Any = _l.lib.sluice_batch_release) -> None:
        try:
            array = self._array
        except AttributeError:  # it was never made
            return
        if array is not None:
            release(array)


def _batch_of(arrow: Any) -> Batch:
    schema, array = _l.ArrowSchema(), _l.ArrowArray()
    for capsule, struct in zip(arrow.__arrow_c_array__(), (schema, array)):
        take(capsule, type(struct), struct)
    batch = Batch(Schema(schema), array)
    batch._arrow = arrow
    return batch
