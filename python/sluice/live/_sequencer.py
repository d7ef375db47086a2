# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A position of MinKNOW: what it says of itself, and the stream of its live reads."""

from __future__ import annotations

import queue
import uuid
from typing import Any, Iterator

from ._decider import Calibration

# As readfish asks for: chunks of anything else are no strands.
STRAND_CLASSES = ("strand", "strand2", "short_strand", "adapter", "unknown_positive")


class NoPosition(Exception):
    """MinKNOW has no such position, or it does not run."""


class Sequencer:
    """A connection to a position. Raises grpc.RpcError, or what minknow_api raises, where MinKNOW can't be reached."""

    def __init__(self, host: str, port: int | None, position: str):
        from minknow_api.manager import Manager

        manager = Manager(host=host, port=port)
        try:
            positions = list(manager.flow_cell_positions())
            found = [one for one in positions if one.name == position]
            if not found:
                raise NoPosition(f"MinKNOW at {host} has no position '{position}': it has {', '.join(one.name for one in positions) or 'none'}")
            if not found[0].running:
                raise NoPosition(f"position '{position}' does not run: it is {found[0].state}")
            self.connection = found[0].connect()
        finally:
            manager.close()
        try:
            self._ask()
        except BaseException:
            self.connection.channel.close()
            raise
        self._actions: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._stream: Any = None

    def _ask(self) -> None:
        """What the position says of itself."""
        device = self.connection.device
        flow_cell = device.get_flow_cell_info()
        self.channels: int = flow_cell.channel_count
        self.flow_cell: str = flow_cell.user_specified_product_code or flow_cell.product_code
        self.sampling_rate = float(device.get_sample_rate().sample_rate)
        calibration = device.get_calibration(first_channel=1, last_channel=self.channels)
        self.calibration = {
            channel: Calibration(float(calibration.digitisation), range_, offset)
            for channel, (range_, offset) in enumerate(zip(calibration.pa_ranges, calibration.offsets), start=1)
        }
        classes = self.connection.analysis_configuration.get_read_classifications().read_classifications
        self.strand_classes = sorted(number for number, name in classes.items() if name in STRAND_CLASSES)

    def is_acquiring(self) -> bool:
        """Is data being acquired, or about to be?"""
        from minknow_api.acquisition_pb2 import PROCESSING, STARTING

        return self.connection.acquisition.current_status().status in (PROCESSING, STARTING)

    def live_reads(self, first: int, last: int) -> Iterator[Any]:
        """The responses of get_live_reads: until the stream ends, or raises grpc.RpcError."""
        self._stream = self.connection.data.get_live_reads(self._requests(first, last))
        return self._stream

    def send(self, actions: list[tuple[str, int, str]], unblock_seconds: float) -> None:
        """("unblock" or "stop_receiving", channel, read id), all in one request."""
        from minknow_api.data_pb2 import GetLiveReadsRequest as Request

        made = []
        for action, channel, read_id in actions:
            one = Request.Action(action_id=uuid.uuid4().hex, channel=channel, id=read_id)
            if action == "unblock":
                one.unblock.duration = unblock_seconds
            else:
                one.stop_further_data.SetInParent()
            made.append(one)
        self._actions.put(made)

    def close(self) -> None:
        self._actions.put(None)
        if self._stream is not None:
            self._stream.cancel()
        try:
            self.connection.channel.close()
        except Exception:  # of a connection that is gone already
            pass

    def _requests(self, first: int, last: int) -> Iterator[Any]:
        from minknow_api.data_pb2 import GetLiveReadsRequest as Request

        setup = Request.StreamSetup(
            first_channel=first, last_channel=last, raw_data_type=Request.UNCALIBRATED, sample_minimum_chunk_size=0, max_unblock_read_length_samples=0,
            accepted_first_chunk_classifications=self.strand_classes,
        )
        yield Request(setup=setup)
        while (actions := self._actions.get()) is not None:
            yield Request(actions=Request.Actions(actions=actions))
