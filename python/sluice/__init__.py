# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Pipelines for nanopore and other long-read data.

    import sluice
    report = sluice.run("map", reference="ref.fa", reads="reads.fq", output="hits.paf")
    for batch in sluice.stream("map", reference="ref.fa", reads="reads.fq", stage="hits"):
        table = batch.to_pyarrow()
    help(sluice.pipelines.methylation)

docs/python.md tells more.
"""

from typing import Any

from . import _library, pipelines
from ._arrow import Batch, Column, Schema
from ._engine import Engine as _Engine
from ._errors import (
    BadReads,
    DeviceError,
    Error,
    InputError,
    Interrupted,
    OutOfMemory,
    OutputError,
    Problem,
    StageError,
    Unsupported,
    UsageError,
)
from ._merge import merge
from ._pipeline import Pipeline
from ._run import Progress, Report, check, run
from ._source import Closed, Source
from ._stage import Rows, Stage, stage
from ._stream import Stream, stream

__version__: str = _library.lib.sluice_version().decode()


def stages(plugin_dir: Any = None) -> "dict[str, dict[str, Any]]":
    """Every stage by its id, as `sluice inspect --json` tells it: what it needs and gives, its parameters, its reasons."""
    return {said["stage"]: said for said in _Engine.of(plugin_dir).describe()["stages"]}


__all__ = [
    "BadReads", "Batch", "Closed", "Column", "DeviceError", "Error", "InputError", "Interrupted", "OutOfMemory", "OutputError", "Pipeline", "Problem", "Progress", "Report",
    "Rows", "Schema", "Source", "Stage", "StageError", "Stream", "Unsupported", "UsageError", "check", "merge", "pipelines", "run", "stage", "stages", "stream",
]
