# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The table of decisions. A disk that is full or slow costs lines, which are counted, and never a decision."""

from __future__ import annotations

import datetime
import logging
import queue
import threading
from typing import IO, Any

logger = logging.getLogger("sluice.live")

COLUMNS = ("time", "channel", "read_id", "condition", "decision", "action", "sent", "reason", "score", "threshold", "target", "strand", "start", "end",
           "prefix_samples", "chunks", "latency_ms")
_WAITING_LINES = 100_000
_RETRY_SECONDS = 5.0
_CLOSE_SECONDS = 10.0  # that the last lines get


def now_text() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class DecisionLog:
    """Writes lines on a thread of its own. `path` None: nothing is kept."""

    def __init__(self, path: Any):
        self.lost = 0
        self._path = path
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING_LINES)
        self._file: IO[str] | None = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._in_hand = 0  # lines that are being written
        if path is not None:
            self._file = open(path, "a", encoding="utf-8", newline="\n")  # what can't be opened at the beginning is an error
            if not self._file.seekable() or self._file.tell() == 0:  # a pipe has no place to tell
                self.write(COLUMNS)
            self._thread = threading.Thread(target=self._run, name="decision log", daemon=True)
            self._thread.start()

    def write(self, cells: Any) -> None:
        if self._path is None:
            return
        try:
            self._lines.put_nowait("\t".join(map(str, cells)) + "\n")
        except queue.Full:
            self._lose(1, "the disk does not keep up")

    def close(self) -> None:
        if self._thread is None:
            return
        self._closing.set()
        try:
            self._lines.put(None, timeout=_CLOSE_SECONDS)
            self._thread.join(_CLOSE_SECONDS)
            marks = 1
        except queue.Full:
            marks = 0
        if self._thread.is_alive():
            self._lose(max(self._lines.qsize() - marks, 0) + self._in_hand, "the disk does not keep up")

    def _lose(self, lines: int, why: Any) -> None:
        if self.lost == 0:
            logger.warning("the log %s loses lines: %s; decisions go on", self._path, why)
        self.lost += lines

    def _run(self) -> None:
        ended = False
        while not ended:
            lines = [self._lines.get()]
            while len(lines) < 10_000 and not self._lines.empty():
                lines.append(self._lines.get_nowait())
            ended = None in lines
            self._in_hand = len(lines) - ended
            self._append([line for line in lines if line is not None])
            self._in_hand = 0
            if not ended:
                self._closing.wait(0.2)
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._lose(0, error)

    def _append(self, lines: list[str]) -> None:
        try:
            if self._file is None:
                self._file = open(self._path, "a", encoding="utf-8", newline="\n")
                if self._file.seekable():
                    self._file.write(self._line_end())
            self._file.write("".join(lines))
            self._file.flush()
        except OSError as error:
            self._lose(len(lines), error)
            self._drop_file()
            self._closing.wait(_RETRY_SECONDS)

    def _line_end(self) -> str:
        """What was cut off where the disk was full is ended: it must not run into the next line."""
        with open(self._path, "rb") as file:
            if file.seek(0, 2) == 0:
                return ""
            file.seek(-1, 2)
            return "" if file.read(1) == b"\n" else "\n"

    def _drop_file(self) -> None:
        """What the buffer still holds would be written again, in part twice."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                pass
