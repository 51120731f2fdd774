"""Controllers, schedulers and selectors that are Python classes."""

from __future__ import annotations

import _thread
import threading
import time
import traceback
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

import joulepath as jp


class NewReno(jp.Controller):
    """NewReno: 1/w per packet."""

    name = "pynewreno"

    def increase(self, subflow: jp.Subflow) -> float:
        return 1 / subflow.cwnd_packets


class Lia(jp.Controller):
    """LIA in floating point (RFC 6356)."""

    name = "pylia"
    cache_acks = 16

    def increase(self, subflow: jp.Subflow) -> float:
        alone = 1 / subflow.window_packets
        subflows = [other for other in subflow.subflows if other.counts]
        if len(subflows) < 2:
            return alone
        best = max(other.window_packets / other.srtt_us**2 for other in subflows)
        total = sum(other.window_packets / other.srtt_us for other in subflows)
        return min(best / total**2, alone)


class Fixed(jp.Controller):
    """Ten packets, paced at a constant rate."""

    name = "fixed"
    owns_window = True

    def __init__(self, rate_bytes_per_s: float = 0.0) -> None:
        self.rate_bytes_per_s = rate_bytes_per_s

    def on_start(self, subflow: jp.Subflow) -> None:
        subflow.cwnd_packets = 10
        subflow.pacing_rate_bytes_per_s = self.rate_bytes_per_s

    def on_ack(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
        subflow.cwnd_packets = 10


class FirstFree(jp.Scheduler):
    """The first path with space, in the connection's order."""

    name = "firstfree"
    rescues = False

    def pick(self, paths: tuple[jp.PathView, ...], backlog: jp.Backlog) -> jp.PathView | None:
        return next(path for path in paths if path.has_space)


class OnlyWifi(jp.Selector):
    """WiFi alone."""

    name = "onlywifi"

    def want(self, paths: Sequence[jp.PathSnapshot], demand: jp.Demand) -> Sequence[jp.Use]:
        return ["regular" if path.name == "wifi" else "closed" for path in paths]


def numbers(result: jp.Comparison) -> list[list[Any]]:
    """Goodput and energy of each run, by policy."""
    of_policy: dict[str, list[Any]] = {}
    for row in result.runs:
        of_policy.setdefault(row["policy"], []).append((row["goodput_bps"], row["energy_j"]))
    return list(of_policy.values())


def test_newreno_in_python_is_newreno_except_for_rounding() -> None:
    result = jp.compare("home-wifi-lte", ["reno", NewReno()], seeds=2)
    ours, mine = numbers(result)
    for (goodput, _), (other, _) in zip(ours, mine, strict=True):
        assert other == pytest.approx(goodput, rel=0.05)
    assert result["policy"] == ["reno", "pynewreno"]


def test_lia_in_python_carries_as_much_as_lia_and_less_than_newreno() -> None:
    lossy = jp.Scenario("quick").with_({"path.wifi.loss": "1 %", "path.lte.loss": "1 %"}, duration="20 s")
    lia, mine, reno = numbers(jp.compare(lossy, ["lia", Lia(), "reno"], seeds=3))
    mean = [sum(goodput for goodput, _ in runs) / 3 for runs in (lia, mine, reno)]
    assert mean[1] == pytest.approx(mean[0], rel=0.1)
    assert mean[1] < 0.9 * mean[2]


def test_a_scheduler_in_python_equals_the_rust_one_to_the_last_bit() -> None:
    result = jp.compare("quick", ["mptcp[scheduler=first-free]", FirstFree()], seeds=3)
    ours, mine = numbers(result)
    assert ours == mine
    assert result["policy"][1] == "mptcp[scheduler=firstfree]"
    # The call in a result names it, too.
    assert "'mptcp[scheduler=firstfree]'" in result.to_dict()["manifest"]["command"]


def test_a_selector_in_python_uses_the_paths_that_it_wants() -> None:
    result = jp.compare("quick", ["single:wifi[cc=lia]", OnlyWifi()], seeds=2)
    ours, mine = numbers(result)
    assert ours == mine
    run = jp.run("quick", OnlyWifi()).to_dict()
    assert [path["segments"] > 0 for path in run["paths"]] == [True, False]


def test_a_controller_that_owns_its_window_sets_window_and_pacing_in_every_state() -> None:
    slow = Fixed(50_000)
    slow.name = "fixedslow"
    result = jp.compare("home-wifi-lte", [Fixed(), slow], seeds=1, series=True)
    windows = [row for row in result.series if row["policy"] == "fixed" and row["cwnd_packets"]]
    assert {row["cwnd_packets"] for row in windows if row["time_s"] > 1} == {10.0}
    # Two paths at 50 kB/s each are 0.8 Mbit/s.
    assert result["goodput_bps_mean"][1] < 0.85e6 < result["goodput_bps_mean"][0]


def test_parts_can_be_combined_by_name() -> None:
    lia, first, wifi = Lia(), FirstFree(), OnlyWifi()
    assert (lia.policy, first.policy) == ("pylia", "mptcp[scheduler=firstfree]")
    assert wifi.policy == "mptcp[selector=onlywifi]"
    run = jp.run("quick", f"mptcp[cc={lia.name},scheduler={first.name},selector={wifi.name}]")
    assert run.goodput_bps > 1e6


class Gambler(jp.Controller):
    """Grows by chance."""

    name = "gambler"

    def __init__(self) -> None:
        self.calls = 0

    def increase(self, subflow: jp.Subflow) -> float:
        self.calls += 1
        return self.random.random() / subflow.cwnd_packets + self.calls * 1e-9


def test_equal_seeds_give_equal_bytes_whatever_else_runs() -> None:
    gambler = Gambler()
    all_cores = jp.compare("quick", ["mptcp", gambler], seeds=4)
    alone = jp.compare("quick", ["mptcp", gambler], seeds=4, jobs=1)
    assert all_cores.runs_to_csv() == alone.runs_to_csv()
    assert all_cores.to_json() == alone.to_json()
    assert len(set(all_cores.runs["goodput_bps"][4:])) > 1
    # The passed object is a prototype: every connection has a copy.
    assert gambler.calls == 0


FIRST_DRAW = Random("2/0").getrandbits(32)


def test_an_exception_ends_only_its_run_and_reports_time_seed_subflow_and_traceback() -> None:
    class Unlucky(NewReno):
        name = "unlucky"
        calls = 0

        def increase(self, subflow: jp.Subflow) -> float:
            self.calls += 1
            if self.calls == 100 and self.random.getrandbits(32) == FIRST_DRAW:
                raise ZeroDivisionError("no such thing")
            return 0.01

    with pytest.warns(
        jp.JoulepathWarning, match=r"1 runs failed; the first: `unlucky`, seed 2: at \d\.\d{6} s"
    ):
        result = jp.compare("quick", ["mptcp", Unlucky()], seeds=3)
    assert result.partial
    assert [row["seed"] for row in result.runs if row["policy"] == "unlucky"] == [1, 3]
    [failed] = result.failures
    assert "on subflow " in failed.error
    assert "(wifi), in increase of `unlucky`: ZeroDivisionError: no such thing" in failed.error
    assert isinstance(failed.cause, ZeroDivisionError)
    told = "".join(traceback.format_exception(failed.cause))
    assert 'raise ZeroDivisionError("no such thing")' in told
    assert "joulepath: seed 2, at " in told
    with pytest.raises(jp.RunError, match="`unlucky`, seed 2: at ") as raised:
        jp.run("quick", Unlucky(), seed=2)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def wrong(controller: type[jp.Controller]) -> str:
    with pytest.raises(jp.RunError) as raised:
        jp.run("quick", controller())
    return str(raised.value)


def test_violations_of_the_contract_are_reported() -> None:
    class Nothing(NewReno):
        def on_ack(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
            subflow.cwnd_packets = 0.5

    class Nan(NewReno):
        def increase(self, subflow: jp.Subflow) -> float:
            return float("nan")

    class Round(NewReno):
        def increase(self, subflow: jp.Subflow) -> float:
            return 3.0

    class Impure(NewReno):
        def increase(self, subflow: jp.Subflow) -> float:
            subflow.cwnd_packets = 9
            return 0.0

    class Greedy(NewReno):
        def on_ack(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
            for other in subflow.subflows:
                other.cwnd_packets = 9

    class Curious(NewReno):
        def increase(self, subflow: jp.Subflow) -> float:
            return subflow.energy_cost

    class Pacing(NewReno):
        def on_start(self, subflow: jp.Subflow) -> None:
            subflow.pacing_rate_bytes_per_s = 1e6

    class Thresh(NewReno):
        def ssthresh(self, subflow: jp.Subflow, loss: jp.Loss) -> float:
            return -1

        def on_start(self, subflow: jp.Subflow) -> None:
            subflow.cwnd_packets = 4000

    assert "a congestion window is 1 to 1048576 packets, not 0.5" in wrong(Nothing)
    assert "an increase is -2 to 2 packets for each packet acknowledged, not NaN" in wrong(Nan)
    assert "not per round" in wrong(Round)
    assert "increase and ssthresh change nothing" in wrong(Impure)
    assert "its own subflow only" in wrong(Greedy)
    assert 'reads = ("energy_cost",)' in wrong(Curious)
    assert "owns_window = True" in wrong(Pacing)
    assert "a slow start threshold is 1 to 1048576 packets, not -1" in wrong(Thresh)


def test_a_view_kept_beyond_its_hook_is_refused() -> None:
    kept: list[jp.Subflow] = []

    class Keeps(NewReno):
        def on_start(self, subflow: jp.Subflow) -> None:
            kept.append(subflow)

    jp.run("quick", Keeps())
    assert kept[0].path == "wifi"
    with pytest.raises(RuntimeError, match="within its hook only"):
        _ = kept[0].cwnd_packets


def test_invalid_answers_of_schedulers_and_selectors_are_reported() -> None:
    class Full(FirstFree):
        def pick(self, paths: tuple[jp.PathView, ...], backlog: jp.Backlog) -> jp.PathView | None:
            return next((path for path in paths if not path.has_space), paths[0])

    class Word(FirstFree):
        def pick(self, paths: tuple[jp.PathView, ...], backlog: jp.Backlog) -> Any:
            return "wifi"

    class Few(OnlyWifi):
        def want(self, paths: Sequence[jp.PathSnapshot], demand: jp.Demand) -> Sequence[jp.Use]:
            return ["regular"]

    class Lost(OnlyWifi):
        def want(self, paths: Sequence[jp.PathSnapshot], demand: jp.Demand) -> Sequence[jp.Use]:
            return ["closed" for _ in paths]

    cases: list[tuple[jp.Part, str]] = [
        (Full(), "has no space in its window"),
        (Word(), "pick returned 'wifi'"),
        (Few(), "1 uses for 2 paths"),
        (Lost(), "left no path regular"),
    ]
    for part, said in cases:
        with pytest.raises(jp.RunError, match=said):
            jp.run("quick", part)


def test_invalid_names_are_refused_before_a_run() -> None:
    class Empty(jp.Controller):
        name = "empty"

    first, second, ours, odd = NewReno(), NewReno(), NewReno(), NewReno()
    ours.name, odd.name = "olia", "My CC"
    cases: list[tuple[list[jp.Part], str]] = [
        ([first, second], "two parts are called `pynewreno`"),
        ([ours], "is a built-in name"),
        ([odd], "not a valid name of a part"),
        ([Empty()], "never changes a window"),
    ]
    for policies, said in cases:
        with pytest.raises(jp.UsageError, match=said):
            jp.compare("quick", policies, seeds=1)
    with pytest.raises(jp.UnsupportedError, match="fluid engine cannot run"):
        jp.compare("quick", [first], engine="fluid")
    with pytest.raises(jp.UnsupportedError):
        jp.compare("quick", [FirstFree()], engine="fluid")


def test_a_changed_class_replaces_the_old_one_of_its_name() -> None:
    def of(step: float) -> jp.Controller:
        class Step(jp.Controller):
            name = "step"

            def increase(self, subflow: jp.Subflow) -> float:
                return step / subflow.cwnd_packets

        return Step()

    assert jp.run("home-wifi-lte", of(0.01)).goodput_bps < jp.run("home-wifi-lte", of(1.0)).goodput_bps


def test_the_cost_of_python_is_shown_only_with_the_table() -> None:
    result = jp.compare("quick", ["mptcp", NewReno()], seeds=2)
    [cost] = result.python_costs
    assert (cost.policy, cost.runs) == ("pynewreno", 2)
    assert cost.calls > 100
    assert cost.slowdown > 1
    assert str(cost) in result.text()
    assert "is Python" not in result.to_json()
    assert "is Python" not in jp.compare("quick", ["mptcp"], seeds=1).text()


class Endless(NewReno):
    """Never returns."""

    name = "endless"

    def increase(self, subflow: jp.Subflow) -> float:
        started.set()
        while True:
            time.sleep(0.001)


started = threading.Event()


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_ends_a_hook_that_never_returns_and_keeps_finished_runs() -> None:
    finished = threading.Event()

    def tell(done: int, _runs: int, _note: str | None) -> None:
        if done == 1:
            finished.set()

    def press() -> None:
        if started.wait(60) and finished.wait(60):
            _thread.interrupt_main()

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(jp.Interrupted) as stopped:
        jp.compare("quick", ["mptcp", Endless()], seeds=1, jobs=2, progress=tell)
    assert stopped.value.result.partial
    assert [row["policy"] for row in stopped.value.result.runs] == ["mptcp"]


def test_on_round_runs_once_per_rtt_and_can_set_the_window() -> None:
    calls: list[tuple[float, int, bool]] = []

    class Rounds(jp.Controller):
        name = "rounds"

        def on_round(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
            calls.append((subflow.now_us / 1e6, subflow.round_min_rtt_us, ack.ends_round))
            if not subflow.in_slow_start:
                subflow.cwnd_packets += 1

    single = jp.run("quick", f"single:wifi[cc={Rounds().policy}]")
    times = [at for at, _, _ in calls]
    # A round lasts at least an RTT.
    assert all(
        later - earlier > 0.9 * rtt / 1e6
        for earlier, later, (_, rtt, _) in zip(times, times[1:], calls, strict=False)
    )
    assert len(calls) > 5
    assert all(ends for _, _, ends in calls)
    assert single.goodput_bps > 1e6


def test_studies_and_environments_refuse_your_own_parts() -> None:
    import joulepath.gym as jg

    name = NewReno().policy
    with pytest.raises(jp.UnsupportedError, match="identifies policies by name"):
        jp.Study.build("quick", {"path.wifi.loss": ["1 %", "2 %"]}, [name], seeds=1)
    with pytest.raises(jp.UnsupportedError, match="steps of an environment"):
        jg.score([f"mptcp[scheduler={FirstFree().name}]", FirstFree().policy], "quick", seeds=[1])


def test_a_hook_that_would_wait_for_its_own_run_is_refused() -> None:
    class Asks(NewReno):
        def increase(self, subflow: jp.Subflow) -> float:
            return jp.run("quick", NewReno()).goodput_bps

    assert "a hook cannot run anything" in wrong(Asks)


def test_explain_refuses_python_controllers_without_a_formula() -> None:
    with pytest.raises(jp.JoulepathError):
        jp.explain(NewReno().policy, [{"cwnd": 10, "srtt_us": 20_000}])
