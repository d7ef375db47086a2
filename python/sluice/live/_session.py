# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""One session of `sluice live`: chunks to the pipeline, decisions to the sequencer, through reconnects until the run of the sequencer ends."""

from __future__ import annotations

import collections
import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable

from .. import _library as _l
from .._errors import Error, Problem
from .._source import Closed
from ._channels import Channels
from ._decider import Chunk, Decider, Decision, first_chunk
from ._log import DecisionLog, now_text
from ._statistics import Statistics

logger = logging.getLogger("sluice.live")


@dataclass
class Settings:
    """deadline: an answer that comes later after its chunk is late, and nothing is ejected for `stop_seconds` then. dry_run: nothing is ejected at all."""

    first_channel: int = 1
    last_channel: int | None = None
    deadline: float = 1.0
    stop_seconds: float = 5.0
    unblock_seconds: float = 0.1
    most_samples: int = 16000
    dry_run: bool = False
    reconnect_seconds: tuple[float, float] = (0.5, 10.0)  # the first wait and the longest
    give_up_seconds: float = math.inf  # without a connection
    status_seconds: float = 30.0


class StopSwitch:
    """While it is on, nothing is ejected: decisions have come late."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.times = 0
        self._until = -math.inf
        self._lock = threading.Lock()

    def late(self, now: float, why: str) -> None:
        with self._lock:
            was_on = now < self._until
            self._until = max(self._until, now + self.seconds)
            if was_on or self.seconds <= 0:
                return
            self.times += 1
        logger.warning("decisions fall behind (%s): nothing is ejected until they have been in time for %g s", why, self.seconds)

    def is_on(self, now: float) -> bool:
        return self.seconds > 0 and now < self._until


class StreamLag:
    """How far behind the sequencer's messages are: the time between what a message says of its making and its coming, over the shortest such time that was seen.
    Messages wait unseen in the network and in gRPC when this program is slow.
    """

    def __init__(self) -> None:
        self._shortest = math.inf
        self._last = -math.inf  # when the last message came
        self._lag = 0.0

    def of(self, made: float, came: float) -> float:
        """`made`: seconds of the sequencer's clock, whose zero and jumps do not matter; `came`: of ours."""
        lag = came - made - self._shortest
        # What waited comes behind a pause that was as long. A lag that grows by more is another clock, not a slow message.
        if lag - self._lag > came - self._last + 1.0:
            self._shortest = came - made
        self._shortest = min(self._shortest, came - made)
        self._lag = came - made - self._shortest
        self._last = came
        return self._lag


class Session:
    """connect() gives a Sequencer (see _sequencer.py); it is called again when the connection is lost."""

    def __init__(self, connect: Callable[[], Any], decider: Decider, log: DecisionLog, settings: Settings, clock: Callable[[], float] = time.monotonic):
        self.settings = settings
        self.statistics = Statistics(clock())
        self.counts: collections.Counter[str] = collections.Counter()
        self.error: BaseException | None = None  # why it ends before the sequencer's run does
        self.switch = StopSwitch(settings.stop_seconds)
        self._connect = connect
        self._decider = decider
        self._log = log
        self._clock = clock
        self._stop = threading.Event()
        self._lock = threading.Lock()  # guards what follows
        self._asked: collections.deque[tuple[float, int]] = collections.deque()  # batches without an answer: when their chunks came, and how many there are
        self._channels: Channels | None = None
        self._sequencer: Any = None
        self._lag = StreamLag()
        self._wait = settings.reconnect_seconds[0]  # before the next connection
        self._lost_at: float | None = None  # since when there is none that messages came from
        self._has_begun = False  # the sequencer's run
        self._next_status = clock() + settings.status_seconds

    def stop(self) -> None:
        """The session ends soon. From any thread, but not from a signal's handler, which may have interrupted who holds the lock."""
        self._stop.set()
        with self._lock:
            sequencer = self._sequencer
        if sequencer is not None:
            sequencer.close()

    def run(self, sequencer: Any) -> None:
        """Until the sequencer's run ends, stop(), or what is raised: the pipeline's error, or that the sequencer is lost."""
        self._channels = Channels(sequencer.channels, self.settings.most_samples)
        answers = threading.Thread(target=self._take_answers, name="decisions", daemon=True)
        answers.start()
        try:
            self._load(sequencer)
            while sequencer is not None and not self._is_over():
                self._lag = StreamLag()
                self._read(sequencer)
                sequencer = self._reconnected()
        finally:
            if sequencer is not None:
                sequencer.close()
            self._decider.end()
            answers.join(timeout=10)
            self._decider.close()
            self._decider.log()
        if self.error is not None:
            raise self.error

    def _is_over(self) -> bool:
        return self.error is not None or self._stop.is_set()

    def _load(self, sequencer: Any) -> None:
        """Waits until the pipeline answers, before the first read is looked at."""
        begun = self._clock()
        chunk = first_chunk(self.settings.first_channel)
        with self._lock:
            self._asked.append((math.inf, 1))  # this answer is never late
        try:
            self._decider.push([chunk], sequencer.calibration)
        except Closed:
            pass  # of a pipeline that failed: its error is there, or soon will be
        while self._asked and self.error is None and not self._stop.wait(0.01):
            pass
        if not self._is_over():
            logger.info("ready after %.1f s", self._clock() - begun)

    # ---- chunks

    def _read(self, sequencer: Any) -> None:
        import grpc

        with self._lock:
            if not self._is_over():  # else nobody would close it
                self._sequencer = sequencer
        if self._sequencer is None:
            sequencer.close()
            return
        first, last = self.settings.first_channel, self.settings.last_channel or sequencer.channels
        try:
            self._has_begun = self._has_begun or sequencer.is_acquiring()
            for response in sequencer.live_reads(first, min(last, sequencer.channels)):
                if self._is_over():
                    break
                self._take(response, sequencer)
        except grpc.RpcError as error:
            if not self._is_over():
                logger.warning("the stream of live reads ends: %s", _said(error))
        except ValueError:  # what gRPC says of a channel that was closed before the call
            if not self._is_over():
                raise
        except Closed:
            pass  # of a pipeline that failed: its error is there, or soon will be
        finally:
            with self._lock:
                self._sequencer = None
                self._channels.connection_lost()
            sequencer.close()

    def _take(self, response: Any, sequencer: Any) -> None:
        now = self._clock()
        self._has_begun, self._lost_at, self._wait = True, None, self.settings.reconnect_seconds[0]
        came = now - self._lag.of(response.seconds_since_start, now)
        chunks: list[Chunk] = []
        stops: list[tuple[str, int, str]] = []
        with self._lock:
            for channel, read in response.channels.items():
                chunk, why = self._channels.take(channel, read) if channel in sequencer.calibration else (None, "")
                if chunk is not None:
                    chunks.append(chunk)
                elif why:
                    stops.append(self._skipped(channel, read.id, why))
            if self._is_behind(now, came):
                stops += [self._skipped(chunk.channel, chunk.read_id, self._channels.dropped(chunk)) for chunk in chunks]
                chunks = []
            elif chunks:
                self._asked.append((came, len(chunks)))
        for answer in response.action_responses:
            self.counts["action_failed" if answer.response else "action_succeeded"] += 1
        if chunks:
            self._decider.push(chunks, sequencer.calibration, deadline=max(came + self.settings.deadline - now, 0.0))
        if stops:
            sequencer.send(stops, self.settings.unblock_seconds)
        if now >= self._next_status:
            self._next_status = now + self.settings.status_seconds
            logger.info("%s", self.status())
            self._decider.log()

    def _is_behind(self, now: float, came: float) -> bool:
        """Then what comes now would be answered too late: its reads are not judged, so that the pipeline gets on."""
        oldest = self._asked[0][0] if self._asked else came
        if now - oldest <= self.settings.deadline:
            return False
        self.switch.late(now, f"chunks wait since {now - oldest:.2f} s")
        return True

    def _skipped(self, channel: int, read_id: str, why: str) -> tuple[str, int, str]:
        self._log.write((now_text(), channel, read_id, ".", "wait", "proceed", "stop_receiving", why, *(".",) * 9))
        return "stop_receiving", channel, read_id

    def _reconnected(self) -> Any:
        """A new connection; None: the sequencer's run has ended, or the session is to. Waits longer from one to the next until a message has come."""
        if self._lost_at is None:
            self._lost_at = self._clock()
        while not self._is_over():
            if self._clock() - self._lost_at > self.settings.give_up_seconds:
                self.error = _failed(f"no connection for {self.settings.give_up_seconds:g} s", "see whether MinKNOW runs, or give a longer --give-up")
                return None
            self._stop.wait(self._wait)
            self._wait = min(2 * self._wait, self.settings.reconnect_seconds[1])
            if self._is_over():
                return None
            sequencer, is_kept = None, False
            try:
                sequencer = self._connect()
                is_kept, has_ended = self._looked_at(sequencer)
                if is_kept:
                    return sequencer
                if has_ended:
                    return None
            except Exception as error:  # whatever MinKNOW and its client raise while it starts
                logger.warning("no connection: %s", _said(error))
            finally:
                if sequencer is not None and not is_kept:
                    sequencer.close()
        return None

    def _looked_at(self, sequencer: Any) -> tuple[bool, bool]:
        """Can a new connection be used, and if not, is it the last?"""
        if sequencer.sampling_rate != self._decider.sampling_rate:
            self.error = _failed(f"the sequencer samples at {sequencer.sampling_rate:g} Hz now, and the pipeline was made for {self._decider.sampling_rate:g} Hz",
                                 "start sluice live again")
            return False, True
        if sequencer.is_acquiring():
            self.counts["reconnects"] += 1
            logger.info("connected again: %d channels", sequencer.channels)
            return True, False
        if self._has_begun:
            logger.info("the run has ended: MinKNOW acquires no data")
            return False, True
        logger.info("MinKNOW acquires no data yet: waiting for the run to begin")
        self._lost_at = self._clock()  # it is there
        return False, False

    # ---- decisions

    def _take_answers(self) -> None:
        try:
            for rows, decisions in self._decider.answers():
                self._answer(rows, decisions)
        except BaseException as error:
            if not self._stop.is_set():
                self.error = error
                with self._lock:
                    if self._sequencer is not None:
                        self._sequencer.close()

    def _answer(self, rows: int, decisions: list[Decision]) -> None:
        with self._lock:
            now = self._clock()
            came, asked = self._asked.popleft()
            if asked != rows:
                raise RuntimeError(f"{asked} chunks were given to the pipeline, and {rows} came back")
            if now - came > self.settings.deadline:
                self.switch.late(now, f"an answer took {now - came:.2f} s")
            actions = []
            for decision in decisions:
                if self._channels.is_open(decision.channel, decision.read_id):
                    actions.append(self._decided(decision, now, came))
                elif not self._channels.holds(decision.channel, decision.read_id):
                    self.counts["ended_before_decision"] += 1
            if self._sequencer is not None and actions:
                self._sequencer.send(actions, self.settings.unblock_seconds)

    def _decided(self, decision: Decision, now: float, came: float) -> tuple[str, int, str]:
        """What is sent."""
        latency = now - came
        sent, reason = decision.action, ""
        if decision.failed:
            sent, reason = "stop_receiving", decision.failed
            self.counts["failed"] += 1
        elif latency > self.settings.deadline:
            sent, reason = "stop_receiving", "late"
            self.counts["late"] += 1
            self.switch.late(now, f"a decision took {latency:.2f} s")
        elif decision.action == "unblock" and self.switch.is_on(now):
            sent, reason = "stop_receiving", "withheld"
            self.counts["withheld"] += 1
        elif decision.action == "unblock" and self.settings.dry_run:
            sent, reason = "stop_receiving", "dry_run"
        if self._sequencer is None:
            sent, reason = "none", "not_connected"
        self.statistics.add(now, latency, decision.condition, sent, reason)
        self.counts["decisions"] += 1
        self.counts["sent_" + sent] += 1
        self._channels.done(decision.channel)
        place = (decision.target, "-" if decision.is_reverse else "+", decision.start, decision.end) if decision.target else (".",) * 4
        score = (f"{decision.score:.6f}", f"{decision.threshold:.6f}") if decision.target else (".", ".")
        self._log.write((now_text(), decision.channel, decision.read_id, decision.condition or ".", decision.decision, decision.action, sent, reason or ".",
                         *score, *place, decision.prefix_samples, decision.chunk_index + 1, f"{1000 * latency:.1f}"))
        return sent, decision.channel, decision.read_id

    def status(self) -> str:
        """One line for people."""
        seen = self._channels.counts if self._channels is not None else collections.Counter()
        decided, latency = self.counts, self.statistics.latency
        return (f"{seen['reads']} reads, {decided['decisions']} decisions ({decided['sent_unblock']} unblocked, {decided['sent_stop_receiving']} sequenced, "
                f"{decided['late']} late, {decided['withheld']} withheld), latency p50 {1000 * latency.quantile(0.5):.0f} ms, "
                f"p99 {1000 * latency.quantile(0.99):.0f} ms, most {1000 * latency.largest:.0f} ms, {decided['reconnects']} reconnects, "
                f"{self._log.lost} log lines lost")

    def summary(self) -> dict[str, Any]:
        """All counts, for --report. From any thread."""
        with self._lock:
            seen = dict(self._channels.counts) if self._channels is not None else {}
            return {"channels": seen, "decisions": dict(self.counts), "stops": self.switch.times, "log_lines_lost": self._log.lost,
                    "latency_seconds": self.statistics.latency.summary(), "minutes": self.statistics.minutes(),
                    "conditions": {name: dict(counts) for name, counts in self.statistics.conditions.items()}}


def _failed(message: str, remedy: str) -> Error:
    return Error([Problem(_l.ERROR_INPUT, False, "live", "", message, remedy, f"{message} ({remedy})")])


def _said(error: BaseException) -> str:
    details = getattr(error, "details", None)
    code = getattr(error, "code", None)
    if callable(code) and callable(details):
        return f"{code().name}: {details()}" if code() is not None else str(details())
    return f"{type(error).__name__}: {error}"
