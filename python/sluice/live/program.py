# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The command `sluice live`."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from ._flow_cells import most_samples_of, set_pore

EPILOGUE = """
Every other option is a parameter of the pipeline (--target FILE, --regions FILE, --control-channels 1-256: sluice run read_until --help) or of the
run (--threads N, --device cuda). The pore is read from the flow cell's product code, and --preset is the one of that pore; --pore r9, r10 or rna004 goes
before it. docs/live.md tells more.
"""


_TYPES = {"text": str, "int": int, "seconds": float}

# What the program itself gives to the run: no options of the pipeline.
_RESERVED = ("columns", "depth", "failed_rows", "parameters", "sampling_rate", "self", "stage", "write")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="sluice live", description="Read Until on a sequencer: decides about the live reads of a position of MinKNOW.", epilog=EPILOGUE,
                                formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    for option in json.loads((Path(__file__).parent / "options.json").read_text(encoding="utf-8")):
        name, shown = "--" + option["name"], option.get("without", option.get("default"))
        if option["type"] == "flag":
            p.add_argument(name, action="store_true", help=option["help"])
        else:
            p.add_argument(name, type=_TYPES[option["type"]], metavar=option["value"], default=option.get("default"), required=option.get("required", False),
                           help=option["help"] + ("" if shown is None else f" (default: {shown})"))
    return p


def pipeline_arguments(words: list[str]) -> dict[str, Any]:
    """`--name value`, `--name=value`, and `--name` alone for switches. ValueError for what is none of them."""
    values: dict[str, Any] = {}
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("--") or len(word) == 2:
            raise ValueError(f"'{word}' is no option")
        name, equals, value = word[2:].partition("=")
        at += 1
        if not equals:
            alone = at == len(words) or (words[at].startswith("--") and len(words[at]) > 2)
            value = "true" if alone else words[at]
            at += 0 if alone else 1
        name = name.replace("-", "_")
        if name in _RESERVED:
            raise ValueError(f"'{word}' can't be given: sluice live sets it")
        values[name] = value if name not in values else [*([values[name]] if isinstance(values[name], str) else values[name]), value]
    if isinstance(values.get("set"), str):
        values["set"] = [values["set"]]
    return values


def main(words: list[str] | None = None) -> int:
    """The exit code: 0 the sequencer's run has ended, 2 wrong options, 130 interrupted before the session began, 1 anything else."""
    p = parser()
    options, rest = p.parse_known_args(words)
    logging.basicConfig(level=logging.WARNING if options.quiet else logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        given = pipeline_arguments(rest)
        check_channels(options)
    except ValueError as error:
        p.error(str(error))
    try:
        import minknow_api  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        print(f"sluice live: {error}: install what it needs with pip install minknow-api pyarrow numpy", file=sys.stderr)
        return 2
    try:
        return _run(options, given)
    except KeyboardInterrupt:
        print("sluice live: interrupted", file=sys.stderr)
        return 130


def check_channels(options: argparse.Namespace, count: int | None = None) -> None:
    """ValueError for a range that is none, or not the flow cell's."""
    first, last = options.first_channel, options.last_channel
    if first < 1 or (last is not None and last < first):
        raise ValueError(f"channels {first} to {'the last' if last is None else last} are none: --first-channel counts from 1, --last-channel comes behind it")
    if count is not None and max(first, last or 0) > count:
        raise ValueError(f"there is no channel {max(first, last or 0)}: the flow cell has {count}")


def stop_on_signals(session: Any) -> None:
    """On a thread of its own: what a handler interrupts may hold the session's lock."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=session.stop, daemon=True, name="stop").start())


def _run(options: argparse.Namespace, given: dict[str, Any]) -> int:
    from .._errors import Error, UsageError
    from ._decider import Decider
    from ._log import DecisionLog
    from ._report import LiveReport, check_writable
    from ._sequencer import Sequencer
    from ._session import Session, Settings

    def connect() -> Sequencer:
        return Sequencer(options.host, options.port, options.position)

    def complain(error: object, code: int) -> int:
        print(f"sluice live: {error}", file=sys.stderr)
        return code

    try:
        if options.report:
            check_writable(options.report)
    except OSError as error:
        return complain(error, 1)
    sys.setswitchinterval(0.001)  # threads that read chunks and send answers wait for each other no longer than this
    try:
        sequencer = connect()
    except Exception as error:  # grpc, minknow_api and sockets all have their own
        return complain(f"MinKNOW at {options.host}: {error}", 1)
    logging.getLogger("sluice.live").info("position %s: flow cell %s, %d channels at %g Hz", options.position, sequencer.flow_cell or "of unknown type",
                                          sequencer.channels, sequencer.sampling_rate)
    set_pore(given, sequencer.flow_cell)
    log = None
    try:
        check_channels(options, sequencer.channels)
        log = DecisionLog(options.log)
        decider = Decider(options.pipeline, sampling_rate=sequencer.sampling_rate, **given)
    except (Error, OSError, ValueError) as error:
        sequencer.close()
        if log is not None:
            log.close()
        return complain(error, 2 if isinstance(error, (UsageError, ValueError)) else 1)
    session = Session(connect, decider, log, Settings(
        first_channel=options.first_channel, last_channel=options.last_channel, deadline=options.deadline, stop_seconds=options.stop_seconds,
        unblock_seconds=options.unblock_seconds, most_samples=options.most_samples or most_samples_of(given["pore"]), dry_run=options.dry_run,
        give_up_seconds=math.inf if options.give_up is None else options.give_up,
        status_seconds=options.status))
    stop_on_signals(session)
    report = LiveReport(options.report, session.summary, options.status) if options.report else None
    code = 0
    try:
        if report is not None:
            report.start()
        session.run(sequencer)
    except Error as error:
        code = complain(error, 1)
    finally:
        log.close()
    logging.getLogger("sluice.live").info("%s", session.status())
    if report is not None:
        try:
            report.end()
        except OSError as error:
            code = complain(error, 1)
    return code
