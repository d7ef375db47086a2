# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What can go wrong: the place, the thing and the remedy, as `sluice run` says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

from . import _library as _l

if TYPE_CHECKING:
    from ._run import Report


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or a warning."""

    status: int
    is_warning: bool
    place: str  # "map.toml:14:9", "command line", or the stage's name
    stage: str  # "" if none
    message: str
    remedy: str  # "" if there is none
    text: str  # all of it on one line

    def __str__(self) -> str:
        return self.text


class Error(Exception):
    """A run that can't begin, or has failed. `problems` holds everything that was found; the attributes are those of the first.

    status: sluice_status of sluice/abi_values.h; place, stage, message, remedy: see Problem; report: of a run that had begun, else None.
    """

    def __init__(self, problems: Sequence[Problem], report: "Report | None" = None):
        self.problems = list(problems)
        self.report = report
        first = self.problems[0]
        self.status, self.place, self.stage, self.message, self.remedy = first.status, first.place, first.stage, first.message, first.remedy
        super().__init__("\n".join(problem.text for problem in self.problems))

    def __reduce__(self) -> Any:
        """As it was made: a process of a pool hands it on."""
        return type(self), (self.problems, self.report), vars(self)


class UsageError(Error):
    """A parameter, an option or the pipeline is wrong: nothing was run."""


class InputError(Error):
    """An input is missing, corrupt, or does not fit the others."""


class BadReads(InputError):
    """The run finished, but produced nothing, or more rows failed than max_bad_reads allows. The outputs are there."""


class OutputError(Error):
    """An output could not be written."""


class OutOfMemory(Error, MemoryError):
    """No memory, on the host or on a device."""


class DeviceError(Error):
    """A device failed, and nothing else could do its work."""


class Unsupported(Error):
    """Not offered by this build: a format, an implementation."""


class StageError(Error):
    """A stage failed: a bug there, or the exception of a stage in Python, which is then the __cause__."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: what was finished by then is in NAME.partial, or all of it in the outputs. `report` says how far the run came."""

    def __init__(self, report: "Report | None"):
        self.report = report
        super().__init__("interrupted")

    def __reduce__(self) -> Any:
        return type(self), (self.report,)


_BY_STATUS = {
    _l.ERROR_USAGE: UsageError,
    _l.ERROR_INPUT: InputError,
    _l.ERROR_OUTPUT: OutputError,
    _l.ERROR_MEMORY: OutOfMemory,
    _l.ERROR_INTERNAL: StageError,
    _l.ERROR_UNSUPPORTED: Unsupported,
    _l.ERROR_DEVICE_MEMORY: OutOfMemory,
    _l.ERROR_DEVICE_KERNEL: DeviceError,
    _l.ERROR_DEVICE_LOST: DeviceError,
}


def error_of(problems: Sequence[Problem], report: "Report | None" = None) -> Error:
    """The exception for the errors among the problems."""
    errors = [problem for problem in problems if not problem.is_warning]
    if report is not None and report.exit_code == 3:
        return BadReads(errors, report)
    return _BY_STATUS.get(errors[0].status, Error)(errors, report)
