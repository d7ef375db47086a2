# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The parts of sluice live without a sequencer: channels, the stop switch, the log."""

import errno
import os
import tempfile
import time
import unittest
from types import SimpleNamespace

import numpy

from sluice.live._channels import Channels
from sluice.live._decider import Decision
from sluice.live._flow_cells import pore_of
from sluice.live._log import COLUMNS, DecisionLog
from sluice.live._session import Latencies, Session, Settings, StopSwitch, StreamLag
from sluice.live.program import pipeline_arguments


def read(name, begin, samples, start=100, raw=None):
    data = numpy.arange(samples, dtype="<i2").tobytes() if raw is None else raw
    return SimpleNamespace(id=name, start_sample=start, chunk_start_sample=start + begin, chunk_length=samples, raw_data=data)


class ChannelsOfAFlowCell(unittest.TestCase):
    def test_chunks_follow_each_other(self):
        channels = Channels(4)
        first, _ = channels.take(1, read("a", 0, 10))
        second, _ = channels.take(1, read("a", 10, 5))
        self.assertEqual([(c.index, len(c.samples)) for c in (first, second)], [(0, 10), (1, 5)])
        self.assertTrue(channels.is_open(1, "a"))

    def test_a_gap_or_a_read_that_was_begun_before_is_not_judged(self):
        channels = Channels(4)
        channels.take(1, read("a", 0, 10))
        self.assertEqual(channels.take(1, read("a", 20, 10)), (None, "gap"))
        self.assertEqual(channels.take(1, read("a", 30, 10)), (None, ""))
        self.assertFalse(channels.is_open(1, "a"))
        self.assertEqual(channels.take(2, read("b", 20, 10)), (None, "begun_before"))

    def test_a_read_that_has_left_is_not_open(self):
        channels = Channels(4)
        channels.take(1, read("a", 0, 10))
        channels.take(1, read("b", 0, 10))
        self.assertFalse(channels.is_open(1, "a"))
        self.assertTrue(channels.is_open(1, "b"))
        self.assertEqual(channels.counts["ended_undecided"], 1)

    def test_garbage_is_not_judged(self):
        channels = Channels(4)
        self.assertEqual(channels.take(1, read("a", 0, 10, raw=b"123")), (None, "garbage"))
        self.assertEqual(channels.take(2, read("b", 0, 10, raw=b"\0" * 18)), (None, "garbage"))
        self.assertEqual(channels.take(9, read("c", 0, 10)), (None, ""))
        self.assertEqual(channels.counts["strange_channel"], 1)

    def test_a_read_that_stays_undecided_is_given_up(self):
        channels = Channels(4, most_samples=20)
        self.assertIsNotNone(channels.take(1, read("a", 0, 20))[0])
        self.assertEqual(channels.take(1, read("a", 20, 5)), (None, "undecided"))

    def test_what_was_decided_before_a_reconnect_is_said_again(self):
        channels = Channels(4)
        channels.take(1, read("a", 0, 10))
        channels.done(1)
        channels.connection_lost()
        self.assertEqual(channels.take(1, read("a", 10, 10)), (None, "reconnected"))


class Sent:
    """Takes what a session sends."""

    def __init__(self):
        self.actions = []

    def send(self, actions, seconds):
        self.actions += actions

    def close(self):
        pass


def session_with(now, **settings):
    session = Session(lambda: None, SimpleNamespace(waiting=0), DecisionLog(None), Settings(**settings), clock=lambda: now[0])
    session._channels, session._sequencer = Channels(8), Sent()
    return session


def answer(session, came, *decisions):
    session._asked.append((came, len(decisions)))
    session._answer(len(decisions), list(decisions))


def decision(channel, name, action="unblock", index=0):
    return Decision(channel, name, index, action, "reject", 0.5, 0.3, "enrich", "c", False, 1, 2, 3, "")


class Decisions(unittest.TestCase):
    def test_a_decision_in_time_is_sent_once(self):
        now = [1.0]
        session = session_with(now)
        session._channels.take(1, read("a", 0, 10))
        now[0] = 1.01
        answer(session, 1.0, decision(1, "a"))
        answer(session, 1.0, decision(1, "a"))
        self.assertEqual(session._sequencer.actions, [("unblock", 1, "a")])
        self.assertAlmostEqual(session.latency.largest, 0.01)

    def test_nothing_is_sent_for_a_read_that_has_ended(self):
        session = session_with([1.0])
        session._channels.take(1, read("a", 0, 10))
        session._channels.take(1, read("b", 0, 10))
        answer(session, 1.0, decision(1, "a"))
        self.assertEqual(session._sequencer.actions, [])
        self.assertEqual(session.counts["ended_before_decision"], 1)

    def test_a_late_decision_stops_all_ejections_for_a_while(self):
        now = [1.0]
        session = session_with(now, deadline=0.5, stop_seconds=5)
        for channel in (1, 2, 3):
            session._channels.take(channel, read(f"r{channel}", 0, 10))
        now[0] = 1.6
        with self.assertLogs("sluice.live", "WARNING") as said:
            answer(session, 1.0, decision(1, "r1"))
        self.assertIn("nothing is ejected", said.output[0])
        session._channels.take(4, read("r4", 0, 10))
        answer(session, 1.6, decision(4, "r4"))
        self.assertEqual(session._sequencer.actions, [("stop_receiving", 1, "r1"), ("stop_receiving", 4, "r4")])
        self.assertEqual((session.counts["late"], session.counts["withheld"]), (1, 1))
        now[0] = 7.0
        session._channels.take(5, read("r5", 0, 10))
        answer(session, 7.0, decision(5, "r5"))
        self.assertEqual(session._sequencer.actions[-1], ("unblock", 5, "r5"))

    def test_chunks_that_come_while_others_wait_too_long_are_not_judged(self):
        now = [10.0]
        session = session_with(now, deadline=0.5, stop_seconds=5)
        pushed = []
        session._decider.push = lambda chunks, *_, **__: pushed.extend(chunks)
        session._sequencer.calibration = {1: None, 2: None}
        message = SimpleNamespace(seconds_since_start=1.0, channels={1: read("a", 0, 10)}, action_responses=[])
        session._take(message, session._sequencer)
        self.assertEqual(len(pushed), 1)
        now[0] = 10.6
        with self.assertLogs("sluice.live", "WARNING"):
            session._take(SimpleNamespace(seconds_since_start=1.6, channels={2: read("b", 0, 10)}, action_responses=[]), session._sequencer)
        self.assertEqual((len(pushed), session._sequencer.actions), (1, [("stop_receiving", 2, "b")]))

    def test_without_a_connection_nothing_is_sent(self):
        session = session_with([1.0])
        session._channels.take(1, read("a", 0, 10))
        session._sequencer = None
        answer(session, 1.0, decision(1, "a"))
        self.assertEqual(session.counts["sent_none"], 1)

    def test_a_dry_run_ejects_nothing(self):
        session = session_with([1.0], dry_run=True)
        session._channels.take(1, read("a", 0, 10))
        answer(session, 1.0, decision(1, "a"))
        self.assertEqual(session._sequencer.actions, [("stop_receiving", 1, "a")])

    def test_a_sequencer_that_has_changed_its_rate_ends_the_session(self):
        session = session_with([1.0])
        session._decider.sampling_rate = 4000.0
        closed = []
        session._connect = lambda: SimpleNamespace(sampling_rate=5000.0, close=lambda: closed.append(True))
        with self.assertLogs("sluice.live", "ERROR"):
            self.assertIsNone(session._reconnected())
        self.assertEqual(closed, [True])

    def test_the_switch_counts_how_often_it_was_turned_on(self):
        switch = StopSwitch(5)
        with self.assertLogs("sluice.live", "WARNING") as said:
            switch.late(1.0, "x"), switch.late(2.0, "x"), switch.late(20.0, "x")
        self.assertEqual((switch.times, len(said.output)), (2, 2))
        self.assertTrue(switch.is_on(24.9))
        self.assertFalse(switch.is_on(25.1))


class Small(unittest.TestCase):
    def test_quantiles_are_the_upper_bounds_of_bins(self):
        latencies = Latencies()
        for i in range(100):
            latencies.add(i / 1000 + 0.0005)
        self.assertEqual((latencies.quantile(0.5), latencies.quantile(0.99), latencies.quantile(1)), (0.05, 0.099, 0.1))

    def test_messages_that_wait_are_late_and_clocks_that_jump_are_not(self):
        lag = StreamLag()
        self.assertEqual([lag.of(made, 100 + made) for made in (0.0, 0.1, 0.2)], [0.0, 0.0, 0.0])
        self.assertAlmostEqual(lag.of(0.3, 102.3), 2.0)  # a pause of two seconds, then what was sent meanwhile
        self.assertAlmostEqual(lag.of(1.3, 102.4), 1.1)
        self.assertAlmostEqual(lag.of(2.4, 102.4), 0.0)
        self.assertAlmostEqual(lag.of(12.5, 102.5), 0.0)  # the sequencer's clock is ten seconds ahead now
        self.assertAlmostEqual(lag.of(12.6, 102.6), 0.0)
        self.assertAlmostEqual(lag.of(2.7, 102.7), 0.0)  # and back again
        self.assertAlmostEqual(lag.of(2.8, 103.0), 0.2)

    def test_pores_of_flow_cells(self):
        codes = ("FLO-MIN106", "FLO-MIN106D", "FLO-PRO002", "FLO-MIN114", "FLO-PRO114M", "FLO-FLG114", "", "FLO-MINSP6")
        self.assertEqual([pore_of(code) for code in codes], ["r9", "r9", "r9", "r10", "r10", "r10", "auto", "auto"])

    def test_options_of_the_pipeline(self):
        self.assertEqual(pipeline_arguments(["--target", "a.fa", "--flank=500", "--decide-early", "--set", "x=1", "--set", "y=2"]),
                         {"target": "a.fa", "flank": "500", "decide_early": "true", "set": ["x=1", "y=2"]})
        with self.assertRaises(ValueError):
            pipeline_arguments(["target"])


class FullDisk:
    """A file that has no room at first, and then has."""

    def __init__(self, file, failures):
        self.file, self.failures = file, failures

    def write(self, text):
        if self.failures:
            self.failures -= 1
            self.file.write(text[: len(text) // 2])
            self.file.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.file.write(text)

    def __getattr__(self, name):
        return getattr(self.file, name)


class Logs(unittest.TestCase):
    def test_a_full_disk_costs_lines_and_nothing_else(self):
        import sluice.live._log as module

        before, module._RETRY_SECONDS = module._RETRY_SECONDS, 0.1
        try:
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("sluice.live", "WARNING"):
                path = os.path.join(folder, "log.tsv")
                log = DecisionLog(path)
                time.sleep(0.5)
                log._file = FullDisk(log._file, 1)
                log.write(["lost"] * len(COLUMNS))
                deadline = time.monotonic() + 20
                while not log.lost and time.monotonic() < deadline:
                    time.sleep(0.05)
                log.write(["kept"] * len(COLUMNS))
                log.close()
                with open(path) as file:
                    lines = file.read().splitlines()
                self.assertEqual(log.lost, 1)
                self.assertEqual(lines[0], "\t".join(COLUMNS))
                self.assertEqual(lines[-1], "\t".join(["kept"] * len(COLUMNS)))
        finally:
            module._RETRY_SECONDS = before

    def test_a_log_that_can_not_be_opened_is_an_error(self):
        with self.assertRaises(OSError):
            DecisionLog("/nowhere/log.tsv")


if __name__ == "__main__":
    unittest.main()
