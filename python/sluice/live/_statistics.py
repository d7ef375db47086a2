# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What became of reads, and how fast: by condition, and minute by minute."""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import Any

MINUTE = 60.0
_MOST_MINUTES = 72 * 60  # the longest run of a flow cell


@dataclass
class Latencies:
    """A histogram of 1 ms, so that an hour takes no more memory than a second."""

    counts: list[int] = field(default_factory=lambda: [0] * 10_001)
    total: int = 0
    largest: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[min(max(int(seconds * 1000), 0), 10_000)] += 1
        self.total += 1
        self.largest = max(self.largest, seconds)

    def quantile(self, share: float) -> float:
        """Upper bound of the bin, seconds; 0 without any."""
        seen = 0
        for bin, count in enumerate(self.counts):
            seen += count
            if count and seen >= share * self.total:
                return (bin + 1) / 1000
        return 0.0

    def summary(self) -> dict[str, Any]:
        return {"p50": self.quantile(0.5), "p99": self.quantile(0.99), "maximum": self.largest, "count": self.total}


class Statistics:
    """Of decisions that were answered. Times are seconds of the session's clock; minutes without a decision have no row. Not for several threads at once."""

    def __init__(self, begun: float):
        self.latency = Latencies()
        self.conditions: dict[str, collections.Counter[str]] = {}
        self._begun = begun
        self._minutes: collections.deque[dict[str, Any]] = collections.deque(maxlen=_MOST_MINUTES)
        self._minute = 0
        self._in_minute = Latencies()
        self._sent: collections.Counter[str] = collections.Counter()

    def add(self, now: float, latency: float, condition: str, sent: str, reason: str) -> None:
        """`sent`: the action that went to the sequencer; `reason`: why it is not the pipeline's, "" if it is."""
        minute = int((now - self._begun) // MINUTE)
        if minute != self._minute:
            self._end_minute()
            self._minute = minute
        self.latency.add(latency)
        self._in_minute.add(latency)
        self._sent[sent] += 1
        of_condition = self.conditions.setdefault(condition or ".", collections.Counter())
        of_condition[sent] += 1
        if reason:
            self._sent[reason] += 1
            of_condition[reason] += 1

    def minutes(self) -> list[dict[str, Any]]:
        """Rows of {"minute", "sent": {action or reason: reads}, "latency_seconds"}, the one under way included."""
        return [*self._minutes, *([self._row()] if self._in_minute.total else [])]

    def _row(self) -> dict[str, Any]:
        return {"minute": self._minute, "sent": dict(self._sent), "latency_seconds": self._in_minute.summary()}

    def _end_minute(self) -> None:
        if self._in_minute.total:
            self._minutes.append(self._row())
        self._in_minute = Latencies()
        self._sent = collections.Counter()
