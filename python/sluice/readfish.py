# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice as a plugin of readfish (2024.3): decides by the signal, without a basecaller. In readfish's TOML:

    [caller_settings."sluice.readfish"]
    target = "/data/lambda.fa"        # and any other parameter of the pipeline read_until, as pore = "r10"

    [mapper_settings."sluice.readfish"]
    fn_idx_in = "/data/lambda.fa"     # for readfish stats only, which maps finished reads with mappy

Regions, control channels, chunks and actions stay readfish's. What sluice says of a read is an alignment (readfish's single_on or single_off, by `targets`)
where it is accepted, no_map where it is rejected, and no_seq while there is too little of it. docs/live.md tells more.
"""

from __future__ import annotations

import collections
import logging
import threading
from dataclasses import dataclass
from typing import Any, Iterable, Iterator

from readfish.plugins.abc import AlignerABC, CallerABC
from readfish.plugins.utils import Result

from ._errors import Problem, UsageError
from .live import Calibration, Chunk, Decider, Decision
from .live._decider import first_chunk
from .live._flow_cells import set_pore

logger = logging.getLogger("sluice.readfish")

_DIGITISATION = 8192.0  # readfish gives range / digitisation: any number will do
_LOADING_SECONDS = 3600.0  # that a large genome may take
_NO_SEQUENCE = "N"  # readfish tells reads that were judged from others by their having a sequence


@dataclass(frozen=True)
class Alignment:
    """What readfish's Targets look at."""

    ctg: str
    strand: int
    r_st: int
    r_en: int


def _problem(message: str, remedy: str) -> Problem:
    return Problem(2, False, "readfish", "", message, remedy, f"{message}: {remedy}")


@dataclass(slots=True)
class _Seen:
    read_id: str
    taken: int = 0  # samples
    chunks: int = 0
    last: Decision | None = None


class Caller(CallerABC):
    """`timeout`: seconds until a loop of readfish goes on without an answer; the rest are parameters of the pipeline and options of the run."""

    def __init__(self, run_information: Any = None, sample_rate: float | None = None, debug_log: Any = None, pipeline: str = "read_until", timeout: float = 5.0,
                 **arguments: Any):
        self._pipeline = pipeline
        self._timeout = timeout
        self._arguments = dict(arguments)
        self._sample_rate = sample_rate
        if self._arguments.get("pore", "auto") == "auto" and run_information is not None:
            flow_cell = run_information.flow_cell
            self._arguments.pop("pore", None)
            set_pore(self._arguments, flow_cell.user_specified_product_code or flow_cell.product_code)
        self._decider: Decider | None = None
        self._answers: collections.deque[list[Decision]] = collections.deque()
        self._came = threading.Condition()
        self._error: BaseException | None = None
        self._pushed = self._answered = 0
        self._seen: dict[int, _Seen] = {}
        self.validate()
        if sample_rate is not None:
            self._start(float(sample_rate))

    def validate(self) -> None:
        """UsageError where the target is not named."""
        if not self._arguments.get("target"):
            raise UsageError([_problem("the TOML names no target", "give caller_settings.\"sluice.readfish\" target = \"FILE.fa\"")])

    def _start(self, sample_rate: float) -> None:
        self._decider = Decider(self._pipeline, sampling_rate=sample_rate, **self._arguments)
        threading.Thread(target=self._listen, args=(self._decider,), daemon=True, name="sluice decisions").start()
        self._ask([first_chunk(1)], {1: Calibration(_DIGITISATION, _DIGITISATION, 0.0)}, _LOADING_SECONDS)

    def _listen(self, decider: Decider) -> None:
        try:
            for batch in decider.batches():
                with self._came:
                    self._answers.append(batch)
                    self._answered += 1
                    self._came.notify_all()
        except BaseException as error:
            with self._came:
                self._error = error
                self._came.notify_all()

    def basecall(self, chunks: list[tuple[int, Any]], signal_dtype: Any, daq_values: dict[int, Any]) -> Iterator[Result]:
        """Results for the reads of `chunks`, which hold all of the signal of each read so far."""
        import numpy

        if self._decider is None:
            self._start(float(self._sample_rate or 4000.0))
        new: list[Chunk] = []
        lengths: list[tuple[_Seen, int]] = []
        calibration: dict[int, Calibration] = {}
        for channel, read in chunks:
            samples = numpy.frombuffer(read.raw_data[: len(read.raw_data) // numpy.dtype(signal_dtype).itemsize * numpy.dtype(signal_dtype).itemsize], signal_dtype)
            seen = self._seen.get(channel)
            if seen is None or seen.read_id != read.id or len(samples) < seen.taken:
                seen = self._seen[channel] = _Seen(read.id)
            if len(samples) == seen.taken:
                continue
            new.append(Chunk(channel, read.id, seen.chunks, samples[seen.taken:].astype(numpy.int16, copy=False)))
            calibration[channel] = Calibration(_DIGITISATION, daq_values[channel].scaling * _DIGITISATION, daq_values[channel].offset)
            lengths.append((seen, len(samples)))
        if new and self._ask(new, calibration, self._timeout):
            for seen, length in lengths:
                seen.taken = length
                seen.chunks += 1
        for channel, read in chunks:
            yield _result(channel, read.id, self._seen[channel].last)

    def _ask(self, chunks: list[Chunk], calibration: dict[int, Calibration], timeout: float) -> bool:
        """Has the pipeline taken the chunks?"""
        assert self._decider is not None
        try:
            self._decider.push(chunks, calibration, deadline=timeout, timeout=timeout)
        except TimeoutError:
            logger.warning("the pipeline has taken nothing for %g s: reads are looked at again with their next chunk", timeout)
            return False
        self._pushed += 1
        with self._came:
            if not self._came.wait_for(lambda: self._error is not None or self._answered >= self._pushed, timeout):
                logger.warning("no answer in %g s: reads are looked at again with their next chunk", timeout)
            answers = list(self._answers)
            self._answers.clear()
        if self._error is not None:
            raise self._error
        for decision in (decision for batch in answers for decision in batch):
            seen = self._seen.get(decision.channel)
            if seen is not None and seen.read_id == decision.read_id:
                seen.last = decision
        return True

    def describe(self) -> str:
        said = ", ".join(f"{name} = {value}" for name, value in sorted(self._arguments.items()))
        return f"sluice decides by the signal with the pipeline {self._pipeline} ({said}). No basecalling is performed."

    def disconnect(self) -> None:
        if self._decider is not None:
            self._decider.close()


def _result(channel: int, read_id: str, decision: Decision | None) -> Result:
    if decision is None or decision.failed or decision.decision == "wait":
        return Result(channel=channel, read_id=read_id, seq="")
    result = Result(channel=channel, read_id=read_id, seq=_NO_SEQUENCE, alignment_data=[])
    if decision.decision == "accept":
        result.alignment_data = [Alignment(decision.target, -1 if decision.is_reverse else 1, decision.start, decision.end)]
    return result


class Aligner(AlignerABC):
    """Passes on what Caller has found. `readfish stats` maps finished reads, which have bases: with mappy, to the reference `fn_idx_in`."""

    def __init__(self, debug_log: Any = None, fn_idx_in: str | None = None, preset: str | None = None, n_threads: int = 1):
        self._of_bases: Any = None
        if preset is not None:  # readfish stats gives one, the experiment does not
            if not fn_idx_in:
                raise UsageError([_problem("readfish stats maps reads to a reference", "give mapper_settings.\"sluice.readfish\" fn_idx_in = \"FILE.fa\"")])
            from readfish.plugins.mappy import Aligner as Mappy

            self._of_bases = Mappy(fn_idx_in=fn_idx_in, preset=preset, n_threads=n_threads)

    @property
    def aligner(self) -> Any:
        """mappy's, for readfish stats."""
        return self._of_bases.aligner

    def validate(self) -> None:
        return None

    @property
    def initialised(self) -> bool:
        return True

    def describe(self, regions: Any, barcodes: Any) -> str:
        return "Places on the targets are those that sluice has found in the signal."

    def map_reads(self, basecall_results: Iterable[Result]) -> Iterable[Result]:
        return basecall_results if self._of_bases is None else self._of_bases.map_reads(basecall_results)

    def disconnect(self) -> None:
        return None
