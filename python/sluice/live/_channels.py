# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What is known of the reads that are in the pores: no chunk is given to the pipeline that does not follow the one before, and no read that has left a
pore is decided on.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Any

from ._decider import Chunk

# A read is
OPEN = "open"        # being judged,
DONE = "done"        # decided on, and said so to the sequencer,
SKIPPED = "skipped"  # not to be judged: sequenced to its end,
STALE = "stale"      # decided on before the connection was lost: whether the sequencer has heard of it is not known.


@dataclass(slots=True)
class Track:
    """The read of a channel."""

    read_id: str
    next_sample: int
    chunks: int = 0
    samples: int = 0
    state: str = OPEN


class Channels:
    """Channels 1 to `count`. `most_samples`: a read that is undecided then is sequenced to its end."""

    def __init__(self, count: int, most_samples: int = 16000):
        self.count = count
        self.most_samples = most_samples
        self.counts: collections.Counter[str] = collections.Counter()
        self._tracks: dict[int, Track] = {}

    def take(self, channel: int, read: Any) -> tuple[Chunk | None, str]:
        """A chunk of minknow_api's GetLiveReadsResponse.ReadData: what the pipeline is to get, or nothing and why the read is not to be looked at further
        ("": it is not new that it isn't).
        """
        import numpy

        if not 1 <= channel <= self.count or not read.id:
            self.counts["strange_channel"] += 1
            return None, ""
        track = self._tracks.get(channel)
        if track is None or track.read_id != read.id:
            self._end(channel)
            track = self._tracks[channel] = Track(read.id, read.start_sample)
            self.counts["reads"] += 1
            if read.chunk_start_sample != read.start_sample:
                return None, self._skip(track, "begun_before")
        elif track.state == STALE:
            return None, self._skip(track, "reconnected")
        elif track.state != OPEN:
            self.counts["chunks_behind_decision"] += 1
            return None, ""
        elif read.chunk_start_sample != track.next_sample:
            return None, self._skip(track, "gap")
        if len(read.raw_data) % 2 or (read.chunk_length and read.chunk_length != len(read.raw_data) // 2):
            return None, self._skip(track, "garbage")
        samples = numpy.frombuffer(read.raw_data, "<i2")
        if track.samples >= self.most_samples:
            return None, self._skip(track, "undecided")
        track.next_sample += len(samples)
        track.samples += len(samples)
        chunk = Chunk(channel, read.id, track.chunks, samples)
        track.chunks += 1
        self.counts["chunks"] += 1
        return chunk, ""

    def is_open(self, channel: int, read_id: str) -> bool:
        """Is the read in the pore, as far as the sequencer has told, and waits for a decision?"""
        track = self._tracks.get(channel)
        return track is not None and track.read_id == read_id and track.state == OPEN

    def done(self, channel: int) -> None:
        """The channel's read has been decided on."""
        self._tracks[channel].state = DONE

    def dropped(self, chunk: Chunk) -> str:
        """The pipeline could not take a chunk: its read is not judged."""
        return self._skip(self._tracks[chunk.channel], "pipeline_behind")

    def holds(self, channel: int, read_id: str) -> bool:
        """Is this read the last that the sequencer has told of on its channel?"""
        track = self._tracks.get(channel)
        return track is not None and track.read_id == read_id

    def connection_lost(self) -> None:
        """What has been decided may not have been heard."""
        for track in self._tracks.values():
            if track.state == DONE:
                track.state = STALE

    def _skip(self, track: Track, why: str) -> str:
        track.state = SKIPPED
        self.counts["skipped_" + why] += 1
        return why

    def _end(self, channel: int) -> None:
        track = self._tracks.pop(channel, None)
        if track is not None and track.state == OPEN:
            self.counts["ended_undecided"] += 1
