# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A stand-in for a sequencer: answers on the loopback as MinKNOW does, and plays recorded reads on the channels of a flow cell in real time.

For tests and demonstrations: `python3 -m sluice.live.stand_in --signal reads.blow5 --channels 512`. What a client of MinKNOW's Read Until interface asks for is
there: the manager with one position, the device, acquisition and protocol, and get_live_reads with unblock and stop_further_data. Its report says after how much
of a strand the action about it came.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

logger = logging.getLogger("sluice.stand_in")

CLASSES = {80: "strand", 81: "strand2", 82: "short_strand", 83: "adapter", 84: "unknown_positive", 65: "pore", 66: "unavailable"}
_STRAND = 80
_MASK = (1 << 64) - 1


class Draws:
    """Numbers that are a function of a seed and of how many were drawn: SplitMix64 (Steele, Lea, Flood 2014). The same on every machine."""

    def __init__(self, seed: int):
        self._state = seed & _MASK

    def bits(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        value = self._state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        return value ^ (value >> 31)

    def below(self, count: int) -> int:
        return self.bits() * count >> 64

    def exponential(self, mean: float) -> float:
        return -mean * math.log((self.bits() + 0.5) / 2.0**64)

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.bits() << 64 | self.bits(), version=4))


@dataclass
class Recorded:
    """A read that can be played."""

    name: str
    samples: bytes  # int16, little endian
    length: int


@dataclass
class Played:
    """A read in a pore. Times are the model's seconds."""

    read_id: str
    of: Recorded
    start: float
    end: float
    number: int
    sent: int = 0  # samples
    streams: bool = True
    ejected: bool = False


@dataclass
class Options:
    channels: int = 512
    pores: int = 0  # channels with a pore, from the first on; 0: all
    sampling_rate: float = 4000.0
    chunk_seconds: float = 0.2
    waves: int = 4  # messages in a chunk's time: each has its share of the channels
    capture_seconds: float = 1.0
    ejection_seconds: float = 0.5
    seed: int = 1
    digitisation: int = 8192
    range: float = 1402.882
    offset: float = 6.0
    product_code: str = "FLO-MIN106"
    position: str = "MS00001"
    output: str = "."
    once: bool = False  # each read once, by the channels in turn; the run ends when all have been played
    duration: float = 0.0  # s; 0: until stopped
    mux_seconds: float = 0.0  # every so many seconds all strands leave their pores; 0: never
    drop_seconds: float = 0.0  # every so many seconds the streams of live reads break; 0: never
    vanish_seconds: float = 0.0  # every so many seconds a channel becomes unavailable for good; 0: never
    jump_seconds: float = 0.0  # every so many seconds the sample clock jumps by ten; 0: never
    garbage_seconds: float = 0.0  # every so many seconds a chunk has samples that are no signal; 0: never


def load_reads(paths: list[str], most: int = 0) -> tuple[list[Recorded], dict[str, float]]:
    """The reads of signal files, by the engine, and the first one's calibration and rate."""
    import numpy
    import pyarrow

    from .._pipeline import Pipeline

    reader = (
        Pipeline("stand_in")
        .resource("signal_file", use="signal_file", path="\n".join(paths))
        .stage("reads", use="signal_stream", resources={"signal": "signal_file"})
        .stage("decode", use="signal_decode", resources={"signal": "signal_file"})
    )
    reads: list[Recorded] = []
    said: dict[str, float] = {}
    with reader.stream(stage="decode", columns=["read_id", "raw_signal", "digitisation", "range", "offset", "sampling_rate"]) as stream:
        for batch in stream:
            table = pyarrow.record_batch(batch)
            offsets, samples = batch.numpy("raw_signal")
            if not said and len(batch):
                said = {name: float(table.column(name)[0].as_py()) for name in ("digitisation", "range", "offset", "sampling_rate")}
            for row, name in enumerate(table.column("read_id").to_pylist()):
                signal_ = numpy.ascontiguousarray(samples[offsets[row]:offsets[row + 1]], "<i2")
                if len(signal_):
                    reads.append(Recorded(name, signal_.tobytes(), len(signal_)))
            if most and len(reads) >= most:
                break
    if not reads:
        raise ValueError(f"no read in {', '.join(paths)}")
    return reads, said


class FlowCell:
    """Channels that capture, sequence and eject. Nothing moves by itself: tick() is called with the time. One lock guards all."""

    def __init__(self, reads: list[Recorded], options: Options):
        self.options = options
        self.lock = threading.Lock()
        self.counts = {"reads": 0, "unblocked": 0, "stopped": 0, "late_actions": 0, "unknown_actions": 0, "ended_unanswered": 0, "mux_changes": 0, "drops": 0, "vanished": 0}
        self.decided_after: list[float] = []  # s, from a strand's beginning to the unblock or stop
        self.fates: dict[str, str] = {}  # of reads with `once`: unblock, stop_receiving or ended
        self.now = 0.0
        self._reads = reads
        self._draws = Draws(options.seed)
        self._next = 0
        self._numbers = 0
        self._gone = set(range((options.pores or options.channels) + 1, options.channels + 1))
        self._pores: dict[int, Played | None] = {channel: None for channel in range(1, options.channels + 1)}
        self._free_at = {channel: self._wait() for channel in self._pores}
        self.sequenced = {"all": 0.0}

    def _wait(self) -> float:
        return self._draws.exponential(self.options.capture_seconds)

    def is_over(self) -> bool:
        with self.lock:
            over = self.options.once and self._next >= len(self._reads) and all(pore is None for pore in self._pores.values())
            return over or (self.options.duration > 0 and self.now >= self.options.duration)

    def tick(self, now: float, first: int, step: int, stream: bool) -> dict[int, tuple[Played, int, int]]:
        """Channels first, first + step, ... at `now`: what their reads have gained, as (read, first sample, end)."""
        rate = self.options.sampling_rate
        gained: dict[int, tuple[Played, int, int]] = {}
        with self.lock:
            self.now = max(self.now, now)
            for channel in range(first, self.options.channels + 1, step):
                pore = self._pores[channel]
                if pore is not None and now >= pore.end:
                    self._leave(channel, pore, pore.end)
                    pore = None
                if pore is None and self._free_at[channel] <= now and channel not in self._gone:
                    pore = self._capture(channel, max(self._free_at[channel], now - self.options.chunk_seconds))
                if pore is None or not pore.streams:
                    continue
                grown = min(int((now - pore.start) * rate), pore.of.length)
                if not stream:  # nobody listens: what passes is not said again
                    pore.sent = max(grown, pore.sent)
                elif grown > pore.sent:
                    gained[channel] = (pore, pore.sent, grown)
                    pore.sent = grown
        return gained

    def _capture(self, channel: int, start: float) -> Played | None:
        if self.options.once:
            if self._next >= len(self._reads):
                return None
            of = self._reads[self._next]
            self._next += 1
            name = of.name
        else:
            of = self._reads[self._draws.below(len(self._reads))]
            name = self._draws.uuid()
        self._numbers += 1
        self.counts["reads"] += 1
        pore = Played(name, of, start, start + of.length / self.options.sampling_rate, self._numbers)
        self._pores[channel] = pore
        return pore

    def _leave(self, channel: int, pore: Played, when: float, wait: float = 0.0) -> None:
        self.sequenced["all"] += when - pore.start
        self.sequenced[pore.of.name] = self.sequenced.get(pore.of.name, 0.0) + when - pore.start
        if pore.streams and not pore.ejected:
            self.counts["ended_unanswered"] += 1
            if self.options.once:
                self.fates.setdefault(pore.read_id, "ended")
        self._pores[channel] = None
        self._free_at[channel] = when + wait + self._wait()

    def act(self, action: str, channel: int, read_id: str, now: float) -> bool:
        """An unblock or a stop comes. False: that read is in the pore no more."""
        with self.lock:
            pore = self._pores.get(channel)
            if pore is None or pore.read_id != read_id:
                self.counts["late_actions" if channel in self._pores else "unknown_actions"] += 1
                return False
            if pore.streams:
                self.decided_after.append(now - pore.start)
            pore.streams = False
            if self.options.once:
                self.fates[read_id] = action
            if action == "unblock":
                pore.ejected = True
                self.counts["unblocked"] += 1
                self._leave(channel, pore, self.now, self.options.ejection_seconds)
            else:
                self.counts["stopped"] += 1
            return True

    def mux_change(self) -> None:
        with self.lock:
            self.counts["mux_changes"] += 1
            for channel, pore in self._pores.items():
                if pore is not None:
                    self._leave(channel, pore, self.now, 1.0)

    def vanish(self) -> None:
        with self.lock:
            channel = self._draws.below(self.options.channels) + 1
            self._gone.add(channel)
            self.counts["vanished"] += 1
            if (pore := self._pores[channel]) is not None:
                self._leave(channel, pore, self.now)

    def summary(self) -> dict[str, Any]:
        with self.lock:
            after = sorted(self.decided_after)

            def quantile(share: float) -> float:
                return after[min(int(share * len(after)), len(after) - 1)] if after else 0.0

            return {**self.counts, "seconds": self.now, "actions": len(after), "decided_after_p50": quantile(0.5), "decided_after_p99": quantile(0.99),
                    "vanished_channels": sorted(self._gone)[:self.counts["vanished"]] if not self.options.pores else []}


class StandIn:
    """The servers: MinKNOW's manager, and its one position. start() returns the manager's port; stop() ends both."""

    def __init__(self, flow_cell: FlowCell):
        self.flow_cell = flow_cell
        self.options = flow_cell.options
        self.is_acquiring = True
        self._stop = threading.Event()
        self._broken = threading.Event()  # set: the streams of now are to break
        self._folder = tempfile.TemporaryDirectory(prefix="sluice_stand_in_")
        self._start: float | None = None  # the flow cell's time begins with the first stream of live reads
        self._streams = 0
        self._servers: list[Any] = []
        self._behind = 0.0
        self._jump = 0
        self._lock = threading.Lock()

    # ---- certificates: minknow_api speaks TLS with "localhost" only

    @property
    def certificate(self) -> Path:
        """What a client's MINKNOW_TRUSTED_CA has to name."""
        return Path(self._folder.name) / "certificate.pem"

    def _credentials(self) -> Any:
        import grpc

        key = Path(self._folder.name) / "key.pem"
        if not self.certificate.exists():
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", str(key), "-out", str(self.certificate)], check=True, capture_output=True)
        return grpc.ssl_server_credentials([(key.read_bytes(), self.certificate.read_bytes())])

    def start(self, port: int = 0) -> int:
        import grpc

        from ._stand_in_services import manager_services, position_services

        credentials = self._credentials()

        def server(services: Any, wanted: int) -> tuple[Any, int]:
            made = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=[("grpc.max_send_message_length", 64 << 20), ("grpc.so_reuseport", 0)])
            services(made, self)
            bound = made.add_secure_port(f"127.0.0.1:{wanted}", credentials)
            made.start()
            self._servers.append(made)
            return made, bound

        _, self.position_port = server(position_services, 0)
        _, self.port = server(manager_services, port)
        threading.Thread(target=self._happen, daemon=True, name="events").start()
        return self.port

    def stop(self) -> None:
        self.is_acquiring = False
        self._stop.set()
        for server in self._servers:
            server.stop(0.5).wait()
        self._folder.cleanup()

    def seconds(self) -> float:
        return 0.0 if self._start is None else time.monotonic() - self._start

    def sample_clock(self) -> int:
        return int((self.seconds() + self._jump) * self.options.sampling_rate)

    # ---- what happens to a flow cell

    def _happen(self) -> None:
        due = {name: getattr(self.options, name + "_seconds") for name in ("mux", "drop", "vanish", "jump")}
        next_ = {name: every for name, every in due.items() if every > 0}
        step = 0
        while not self._stop.wait(self.options.chunk_seconds / self.options.waves):
            now = self.seconds()
            with self._lock:
                streams, begun = self._streams, self._start is not None
            if not begun:
                continue
            if not streams:  # strands come and go without anybody looking
                self.flow_cell.tick(now, step % self.options.waves + 1, self.options.waves, False)
                step += 1
            if self.flow_cell.is_over():
                self.is_acquiring = False
            for name in [name for name, at in next_.items() if now >= at]:
                next_[name] += due[name]
                if name == "mux":
                    self.flow_cell.mux_change()
                elif name == "vanish":
                    self.flow_cell.vanish()
                elif name == "jump":
                    self._jump += 10
                else:
                    self.flow_cell.counts["drops"] += 1
                    self._broken.set()

    # ---- the stream of live reads

    def live_reads(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        import grpc
        from minknow_api import data_pb2

        setup = next(requests).setup
        Response = data_pb2.GetLiveReadsResponse
        answers: list[Any] = []
        answers_lock = threading.Lock()

        def take_actions() -> None:
            try:
                for request in requests:
                    now = self.seconds()
                    made = []
                    for action in request.actions.actions:
                        kind = "unblock" if action.HasField("unblock") else "stop_receiving"
                        fine = self.flow_cell.act(kind, action.channel, action.id, now)
                        response = Response.ActionResponse.SUCCESS if fine else Response.ActionResponse.FAILED_READ_FINISHED
                        made.append(Response.ActionResponse(action_id=action.action_id, response=response))
                    with answers_lock:
                        answers.extend(made)
            except Exception:  # the client has gone
                pass

        threading.Thread(target=take_actions, daemon=True).start()
        with self._lock:
            self._streams += 1
            self._start = self._start or time.monotonic()
            self._broken.clear()
        waves, every = self.options.waves, self.options.chunk_seconds / self.options.waves
        garbage_at = self.options.garbage_seconds or float("inf")
        step = int(self.seconds() / every) + 1
        try:
            while context.is_active() and not self._stop.is_set():
                wait = step * every - self.seconds()
                if wait > 0:
                    time.sleep(wait)
                self._behind = max(self._behind, -wait)
                if self._broken.is_set():
                    context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was dropped")
                if not self.is_acquiring:
                    context.abort(grpc.StatusCode.ABORTED, "data acquisition stopped")
                now = self.seconds()
                gained = self.flow_cell.tick(now, step % waves + 1, waves, True)
                response = Response(samples_since_start=self.sample_clock(), seconds_since_start=now + self._jump)
                for channel, (pore, begin, end) in gained.items():
                    if not setup.first_channel <= channel <= setup.last_channel:
                        continue
                    read = response.channels[channel]
                    read.id = pore.read_id
                    start = int(pore.start * self.options.sampling_rate)
                    read.start_sample, read.chunk_start_sample, read.chunk_length = start, start + begin, end - begin
                    read.chunk_classifications.append(_STRAND)
                    read.raw_data = pore.of.samples[2 * begin:2 * end]
                    if now >= garbage_at:
                        garbage_at = now + self.options.garbage_seconds
                        read.raw_data = b"\xff\x7f" * (end - begin) if step % 2 else read.raw_data[:-1]
                with answers_lock:
                    response.action_responses.extend(answers)
                    answers.clear()
                if response.channels or response.action_responses:
                    yield response
                step = max(step + 1, int(self.seconds() / every) - waves)
        finally:
            with self._lock:
                self._streams -= 1


def main(words: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="python3 -m sluice.live.stand_in", description="Plays recorded reads as a sequencer that answers like MinKNOW.", allow_abbrev=False)
    p.add_argument("--signal", action="append", required=True, help="BLOW5, SLOW5, POD5 or FAST5; may be given several times")
    p.add_argument("--port", type=int, default=0, help="of the manager; 0: any that is free, which is printed")
    p.add_argument("--report", help="counts and latencies at the end, JSON")
    p.add_argument("--most-reads", type=int, default=0, help="no more of the file; 0: all")
    for name, default in vars(Options()).items():
        option = "--" + name.replace("_", "-")
        if isinstance(default, bool):
            p.add_argument(option, action="store_true")
        else:
            p.add_argument(option, type=type(default), default=default, help=f"({default})")
    chosen = p.parse_args(words)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    reads, said = load_reads(chosen.signal, chosen.most_reads)
    values = {name: getattr(chosen, name) for name in vars(Options())}
    defaults = vars(Options())
    values.update({name: said[name] if name != "digitisation" else int(said[name]) for name in ("digitisation", "range", "offset") if values[name] == defaults[name]})
    stand_in = StandIn(FlowCell(reads, Options(**values)))
    port = stand_in.start(chosen.port)
    print(json.dumps({"port": port, "position": chosen.position, "certificate": str(stand_in.certificate), "pid": os.getpid()}), flush=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    while stand_in.is_acquiring and not stopped.wait(0.2):
        pass
    stopped.wait(0 if stopped.is_set() else 15)  # clients see that data is acquired no more
    summary = {**stand_in.flow_cell.summary(), "behind_seconds": stand_in._behind, "fates": stand_in.flow_cell.fates}
    stand_in.stop()
    if chosen.report:
        Path(chosen.report).write_text(json.dumps(summary) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
