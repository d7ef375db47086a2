# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Whether pyarrow, polars and duckdb read an Arrow or a Parquet file, and the same as the table as text.
#   arrow_readers.py TABLE.arrow|TABLE.parquet TABLE...   (pairs)
import csv
import math
import sys

import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

csv.field_size_limit(1 << 30)


def equal(value, text):
    if value is None:
        return text in ("", ".")
    if isinstance(value, list):
        return len(value) == len(text.split(",")) and all(map(equal, value, text.split(","))) if text else value == []
    if isinstance(value, float):
        number = float(text)
        return math.isnan(number) if math.isnan(value) else math.isclose(value, number, rel_tol=1e-6)
    return str(value) == text


def rows_of(path, names):
    with open(path, encoding="utf-8") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    has_names = bool(lines) and lines[0][: len(names)] == names
    for cells in lines[1:] if has_names else lines:
        tags = {cell[:2]: cell[5:] for cell in cells[len(cells) if has_names else 12:] if cell[2:3] == ":"}
        yield [tags.get(name, "") if len(name) == 2 and not has_names else cells[i] for i, name in enumerate(names)]


def bounds_hold(path, whole):
    """Whether row groups hold the rows that their bounds say: readers skip those that cannot have what is asked for."""
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    first = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        rows = whole.slice(first, group.num_rows)
        first += group.num_rows
        for column in map(group.column, range(group.num_columns)):
            values = rows.column(column.path_in_schema.split(".")[0])
            if pyarrow.types.is_list(values.type):
                values = pyarrow.chunked_array([chunk.flatten() for chunk in values.chunks], values.type.value_type)
            known = column.statistics
            if known is None or known.has_min_max and [known.min, known.max] != list(pyarrow.compute.min_max(values).as_py().values()):
                return False
    return first == len(whole)


for arrow, text in zip(sys.argv[1::2], sys.argv[2::2]):
    is_parquet = arrow.endswith(".parquet")
    if is_parquet:
        whole = pyarrow.parquet.read_table(arrow, page_checksum_verification=True)
        if not bounds_hold(arrow, whole):
            sys.exit(f"{arrow}: other bounds of row groups")
    else:
        with pyarrow.ipc.open_file(arrow) as file:
            whole = file.read_all()
    whole.validate(full=True)
    rows = 0
    columns = [whole.column(name).to_pylist() for name in whole.column_names]
    for rows, (values, cells) in enumerate(zip(zip(*columns), rows_of(text, whole.column_names), strict=True), 1):
        for name, value, cell in zip(whole.column_names, values, cells):
            if not equal(value, cell):
                sys.exit(f"{arrow}: row {rows}, {name}: {value} in place of {cell}")
    frame = polars.read_parquet(arrow) if is_parquet else polars.read_ipc(arrow)
    if frame.height != rows or frame.columns != whole.column_names:
        sys.exit(f"{arrow}: polars reads {frame.height} rows")
    back = frame.to_arrow()
    for name in whole.column_names:
        ours, theirs = whole.column(name).to_pylist(), back.column(name).to_pylist()
        if repr(ours) != repr(theirs):
            sys.exit(f"{arrow}: polars reads another {name}")
    counts = ", ".join(f'count("{name}")' for name in whole.column_names)
    source = f"'{arrow}'" if is_parquet else "whole"
    found = duckdb.sql(f"select count(*), {counts} from {source}").fetchall()[0]
    if list(found) != [rows] + [rows - whole.column(name).null_count for name in whole.column_names]:
        sys.exit(f"{arrow}: duckdb counts {found}")
    print(f"{arrow}: {rows} rows, read alike by pyarrow {pyarrow.__version__}, polars {polars.__version__} and duckdb {duckdb.__version__}")
