# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A pipeline of Read Until whose chunks come from this program, and whose decisions go to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Mapping

from .._engine import Engine
from .._errors import Error, Problem, UsageError
from .._pipeline import Pipeline
from .._source import Source
from .._stream import Stream

ACTIONS = ("proceed", "stop_receiving", "unblock")
DECISIONS = ("wait", "accept", "reject")
FLOW_CELL = "flow_cell"  # the stage whose place the sequencer takes

_CHUNK_COLUMNS = {
    "read_id": "utf8", "raw_signal": "list<i16>", "digitisation": "f64", "range": "f64", "offset": "f64", "sampling_rate": "f64", "channel": "i32",
    "chunk_index": "i32", "is_last_chunk": "u8",
}
_ANSWER_COLUMNS = ("read_id", "channel", "chunk_index", "decision", "decision_score", "decision_threshold", "action", "condition_name", "target_name",
                   "sdtw_is_reverse", "contig_start", "contig_end", "prefix_samples")


@dataclass(frozen=True)
class Calibration:
    """How samples of a channel become currents: (sample + offset) * range / digitisation, pA."""

    digitisation: float
    range: float
    offset: float


@dataclass(slots=True)
class Chunk:
    """Samples of a read that follow those of its last chunk. `channel` counts from 1, `index` of a read's first chunk is 0."""

    channel: int
    read_id: str
    index: int
    samples: Any  # numpy int16
    is_last: bool = False


@dataclass(slots=True)
class Decision:
    """What is to be done with a read, as far as it is known at one of its chunks. `failed`: why no stage could judge it, "" if one could."""

    channel: int
    read_id: str
    chunk_index: int
    action: str
    decision: str
    score: float
    threshold: float
    condition: str
    target: str  # the contig; "": nothing was aligned yet
    is_reverse: bool
    start: int
    end: int
    prefix_samples: int
    failed: str


def first_chunk(channel: int) -> Chunk:
    """A chunk of no read, too short to be judged: its answer says that the pipeline has loaded what it needs, which takes minutes of a large genome."""
    import numpy

    return Chunk(channel, "sluice", 0, numpy.arange(16, dtype=numpy.int16))


def _stages_of(pipeline: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Names and uses of a pipeline's stages, in its order."""
    named = os.fspath(pipeline)
    for said in Engine.of().describe()["pipelines"]:
        if named == said["name"]:
            return said["stages"]
    try:
        file = open(named, "rb")
    except OSError as error:
        raise _usage(f"there is no pipeline '{named}': {error.strerror}", "give read_until, or a pipeline's TOML file") from None
    with file:
        try:
            stages = _toml_reader().load(file).get("stages", {})
            return [{"name": name, "use": said.get("use", "")} for name, said in stages.items()]
        except (ValueError, AttributeError) as error:  # no TOML, no UTF-8, or values where tables are to be
            raise _usage(f"{named} is no pipeline: {error}", "give read_until, or a pipeline's TOML file") from None


def _toml_reader() -> Any:
    try:
        import tomllib as reader  # 3.11
    except ImportError:
        try:
            import tomli as reader  # type: ignore[no-redef]
        except ImportError:
            raise _usage("this Python reads no pipeline files", "use Python 3.11 or pip install tomli") from None
    return reader


def _decision(read_id: str, channel: int, index: int, decision: int, score: float, threshold: float, action: int, condition: str, target: str, reverse: int,
              start: int, end: int, prefix_samples: int) -> Decision:
    return Decision(channel + 1, read_id, index, ACTIONS[action], DECISIONS[decision], score, threshold, condition, target, bool(reverse), start, end,
                    prefix_samples, "")


def _decisions(table: Any) -> list[Decision]:
    cells = table.to_pydict()
    columns = [cells[name] for name in _ANSWER_COLUMNS]
    return [_failed(*row[:3], failed) if failed else _decision(*row) for row, failed in zip(zip(*columns), cells["failed"])]


def _failed(read_id: str, channel: int, index: int, failed: str) -> Decision:
    """Of a row that no stage behind the one that failed it has filled."""
    return Decision(channel + 1, read_id, index, "proceed", "wait", 0.0, 0.0, "", "", False, 0, 0, 0, failed)


def _usage(message: str, remedy: str) -> UsageError:
    return UsageError([Problem(2, False, "live", "", message, remedy, f"live: {message} ({remedy})")])


def live_pipeline(pipeline: str | os.PathLike[str], source: Source) -> tuple[Any, str]:
    """The pipeline with `source` in the place of its flow cell and of all stages before that, and the name of its stage of actions."""
    stages = _stages_of(pipeline)
    cells = [i for i, stage in enumerate(stages) if stage["use"] == FLOW_CELL]
    actions = [stage["name"] for stage in stages if stage["use"] == "read_until_action_stream"]
    if len(cells) != 1 or len(actions) != 1 or cells[0] + 1 == len(stages):
        raise _usage(f"pipeline '{pipeline}' has no flow cell whose place the sequencer can take, or no stage read_until_action_stream",
                     "give read_until, or a file with extends = \"read_until\" that repeats its stages")
    return _LivePipeline(pipeline, source, stages, cells[0]), actions[0]


class _LivePipeline(Pipeline):
    """A file on top of the pipeline."""

    def __init__(self, pipeline: str | os.PathLike[str], source: Source, stages: list[dict[str, str]], cells: int):
        super().__init__("live", extends=os.fspath(pipeline))
        self._removed = [stage["name"] for stage in stages[: cells + 1]]
        self._next = stages[cells + 1]["name"]
        self.stage("live", use=source, inputs=[])

    def _text(self, name_of: Any) -> str:
        changes = [f"[stages.{name}]\nremove = true" for name in self._removed]
        changes.append(f'[stages.{self._next}]\ninputs = ["live"]')
        changes.append("[resources.signal_file]\nenabled = false")
        return super()._text(name_of).replace("inputs = []\n", "") + "\n" + "\n\n".join(changes) + "\n"


class Decider:
    """Runs the pipeline. push() from one thread, iterate over the decisions from another; close() ends both.

    Arguments are the pipeline's parameters and the run's options, as in sluice.run(); those of stages that the sequencer stands for can't be given.
    """

    def __init__(self, pipeline: str | os.PathLike[str] = "read_until", *, sampling_rate: float, depth: int = 1024, **arguments: Any):
        self.sampling_rate = float(sampling_rate)
        gives = dict(_CHUNK_COLUMNS)
        self._source = Source("live_chunks", gives=gives, row_type="read", depth=depth, doc="chunks of live reads")
        made, actions = live_pipeline(pipeline, self._source)
        arguments.setdefault("pore", "auto")
        if arguments["pore"] == "auto":
            raise _usage("the pore is not known: there is no signal file that says so", "give pore: r9, r10 or rna004")
        self._stream: Stream = made.stream(stage=actions, columns=list(_ANSWER_COLUMNS), failed_rows="keep", depth=depth, **arguments)
        self._stream._start()  # chunks are taken from here on, whether or not somebody looks at the decisions yet

    def push(self, chunks: Iterable[Chunk], calibration: Mapping[int, Calibration], *, deadline: float | None = None, timeout: float | None = None) -> int:
        """Chunks of different channels, in one batch. Returns how many there were. TimeoutError: the pipeline is behind; Closed: it has ended."""
        import numpy
        import pyarrow

        rows = list(chunks)
        if not rows:
            return 0
        offsets = numpy.zeros(len(rows) + 1, numpy.int64)
        numpy.cumsum([len(row.samples) for row in rows], out=offsets[1:])
        samples = numpy.concatenate([row.samples for row in rows]) if offsets[-1] else numpy.empty(0, numpy.int16)
        calibrated = [calibration[row.channel] for row in rows]
        columns = {
            "read_id": pyarrow.array([row.read_id for row in rows], pyarrow.large_string()),
            "raw_signal": pyarrow.LargeListArray.from_arrays(offsets, samples.astype(numpy.int16, copy=False)),
            "digitisation": numpy.array([c.digitisation for c in calibrated], numpy.float64),
            "range": numpy.array([c.range for c in calibrated], numpy.float64),
            "offset": numpy.array([c.offset for c in calibrated], numpy.float64),
            "sampling_rate": numpy.full(len(rows), self.sampling_rate),
            "channel": numpy.array([row.channel - 1 for row in rows], numpy.int32),
            "chunk_index": numpy.array([row.index for row in rows], numpy.int32),
            "is_last_chunk": numpy.array([row.is_last for row in rows], numpy.uint8),
        }
        self._source.push({name: values if isinstance(values, pyarrow.Array) else pyarrow.array(values) for name, values in columns.items()},
                          deadline=deadline, timeout=timeout)
        return len(rows)

    def end(self) -> None:
        """No more chunks come: the decisions about those that were pushed still do."""
        self._source.end()

    @property
    def waiting(self) -> int:
        """Batches of chunks that the pipeline has not begun."""
        return self._source.waiting

    def batches(self) -> Iterator[list[Decision]]:
        """The decisions about the chunks of one push() after the other, in their order. Raises what the run failed of."""
        import pyarrow

        for batch in self._stream:
            yield _decisions(pyarrow.record_batch(batch))

    def answers(self) -> Iterator[tuple[int, list[Decision]]]:
        """As batches(): how many chunks a push() had, and the decisions about those with which something is to be done, or that failed."""
        import numpy
        import pyarrow

        for batch in self._stream:
            table = pyarrow.record_batch(batch)
            rows = numpy.flatnonzero((batch.numpy("action") != 0) | table.column("failed").is_valid().to_numpy(zero_copy_only=False))
            yield len(batch), _decisions(table.take(pyarrow.array(rows))) if len(rows) else []

    @property
    def report(self) -> Any:
        """Of the run, behind its end."""
        return self._stream.report

    def log(self) -> None:
        """Gives what the run has said to the logger `sluice`."""
        if self._stream._handle is not None:
            self._stream._handle.log()

    def close(self) -> None:
        """Ends the run now."""
        self._source.end()
        self._stream.close()

    def __enter__(self) -> "Decider":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


__all__ = ["Calibration", "Chunk", "Decider", "Decision", "Error"]
