"""Speed of hooks in Python: calls per second, and the slowdown of a run.

    scripts/python.sh run examples/own_speed.py

Writes the table of docs/own-python.md. Each row is the median of 25 runs of 20 s on two paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import joulepath as jp

SCENARIO = jp.Scenario("quick").with_(duration="20 s")
RUNS = 25


class Nothing(jp.Controller):
    """Sees each ACK and does nothing: the cost of a call."""

    def on_ack(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
        pass


class NewReno(jp.Controller):
    """One line, one field."""

    name = "newreno"

    def increase(self, subflow: jp.Subflow) -> float:
        return 1 / subflow.cwnd_packets


class Lia(jp.Controller):
    """LIA, computed for each packet."""

    name = "my-lia"

    def increase(self, subflow: jp.Subflow) -> float:
        subflows = [other for other in subflow.subflows if other.counts]
        best = max(other.window_packets / other.srtt_us**2 for other in subflows)
        total = sum(other.window_packets / other.srtt_us for other in subflows)
        return min(best / total**2, 1 / subflow.window_packets)


class Lia16(Lia):
    """LIA as in the header: an increase is reused for 16 packets."""

    name = "my-lia-16"
    cache_acks = 16


class Rounds(jp.Controller):
    """Adds one packet in each round."""

    def on_round(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
        if not subflow.in_slow_start:
            subflow.cwnd_packets += 1


class Rate(jp.Controller):
    """Paces at the latest delivered rate."""

    owns_window = True

    def on_start(self, subflow: jp.Subflow) -> None:
        subflow.cwnd_packets = 10

    def on_ack(self, subflow: jp.Subflow, ack: jp.Ack) -> None:
        rate = 1.1 * ack.delivery_rate_bytes_per_s
        subflow.pacing_rate_bytes_per_s = rate
        subflow.cwnd_packets = max(10, 2 * rate * subflow.base_rtt_us / 1e6 / ack.mss_bytes)


class FirstFree(jp.Scheduler):
    """The first path with space."""

    name = "firstfree"

    def pick(self, paths: tuple[jp.PathView, ...], backlog: jp.Backlog) -> jp.PathView | None:
        for path in paths:
            if path.has_space:
                return path
        return None


class Both(jp.Selector):
    """All paths, ten times a second."""

    def want(self, paths: Sequence[jp.PathSnapshot], demand: jp.Demand) -> Sequence[jp.Use]:
        return ["regular" for _ in paths]


class Even(jp.Allocator):
    """Equal shares, ten times a second."""

    period_s = 0.1

    def shares(self, paths: Sequence[jp.AllocatorPath], demand: jp.Demand) -> Sequence[float]:
        return [1 / len(paths) for _ in paths]


def main() -> None:
    """Print the table."""
    print("| hook | of | calls in 20 s | calls/s | times as long |")
    print("|---|---|---:|---:|---:|")
    rows: list[tuple[str, jp.Part]] = [
        ("`on_ack`", Nothing()),
        ("`increase`", NewReno()),
        ("`increase`", Lia()),
        ("`increase`, `cache_acks = 16`", Lia16()),
        ("`on_round`", Rounds()),
        ("`on_ack`, `owns_window`", Rate()),
        ("`pick`", FirstFree()),
        ("`want`", Both()),
        ("`shares`", Even()),
    ]
    for hook, part in rows:
        costs = [
            jp.compare(SCENARIO, part, seeds=range(k, k + 1)).python_costs[0] for k in range(1, RUNS + 1)
        ]
        calls, speed = median(cost.calls for cost in costs), median(cost.calls_per_s for cost in costs)
        slowdown = median(cost.slowdown for cost in costs)
        summary = (type(part).__doc__ or "").rstrip(".")
        print(f"| {hook} | {summary} | {calls:,} | {speed:,.0f} | {slowdown:.1f} |", flush=True)


if __name__ == "__main__":
    main()
