# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The report of a session, while it goes on and at its end: JSON, or a page that loads itself again."""

from __future__ import annotations

import html
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, Callable

from ._log import now_text

logger = logging.getLogger("sluice.live")

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;color-scheme:light dark}
table{border-collapse:collapse}td,th{padding:.2em .9em;text-align:right;border-bottom:1px solid #8884}td:first-child,th:first-child{text-align:left}
svg{width:100%;height:11em;background:#8881}polyline{fill:none;stroke-width:1.5;vector-effect:non-scaling-stroke}.warn{color:#c33}"""


def check_writable(path: str) -> None:
    """OSError where no report can be written: at the end of a run it is too late to hear of it."""
    to = Path(path)
    if to.is_fifo():
        return  # whose reader would see it end
    if to.exists() and not to.is_file():
        with open(to, "a", encoding="utf-8"):
            return
    beside = _beside(to.resolve())
    beside.touch()
    beside.unlink()


def _beside(to: Path) -> Path:
    return to.with_name(f".{to.name}.{os.getpid()}")


class LiveReport:
    """Writes `summary()` to a file every so many seconds and at the end, on a thread of its own: a slow disk holds up no decision, and a full one only this file.
    A file that is there is replaced as a whole. A pipe, or another thing that is no file, is written to once, at the end.
    """

    def __init__(self, path: str, summary: Callable[[], dict[str, Any]], seconds: float):
        self._path = Path(path)
        self._summary = summary
        self._seconds = max(seconds, 0.1)
        self._ended = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="live report", daemon=True)

    def start(self) -> None:
        if not self._path.exists() or self._path.is_file():
            self._thread.start()

    def end(self) -> None:
        """The last report. OSError where it can't be written."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        text = self._text(has_ended=True)
        if self._path.exists() and not self._path.is_file():
            self._path.write_text(text, encoding="utf-8")
        else:
            self._replace(text)

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._replace(self._text(has_ended=False))
                self._failed = False
            except OSError as error:
                if not self._failed:
                    logger.warning("the report %s can't be written now: %s", self._path, error)
                self._failed = True

    def _text(self, has_ended: bool) -> str:
        summary = {"time": now_text(), "ended": has_ended, **self._summary()}
        if self._path.suffix == ".html":
            return page(summary, None if has_ended else self._seconds)
        return json.dumps(summary, indent=2) + "\n"

    def _replace(self, text: str) -> None:
        to = self._path.resolve()  # a link stays one
        beside = _beside(to)
        try:
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, to)
        except OSError:
            beside.unlink(missing_ok=True)
            raise


def page(summary: dict[str, Any], seconds: float | None) -> str:
    """`seconds`: after which it loads itself again; None: never."""
    again = f'<meta http-equiv="refresh" content="{max(round(seconds), 1)}">' if seconds is not None else ""
    decided, latency = summary["decisions"], summary["latency_seconds"]
    facts = [
        ("reads", summary["channels"].get("reads", 0)), ("decisions", decided.get("decisions", 0)), ("ejected", decided.get("sent_unblock", 0)),
        ("sequenced", decided.get("sent_stop_receiving", 0)), ("late", decided.get("late", 0)), ("withheld", decided.get("withheld", 0)),
        ("connections made again", decided.get("reconnects", 0)), ("lines lost in the log", summary["log_lines_lost"]),
        ("latency p50 / p99 / most", " / ".join(f"{1000 * latency[name]:.0f}" for name in ("p50", "p99", "maximum")) + " ms"),
    ]
    state = "ended" if summary["ended"] else "under way"
    warning = '<p class="warn">Decisions came late: nothing was ejected for a while.</p>' if summary["stops"] else ""
    minutes = summary["minutes"]
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8">{again}<title>sluice live</title><style>{_STYLE}</style></head><body>'
            f"<h1>Read Until, {state}</h1><p>{html.escape(summary['time'])}</p>{warning}{_table(('', ''), facts)}"
            f"<h2>By condition</h2>{_conditions(summary['conditions'])}"
            f"<h2>Latency by minute: p50 (green), p99 (orange), ms</h2>"
            f"{_curves(minutes, (('#2a7', lambda m: 1000 * m['latency_seconds']['p50']), ('#e80', lambda m: 1000 * m['latency_seconds']['p99'])))}"
            f"<h2>Decisions by minute: all (grey), ejected (red)</h2>"
            f"{_curves(minutes, (('#888', lambda m: m['latency_seconds']['count']), ('#c33', lambda m: m['sent'].get('unblock', 0))))}"
            "</body></html>\n")


def _table(head: Any, rows: Any) -> str:
    def line(cells: Any, tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(f'{cell:,}' if isinstance(cell, int) else str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + (line(head, "th") if any(head) else "") + "".join(line(row, "td") for row in rows) + "</table>"


def _conditions(conditions: dict[str, dict[str, int]]) -> str:
    names = sorted({name for counts in conditions.values() for name in counts})
    return _table(("condition", *names), [(condition, *(counts.get(name, 0) for name in names)) for condition, counts in sorted(conditions.items())])


def _curves(minutes: list[dict[str, Any]], curves: Any) -> str:
    if not minutes:
        return "<p>Nothing was decided yet.</p>"
    first, last = minutes[0]["minute"], minutes[-1]["minute"]
    most = max(max(value(minute) for minute in minutes) for _, value in curves) or 1
    lines = ""
    for color, value in curves:
        points = " ".join(f"{100 * (minute['minute'] - first) / max(last - first, 1):.2f},{100 - 100 * value(minute) / most:.2f}" for minute in minutes)
        lines += f'<polyline stroke="{color}" points="{points}"/>'
    return f'<svg viewBox="0 -2 100 104" preserveAspectRatio="none">{lines}</svg><p>minutes {first} to {last}; the top is {most:,.0f}</p>'
