# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The parts of sluice live without a sequencer: channels, the stop switch, the log."""

import errno
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock
from types import SimpleNamespace

import numpy

import sluice
from sluice.live._channels import Channels
from sluice.live._decider import Decision, _stages_of
from sluice.live._flow_cells import most_samples_of, pore_of
from sluice.live._log import COLUMNS, DecisionLog
from sluice.live._report import LiveReport, check_writable, page
from sluice.live._session import Session, Settings, StopSwitch, StreamLag
from sluice.live._statistics import Latencies, Statistics
from sluice.live.program import check_channels, main, parser, pipeline_arguments, set_pore, stop_on_signals
from sluice.live.stand_in import load_reads


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
        self.assertAlmostEqual(session.statistics.latency.largest, 0.01)

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
        session = session_with([1.0], reconnect_seconds=(0.0, 0.0))
        session._decider.sampling_rate = 4000.0
        closed = []
        session._connect = lambda: SimpleNamespace(sampling_rate=5000.0, close=lambda: closed.append(True))
        self.assertIsNone(session._reconnected())
        self.assertIn("5000 Hz", str(session.error))
        self.assertEqual(closed, [True])

    def test_the_switch_counts_how_often_it_was_turned_on(self):
        switch = StopSwitch(5)
        with self.assertLogs("sluice.live", "WARNING") as said:
            switch.late(1.0, "x"), switch.late(2.0, "x"), switch.late(20.0, "x")
        self.assertEqual((switch.times, len(said.output)), (2, 2))
        self.assertTrue(switch.is_on(24.9))
        self.assertFalse(switch.is_on(25.1))


def connection(acquires, closed):
    return SimpleNamespace(sampling_rate=4000.0, channels=8, is_acquiring=lambda: acquires, close=lambda: closed.append(acquires), calibration={})


class Connections(unittest.TestCase):
    def setUp(self):
        self.now = [1.0]
        self.session = session_with(self.now, reconnect_seconds=(0.5, 10.0), give_up_seconds=20)
        self.session._decider.sampling_rate = 4000.0
        self.waits, self.closed = [], []

        def wait(seconds):
            self.waits.append(seconds)
            self.now[0] += seconds

        self.session._stop = SimpleNamespace(is_set=lambda: False, wait=wait)

    def test_waits_grow_until_a_message_comes(self):
        self.session._connect = lambda: connection(True, self.closed)
        for _ in range(3):
            self.assertIsNotNone(self.session._reconnected())
        self.assertEqual(self.waits, [0.5, 1.0, 2.0])
        self.session._take(SimpleNamespace(seconds_since_start=1.0, channels={}, action_responses=[]), self.session._sequencer)
        self.session._reconnected()
        self.assertEqual(self.waits[3:], [0.5])

    def test_giving_up_is_an_error(self):
        def connect():
            raise OSError("nobody is there")

        self.session._connect = connect
        with self.assertLogs("sluice.live", "WARNING"):
            self.assertIsNone(self.session._reconnected())
        self.assertIn("no connection for 20 s", str(self.session.error))
        self.assertEqual(max(self.waits), 10.0)

    def test_a_run_that_has_not_begun_is_waited_for_and_one_that_has_ended_is_not(self):
        acquires = iter((False, False, True))
        self.session._connect = lambda: connection(next(acquires), self.closed)
        self.assertTrue(self.session._reconnected().is_acquiring())
        self.assertEqual(self.closed, [False, False])
        self.session._has_begun = True
        self.session._connect = lambda: connection(False, self.closed)
        self.assertIsNone(self.session._reconnected())
        self.assertIsNone(self.session.error)


class Endings(unittest.TestCase):
    def test_a_signal_while_the_lock_is_held_stops_the_session(self):
        session = session_with([1.0])
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            stop_on_signals(session)
            with session._lock:
                os.kill(os.getpid(), signal.SIGTERM)
                self.assertTrue(session._stop.wait(20))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def test_a_stop_while_the_pipeline_loads_ends_it(self):
        closed, pushed = [], threading.Event()
        ended = threading.Event()
        decider = SimpleNamespace(push=lambda *_, **__: pushed.set(), answers=lambda: iter(ended.wait, True), end=ended.set, close=ended.set, log=lambda: None)
        session = Session(lambda: None, decider, DecisionLog(None), Settings())
        running = threading.Thread(target=session.run, args=(connection(True, closed),), daemon=True)
        running.start()
        self.assertTrue(pushed.wait(20))
        with self.assertNoLogs("sluice.live", "INFO"):
            session.stop()
            running.join(20)
        self.assertFalse(running.is_alive())
        self.assertEqual(closed, [True])

    def test_a_channel_that_a_stop_has_closed_is_no_error(self):
        session = session_with([1.0])
        sequencer = connection(True, [])

        def live_reads(*_):
            session._stop.set()
            raise ValueError("Cannot invoke RPC on closed channel!")

        sequencer.live_reads = live_reads
        session._read(sequencer)
        self.assertIsNone(session._sequencer)


class Options(unittest.TestCase):
    def test_what_the_program_sets_itself_is_refused(self):
        for name in ("stage", "columns", "failed-rows", "sampling-rate", "depth", "write"):
            with self.assertRaises(ValueError):
                pipeline_arguments([f"--{name}", "1"])
        self.assertEqual(pipeline_arguments(["--set", "x=1"]), {"set": ["x=1"]})

    def test_channels_are_those_of_the_flow_cell(self):
        def chosen(first, last):
            return SimpleNamespace(first_channel=first, last_channel=last)

        check_channels(chosen(1, None), 8), check_channels(chosen(8, 8), 8)
        for first, last in ((0, None), (5, 4), (9, None), (1, 9), (1, 0)):
            with self.assertRaises(ValueError):
                check_channels(chosen(first, last), 8)

    def test_a_pipeline_that_is_no_toml_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.toml")
            for text in (b"[stages", b"stages = 1", b"[stages]\na = 1", b"\xff"):
                with open(path, "wb") as file:
                    file.write(text)
                with self.assertRaises(sluice.UsageError):
                    _stages_of(path)

    def test_a_pipeline_that_is_not_there_is_a_wrong_option(self):
        with self.assertRaises(sluice.UsageError):
            _stages_of("nowhere/p.toml")

    def test_a_flow_cell_brings_its_pore_and_preset(self):
        def given(code, **options):
            set_pore(options, code)
            return options

        self.assertEqual(given("FLO-MIN114"), {"pore": "r10", "preset": "r10"})
        self.assertEqual(given("FLO-MIN106"), {"pore": "r9", "preset": "r9"})
        self.assertEqual(given("FLO-MIN004RA"), {"pore": "rna004", "preset": "rna004"})
        self.assertEqual(given("FLO-MIN106", pore="r10"), {"pore": "r10", "preset": "r10"})
        self.assertEqual(given("FLO-MIN114", preset="r9"), {"pore": "r10", "preset": "r9"})
        self.assertEqual(given("FLO-XYZ"), {"pore": "auto"})

    def test_reads_of_rna_are_looked_at_for_longer(self):
        self.assertEqual([most_samples_of(pore) for pore in ("r9", "r10", "auto", "rna004", "rna_r9")], [16000, 16000, 16000, 40000, 40000])

    def test_the_program_shows_the_options_that_the_package_has(self):
        shown = subprocess.run([os.environ["SLUICE_PROGRAM"], "live", "--help"], check=True, capture_output=True, text=True).stdout
        for option in parser()._actions:
            self.assertIn(option.option_strings[-1], shown)
        defaults = vars(parser().parse_args(["--position", "X1"]))
        self.assertEqual((defaults["deadline"], defaults["give_up"], defaults["most_samples"], defaults["dry_run"]), (1.0, None, None, False))

    def test_an_interrupt_before_the_session_is_no_traceback(self):
        with mock.patch("sluice.live.program._run", side_effect=KeyboardInterrupt):
            self.assertEqual(main(["--position", "X1"]), 130)

    def test_a_report_is_tried_and_what_is_there_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            check_writable(path)
            self.assertEqual(os.listdir(folder), [])
            with open(path, "w") as file:
                file.write("{}")
            check_writable(path)
            self.assertEqual(os.path.getsize(path), 2)
            for wrong in (folder, os.path.join(folder, "none", "report.json")):
                with self.assertRaises(OSError):
                    check_writable(wrong)

    def test_a_position_that_says_nothing_of_itself_is_left(self):
        from sluice.live._sequencer import Sequencer

        closed = []

        def fails():
            raise OSError("gone")

        of = SimpleNamespace(device=SimpleNamespace(get_flow_cell_info=fails), channel=SimpleNamespace(close=lambda: closed.append(True)))
        position = SimpleNamespace(name="X1", running=True, connect=lambda: of)
        manager = SimpleNamespace(flow_cell_positions=lambda: [position], close=lambda: None)
        with mock.patch("minknow_api.manager.Manager", lambda **_: manager), self.assertRaises(OSError):
            Sequencer("localhost", 1, "X1")
        self.assertEqual(closed, [True])


class Reports(unittest.TestCase):
    def summary(self):
        statistics = Statistics(100.0)
        for now, latency, sent, reason in ((101.0, 0.02, "unblock", ""), (102.0, 0.03, "stop_receiving", "withheld"), (300.0, 0.5, "unblock", "")):
            statistics.add(now, latency, "enrich <b>", sent, reason)
        return {"channels": {"reads": 7}, "decisions": {"decisions": 3}, "stops": 1, "log_lines_lost": 0, "latency_seconds": statistics.latency.summary(),
                "minutes": statistics.minutes(), "conditions": {name: dict(counts) for name, counts in statistics.conditions.items()}}

    def test_minutes_and_conditions_are_counted(self):
        summary = self.summary()
        self.assertEqual(summary["conditions"], {"enrich <b>": {"unblock": 2, "stop_receiving": 1, "withheld": 1}})
        self.assertEqual([(minute["minute"], minute["sent"]) for minute in summary["minutes"]],
                         [(0, {"unblock": 1, "stop_receiving": 1, "withheld": 1}), (3, {"unblock": 1})])
        self.assertEqual([minute["latency_seconds"]["p99"] for minute in summary["minutes"]], [0.031, 0.501])

    def test_a_report_is_there_while_the_session_goes_on(self):
        for name in ("report.json", "report.html"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, name)
                written = threading.Event()

                def summary():
                    if os.path.exists(path):
                        written.set()
                    return self.summary()

                report = LiveReport(path, summary, 0.1)
                report.start()
                self.assertTrue(written.wait(20))
                report.end()
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertEqual(os.listdir(folder), [name])
            if name.endswith(".json"):
                self.assertEqual((json.loads(text)["ended"], json.loads(text)["conditions"]), (True, self.summary()["conditions"]))
            else:
                self.assertIn("enrich &lt;b&gt;", text)
                self.assertNotIn("refresh", text)  # it has ended
                self.assertIn("refresh", page({**self.summary(), "time": "now", "ended": False}, 30.0))

    def test_a_disk_that_is_full_is_said_once_and_at_the_end(self):
        calls = []
        report = LiveReport("/nowhere/report.json", lambda: calls.append(True) or self.summary(), 0.1)
        with self.assertLogs("sluice.live", "WARNING") as said:
            report.start()
            deadline = time.monotonic() + 20
            while len(calls) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            with self.assertRaises(OSError):
                report.end()
        self.assertEqual(len(said.output), 1)


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
        codes = ("FLO-MIN106", "FLO-MIN106D", "FLO-PRO002", "FLO-MIN114", "FLO-PRO114M", "FLO-FLG114", "FLO-MIN004RA", "FLO-PRO004RA", "", "FLO-MINSP6")
        self.assertEqual([pore_of(code) for code in codes], ["r9", "r9", "r9", "r10", "r10", "r10", "rna004", "rna004", "auto", "auto"])
        self.assertEqual({pore_of(code) for code in ("FLO-MIN107", "FLO-MIN111", "FLO-MIN112", "FLO-PRO112")}, {"auto"})

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


def wait_for_header(path):
    deadline = time.monotonic() + 20
    while not os.path.getsize(path) and time.monotonic() < deadline:
        time.sleep(0.05)


class Logs(unittest.TestCase):
    def test_a_full_disk_costs_lines_and_nothing_else(self):
        import sluice.live._log as module

        before, module._RETRY_SECONDS = module._RETRY_SECONDS, 0.1
        try:
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("sluice.live", "WARNING"):
                path = os.path.join(folder, "log.tsv")
                log = DecisionLog(path)
                wait_for_header(path)
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

    def test_a_disk_that_hangs_does_not_keep_the_program(self):
        import sluice.live._log as module

        hangs, goes_on = threading.Event(), threading.Event()

        def write(text):
            hangs.set()
            goes_on.wait(60)

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(module, "_CLOSE_SECONDS", 0.2), mock.patch.object(module, "_WAITING_LINES", 10):
            with self.assertLogs("sluice.live", "WARNING"):
                log = DecisionLog(os.path.join(folder, "log.tsv"))
                thread = log._thread
                wait_for_header(log._path)
                log._file.write = write
                log.write(["in hand"])
                self.assertTrue(hangs.wait(20))
                for _ in range(12):
                    log.write(["waits"])
                log.close()
            self.assertEqual(log.lost, 13)
            goes_on.set()
            log._lines.get()
            log._lines.put(None)
            thread.join(20)

    def test_a_pipe_is_written_to(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pipe")
            os.mkfifo(path)
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            log = DecisionLog(path)
            log.close()
            self.assertEqual(os.read(reader, 1000).decode(), "\t".join(COLUMNS) + "\n")
            os.close(reader)

    def test_a_log_that_can_not_be_opened_is_an_error(self):
        with self.assertRaises(OSError):
            DecisionLog("/nowhere/log.tsv")


class SignalFiles(unittest.TestCase):
    def test_the_stand_in_plays_the_reads_of_several_files(self):
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other")
            subprocess.run([os.environ["SLUICE_PROGRAM"], "run", "simulate", "--reference", "target.fa", "--reads", "3", "--seed", "8", "--output-prefix", other, "--quiet"], check=True)
            reads, _ = load_reads(["r.blow5", other + ".blow5"])
        self.assertEqual(len(reads), 96 + 3)


if __name__ == "__main__":
    unittest.main()
