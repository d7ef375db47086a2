# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""sluice.run: a pipeline from its first row to its last."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Mapping

from . import _library as _l
from ._engine import RUN_OPTIONS, RunHandle
from ._errors import Error, Interrupted, Problem, error_of
from ._report_html import report_html


class Report:
    """What became of a run. `data` is the report of docs/report.md as it is written by `--report`; its keys are attributes, too.

    >>> report.state, report.outputs, report["time"]["elapsed_seconds"]
    """

    def __init__(self, data: dict[str, Any]):
        self.data = data

    def __getattr__(self, key: str) -> Any:
        try:
            return self.__dict__["data"][key]  # which is not there yet while a copy is made
        except KeyError:
            raise AttributeError(key) from None

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def exit_code(self) -> int:
        """What `sluice run` would return."""
        return self.data["exit_code"]

    @property
    def outputs(self) -> list[str]:
        """The files that were written."""
        return self.data["outputs"]

    @property
    def seconds(self) -> float:
        return self.data["time"]["elapsed_seconds"]

    def stage(self, name: str) -> dict[str, Any]:
        """What one stage did: rows, seconds, failures by reason."""
        for stage in self.data["stages"]:
            if stage["name"] == name:
                return stage
        raise KeyError(name)

    def to_json(self) -> str:
        return json.dumps(self.data, indent=2)

    def _repr_html_(self) -> str:
        """In notebooks: what became of the rows, and what was found."""
        return report_html(self.data)

    def __repr__(self) -> str:
        return f"<sluice.Report: {self.data['pipeline']['name']} {self.data['state']} in {self.seconds:.2f} s, {len(self.outputs)} outputs>"


class Progress(SimpleNamespace):
    """How far a run is: pipeline, seconds, progress (0 to 1, None: unknown), memory_bytes, batches_in_flight, stages (name, rows_in, rows_out, ...)."""


def split_options(arguments: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the pipeline and options of the run: no name is both."""
    options = {name: value for name, value in arguments.items() if name in RUN_OPTIONS}
    given = {name: value for name, value in arguments.items() if name not in RUN_OPTIONS}
    given.update(parameters or {})
    return given, options


def check(pipeline: Any, *, parameters: Mapping[str, Any] | None = None, set: Iterable[str] = (), plugin_dir: Any = None, **arguments: Any) -> list[Problem]:
    """Everything that is wrong with a run, and warnings, without running it."""
    given, options = split_options(arguments, parameters)
    run = RunHandle(pipeline, given, options=options, changes=set, plugin_dir=plugin_dir)
    try:
        return run.problems()
    finally:
        run.free()


def run(
    pipeline: Any,
    *,
    progress: Callable[[Progress], Any] | None = None,
    progress_interval: float = 0.5,
    parameters: Mapping[str, Any] | None = None,
    set: Iterable[str] = (),
    plugin_dir: Any = None,
    **arguments: Any,
) -> Report:
    """Runs a pipeline (a shipped one's name, a file, or a Pipeline) to its end and returns its report.

    Further arguments are the pipeline's parameters (lists where one may be repeated) and the options of `sluice run` by the same names: device,
    threads, memory, gpu_memory, batch_work, policy, profile, watchdog, log_level, max_bad_reads, allow_empty, resume, checkpoint, shard, report,
    account, trace. resume=True goes on where a run with the same arguments was killed, failed or was interrupted; shard="1/3" runs the first of three
    parts of the input, see sluice.merge(). `set` changes entries of the file ("stages.NAME.params.PARAMETER=VALUE"); `parameters` holds parameters whose names are no Python names.

    `progress` is called on this thread with a Progress, twice a second or every `progress_interval`, and once at the end. What the run says goes to
    the logger "sluice". Ctrl-C finishes what is under way, keeps it in NAME.partial, and raises Interrupted; a second one stops at once.
    Raises Error, of the subclass for what went wrong.

    >>> sluice.run("map", reference="ref.fa", reads=["a.fq", "b.fq"], output="hits.paf", threads=4)
    """
    given, options = split_options(arguments, parameters)
    handle = RunHandle(pipeline, given, options=options, changes=set, plugin_dir=plugin_dir)
    try:
        return finished_report(handle, progress, progress_interval)
    finally:
        handle.free()


def finished_report(handle: RunHandle, progress: Callable[[Progress], Any] | None, interval: float) -> Report:
    if handle.status() != _l.OK:
        raise error_of(handle.problems())
    started = interrupted = over = False
    next_call = time.monotonic() + interval
    while True:
        try:
            # Ctrl-C may come between the start and its being noted: a second start is refused.
            if not started:
                handle.start()
                started = True
            ended = handle.wait(min(0.1, interval) if progress else 0.1)
            handle.log()
            if progress and (ended or time.monotonic() >= next_call):
                next_call = time.monotonic() + interval
                progress(Progress(**handle.snapshot()))
            if ended:
                break
        except KeyboardInterrupt:
            interrupted = True
            over = not handle.interrupt()
        except BaseException:  # of the callback: nobody wants the rest
            handle.interrupt()
            handle.interrupt()
            raise
    report = Report(handle.report() or {})
    # Of a run that follows files the first one is the end of the input.
    if interrupted and (over or handle.status() == _l.END or report.data.get("state") != "finished"):
        raise Interrupted(report)
    raise_if_failed(handle, report)
    return report


def raise_if_failed(handle: RunHandle, report: Report | None) -> None:
    """What a stage in Python has raised is the error's cause."""
    if handle.status() in (_l.OK, _l.END):
        return
    error: Error = error_of(handle.problems(), report)
    from ._stage import exception_of

    raise error from exception_of(error)
