from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import joulepath as jp

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")

# Minutes of work on any machine.
LONG: dict[str, Any] = {"source": "home-wifi-lte", "seeds": 20_000, "policies": ["mptcp", "olia"]}
BOUND_S = 1.0  # CPU time of each of the two threads, with the summary of the finished runs
LATEST_S = 5.0  # clock time: other processes may use both cores
TRIES = 8


def interrupted(work: Callable[[], object], after_s: float) -> tuple[jp.Interrupted, float]:
    """The exception after Ctrl-C at this time, and a worker thread's CPU time until it arrives, seconds."""
    sent = []

    def press() -> None:
        sent.append((time.monotonic(), time.process_time()))
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after_s, press)
    timer.start()
    with pytest.raises(jp.Interrupted) as caught:
        work()
    lasted, worked = time.monotonic() - sent[0][0], time.process_time() - sent[0][1]
    timer.join()
    assert lasted < LATEST_S
    return caught.value, min(lasted, worked / 2)


def test_ctrl_c_stops_at_once_and_keeps_finished_runs() -> None:
    took = []
    for _ in range(TRIES):
        stop, lasted = interrupted(lambda: jp.compare(**LONG, progress=False), 0.5)
        result = stop.result
        assert isinstance(result, jp.Comparison)
        assert result.partial
        assert 0 < len(result.runs) < 40_000
        assert result.runs["seed"][0] == 1
        assert isinstance(stop.__cause__, KeyboardInterrupt)
        took.append(lasted)
        if lasted < BOUND_S:
            break
    assert min(took) < BOUND_S, took


def test_ctrl_c_stops_one_long_run_that_has_no_result_yet() -> None:
    long = jp.Scenario("quick").with_(duration="18000 s")
    took = []
    for _ in range(TRIES):
        stop, lasted = interrupted(lambda: jp.run(long, "mptcp", series=False), 0.5)
        assert stop.result is None or len(stop.result) == 0
        took.append(lasted)
        if lasted < BOUND_S:
            break
    assert min(took) < BOUND_S, took


def test_ctrl_c_stops_a_map() -> None:
    # Loading 10,000 points takes seconds. Then they run.
    def draw(points: int) -> jp.Map:
        x, y = (f"path.{path}.loss=0.1 %..10 %:{points}log" for path in ("wifi", "lte"))
        return jp.map("home-wifi-lte", x, y, "mptcp", engine="packet", seeds=1000, progress=False)

    for points, after_s in [(100, 0.5), (10, 2.0)]:
        took = []
        for _ in range(TRIES):
            stop, lasted = interrupted(partial(draw, points), after_s)
            assert stop.result is None if points == 100 else stop.result.partial
            took.append(lasted)
            if lasted < BOUND_S:
                break
        assert min(took) < BOUND_S, took


def test_ctrl_c_raises_a_keyboard_interrupt() -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        jp.compare(**LONG, progress=False)


def test_the_users_own_signal_handler_decides() -> None:
    heard: list[int] = []
    sent: list[int] = []

    def at_the_first_news(*_: object) -> None:
        if not sent:
            sent.append(signal.SIGUSR1)
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    try:
        result = jp.compare("home-wifi-lte", "mptcp", seeds=60, progress=at_the_first_news)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == sent == [signal.SIGUSR1]
    assert not result.partial


def test_other_python_threads_run_meanwhile() -> None:
    turns = 0
    over = threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    jp.compare("home-wifi-lte", "mptcp", seeds=100, progress=False)
    lasted = time.monotonic() - began
    over.set()
    thread.join()
    # A thread that never got the interpreter would have a single turn.
    assert turns > 20 * lasted


def test_comparisons_run_from_several_threads() -> None:
    results: list[jp.Comparison] = []
    work = [threading.Thread(target=lambda: results.append(jp.compare("quick", seeds=2))) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(results) == 4
    assert all(result.rows() == results[0].rows() for result in results)


def test_progress_is_reported_from_zero_to_all_runs() -> None:
    told: list[tuple[int, int, str | None]] = []
    jp.compare("quick", seeds=5, progress=lambda *news: told.append(news))
    assert told[-1] == (10, 10, None)
    assert all(before[0] <= after[0] for before, after in pairwise(told))
    assert {runs for _, runs, _ in told} == {10}


def test_an_exception_of_the_progress_function_stops_the_work() -> None:
    def tired(done: int, runs: int, note: str | None) -> None:
        raise LookupError("enough")

    # All runs would take many minutes.
    began = time.monotonic()
    with pytest.raises(LookupError, match="enough"):
        jp.compare(**LONG, progress=tired)
    assert time.monotonic() - began < 120


def test_a_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    jp.compare("quick", seeds=5, progress=True)
    shown = capsys.readouterr().err
    assert "10/10" in shown
    jp.compare("quick", seeds=5, progress=False)
    jp.compare("quick", seeds=5)
    assert capsys.readouterr().err == ""


def test_ctrl_c_stops_a_study_at_once_and_it_can_resume(tmp_path: Path) -> None:
    points = {"path.wifi.loss": jp.Range("0.1 %", "10 %")}
    study = jp.Study.build("home-wifi-lte", points, "mptcp", seeds=1, design="sobol", points=4096)
    took, before = [], 0
    for _ in range(TRIES):
        stop, lasted = interrupted(lambda: study.run(out=tmp_path / "study", progress=False), 1.5)
        assert isinstance(stop.result, jp.Dataset)
        assert stop.result.partial
        assert stop.result.done > before
        # Each run is in one file.
        assert stop.result.arrow().count_rows() == stop.result.done
        before = stop.result.done
        took.append(lasted)
        if lasted < BOUND_S:
            break
    assert min(took) < BOUND_S, took
