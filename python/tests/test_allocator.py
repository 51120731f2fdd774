"""Allocators that are Python classes."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from functools import reduce
from math import sqrt
from operator import add
from typing import Any

import pytest

import joulepath as jp

LEAST_LOSS = 1e-5
MOVED = 0.1


def in_order(terms: Iterable[float]) -> float:
    """A sum from left to right: since Python 3.12 the built-in one rounds differently."""
    return reduce(add, terms, 0.0)


def efficient(paths: Sequence[jp.AllocatorPath], capacity: Sequence[float]) -> list[float]:
    """The split with the most bits per joule: 000, problem (4)-(7) in reading C, like the built-in solver."""
    order = sorted(range(len(paths)), key=lambda i: paths[i].slope_joules_per_bit)
    required, dearest = max(capacity), max(path.slope_joules_per_bit for path in paths)
    power, total, rates = in_order(paths[i].sunk_w for i in order), 0.0, [0.0] * len(paths)
    most = in_order(path.sunk_w for path in paths) + dearest * required
    for i in order:
        slope = paths[i].slope_joules_per_bit
        pays = total == 0 or slope * total < power
        wanted = capacity[i] if pays else max(required - total, 0.0)
        rates[i] = min(wanted, capacity[i], (most - power) / slope)
        total += rates[i]
        power += slope * rates[i]
    whole = in_order(rates)
    return [rate / whole for rate in rates]


class Once(jp.Allocator):
    """EEMPTCP's allocator, solved before the transfer."""

    def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float] | None:
        if demand.now_s > 0:
            return None
        return efficient(paths, [path.expected_bps or 0.0 for path in paths])


class Online(jp.Allocator):
    """EEMPTCP's allocator, solved again when a capacity has changed."""

    def __init__(self) -> None:
        self.solved: list[float] = []

    def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float] | None:
        if not self.solved:
            self.solved = [path.expected_bps or 0.0 for path in paths]
            return efficient(paths, self.solved)
        now = [
            8 * demand.mss_bytes / (path.srtt_s * sqrt(2 * max(path.loss, LEAST_LOSS) / 3))
            if path.srtt_s and path.loss > 0
            else known
            for path, known in zip(paths, self.solved, strict=True)
        ]
        if all(abs(new - old) <= MOVED * old for new, old in zip(now, self.solved, strict=True)):
            return None
        self.solved = now
        return efficient(paths, now)


class Fixed(jp.Allocator):
    """Constant shares."""

    def __init__(self, *fixed: float) -> None:
        self.fixed = list(fixed)

    def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float] | None:
        return self.fixed


PAPER = jp.Scenario("papers/000-table1").with_(duration="20 s")


def numbers(result: jp.Comparison, policy: str) -> list[tuple[Any, ...]]:
    columns = ["goodput_bps", "energy_j", "retransmitted"]
    known = [column for column in columns if column in result.runs.columns]
    return [tuple(row[name] for name in known) for row in result.runs if row["policy"] == policy]


@pytest.mark.parametrize(("ours", "mine"), [("eemptcp[solve=once]", Once()), ("eemptcp", Online())])
def test_eemptcps_allocator_in_python_equals_the_built_in_one_to_the_last_bit(
    ours: str, mine: jp.Allocator
) -> None:
    result = jp.compare(PAPER, [ours, mine], seeds=2)
    assert numbers(result, ours) == numbers(result, mine.policy)
    assert len(set(numbers(result, ours))) == 2


def test_shares_that_change_during_a_run_change_the_result() -> None:
    once, online = Once(), Online()
    result = jp.compare(PAPER, [once, online], seeds=1)
    assert numbers(result, once.policy) != numbers(result, online.policy)


def test_the_fluid_engine_calls_once_and_gives_the_built_in_results() -> None:
    ours, mine = "eemptcp", Once()
    result = jp.compare("papers/000-table1", [ours, mine], engine="fluid")
    assert numbers(result, ours) == numbers(result, mine.policy)
    [cost] = result.python_costs
    # Two calls: the copy of the object, and the hook.
    assert cost.calls == 2
    even = jp.compare("papers/000-table1", Fixed(0.4, 0.3, 0.3), engine="fluid")
    assert even["goodput_bps_mean"][0] != result["goodput_bps_mean"][0]


def test_data_follows_the_shares() -> None:
    lossy = {"path.wifi.loss": "1 %", "path.lte.loss": "1 %", "path.lte.rate": "10 Mbit/s"}
    alike = jp.Scenario("quick").with_(lossy, duration="10 s")
    of_wifi = []
    for share in (0.9, 0.1):
        run = jp.run(alike, Fixed(share, 1 - share)).to_dict()
        wifi, lte = (path["segments"] for path in run["paths"])
        of_wifi.append(wifi / (wifi + lte))
    assert of_wifi[0] > of_wifi[1] + 0.2, of_wifi


SEEN: list[tuple[float, list[jp.AllocatorPath], jp.Demand]] = []


class Looks(jp.Allocator):
    """Records its inputs."""

    period_s = 0.5

    def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float] | None:
        SEEN.append((demand.now_s, list(paths), demand))
        return [1 / len(paths)] * len(paths)


def test_it_is_called_before_the_first_measurement_and_then_once_per_period() -> None:
    SEEN.clear()
    jp.run(jp.Scenario("quick").with_({"path.wifi.loss": "10 %"}, duration="3 s"), Looks())
    times = [round(now, 9) for now, _, _ in SEEN]
    assert times == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    _, first, demand = SEEN[0]
    assert [path.name for path in first] == ["wifi", "lte"]
    assert {(path.state, path.srtt_s, path.capacity_bps) for path in first} == {("closed", None, None)}
    assert (demand.waiting_bytes, demand.mss_bytes) == (None, 1460)
    # WiFi by Mathis: 8 * 1460 / (0.01 s * sqrt(2 * 0.1 / 3)) = 4.52 Mbit/s. LTE has no loss and the rate of
    # its link, 5 Mbit/s, less 40 bytes of headers per 1460.
    wifi, lte = first
    assert wifi.expected_bps == pytest.approx(4.52e6, rel=1e-3)
    assert lte.expected_bps == pytest.approx(5e6 * 1460 / 1500)
    _, last, _ = SEEN[-1]
    assert 0.01 < (last[0].srtt_s or 0) < 0.1
    assert last[0].state == "open"
    assert last[0].loss > 0
    assert (last[0].expected_bps, last[1].expected_bps) == (wifi.expected_bps, lte.expected_bps)
    rate = 5e6
    per_bit = lte.slope_joules_per_bit + lte.sunk_w / rate
    assert 0 < lte.slope_joules_per_bit < per_bit < 1e-3


class Reads(jp.Controller):
    """NewReno that records its share."""

    name = "reads"
    reads = ("target_share",)

    def increase(self, subflow: jp.Subflow) -> float:
        TOLD.add((subflow.path, round(subflow.target_share, 5)))
        return 1 / subflow.cwnd_packets


TOLD: set[tuple[str | None, float]] = set()


def test_your_controller_gets_the_shares_of_your_allocator() -> None:
    TOLD.clear()
    fixed, reads = Fixed(0.25, 0.75), Reads()
    assert (fixed.policy, reads.policy) == ("eemptcp[allocator=fixed]", "reads")
    jp.run("home-wifi-lte", f"reads[allocator={fixed.name or 'fixed'}]")
    assert {("wifi", 0.25), ("lte", 0.75)} == TOLD


class Gambler(jp.Allocator):
    """Random shares."""

    period_s = 0.1

    def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float] | None:
        first = self.random.random()
        return [first, 1 - first]


def test_equal_seeds_give_equal_bytes_whatever_else_runs() -> None:
    lossy = jp.Scenario("quick").with_({"path.wifi.loss": "1 %", "path.lte.loss": "1 %"}, duration="3 s")
    every = jp.compare(lossy, ["mptcp", Gambler()], seeds=3)
    alone = jp.compare(lossy, ["mptcp", Gambler()], seeds=3, jobs=1)
    assert every.to_json() == alone.to_json()


def test_an_exception_reports_time_seed_and_traceback_and_other_runs_continue() -> None:
    class Late(jp.Allocator):
        def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float] | None:
            if demand.now_s >= 2:
                raise LookupError("no such share")
            return [0.5, 0.5]

    with pytest.warns(jp.JoulepathWarning, match="`eemptcp\\[allocator=late\\]`, seed 4: at 2.000000 s"):
        result = jp.compare(jp.Scenario("quick").with_(duration="3 s"), ["mptcp", Late()], seeds=range(4, 5))
    assert len(result.runs) == 1
    [failed] = result.failures
    assert failed.error == "at 2.000000 s, in shares of `late`: LookupError: no such share"
    assert 'raise LookupError("no such share")' in "".join(traceback.format_exception(failed.cause))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([1.0], "1 shares for 2 paths"),
        ([0.5, 0.2], "add up to 0.7, not to 1"),
        ([1.5, -0.5], "a share is 0 to 1"),
        ([float("nan"), 1.0], "a share is 0 to 1"),
        (0.5, "TypeError"),
        (["much", "little"], "ValueError"),
    ],
)
def test_invalid_shares_are_reported(answer: Any, said: str) -> None:
    allocator = Fixed()
    allocator.fixed = answer
    with pytest.raises(jp.RunError, match=said) as raised:
        jp.run("quick", allocator)
    assert "seed 1: at 0.000000 s, in shares of `fixed`" in str(raised.value)


def test_invalid_definitions_are_refused_before_a_run() -> None:
    class Empty(jp.Allocator):
        pass

    class Hasty(Fixed):
        period_s = 0.01

    ours, taken = Fixed(1.0), Fixed(0.5, 0.5)
    ours.name, taken.name = "so-mptcp", "none"
    cases: list[tuple[Any, str]] = [
        (Empty(), "has no `shares`"),
        (Hasty(0.5, 0.5), "a period is 0.1 to 3600 s, not 0.01"),
        (ours, "is a built-in name"),
        (taken, "is a built-in name"),
        (f"mptcp[allocator={Fixed(0.5, 0.5).policy[18:-1]}]", "lia reads no target shares"),
        ("eemptcp[allocator=fixde]", "there is no allocator `fixde`"),
        ("eemptcp[allocator=fixed,solve=once]", "add `allocator=eemptcp`"),
    ]
    for policy, said in cases:
        with pytest.raises(jp.UsageError, match=said):
            jp.run("quick", policy)
    with pytest.raises(jp.UnsupportedError, match="identifies policies by name"):
        jp.Study.build("quick", {"path.wifi.loss": ["1 %"]}, ["eemptcp[allocator=fixed]"], seeds=1)
