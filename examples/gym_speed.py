"""Steps of an environment per second of one core: the numbers of docs/gym.md.

python examples/gym_speed.py
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import joulepath.gym as jg

RTT_S = 0.04
PACKET_BITS = 1448 * 8
SECONDS = 1.0
"""CPU time for each case: other processes affect it less than clock time."""


def scenario(mbps: float) -> str:
    """Return two paths of the same rate, an RTT of 40 ms, and endless data."""
    path = (
        '[[path]]\nname = "{}"\nrate = "{} Mbit/s"\ndelay = "20 ms"\nqueue = "100 packets"\n'
        'energy = "{}-huang2012"\n'
    )
    both = path.format("wifi", mbps, "wifi") + path.format("lte", mbps, "lte")
    return f'title = "two paths"\nduration = "18 h"\n{both}'


def action_for(kind: type[jg.Environment], mbps: float) -> float:
    """Return the action, on the scale of ``absolute``, that uses half of a path."""
    rate = 0.5 * mbps * 1e6
    if kind is jg.Rates:
        share = math.log(rate / 64e3) / math.log(1e9 / 64e3)
    elif kind is jg.Windows:
        share = math.log(max(1.0, rate * RTT_S / PACKET_BITS)) / math.log(16384)
    else:
        return 1.0
    return 2 * share - 1


def alone(kind: type[jg.Environment], mbps: float, words: dict[str, Any]) -> tuple[float, float]:
    """Return steps per second of one environment, and packets that arrive per step."""
    env = kind(**words)
    env.reset(seed=1)
    action = np.full(2, action_for(kind, mbps), np.float32)
    for _ in range(100):
        env.step(action)
    before = env.summary() or {}
    steps, begin = 0, time.process_time()
    while (passed := time.process_time() - begin) < SECONDS:
        for _ in range(100):
            env.step(action)
        steps += 100
    after = env.summary() or {}
    return steps / passed, (after["bits"] - before["bits"]) / PACKET_BITS / steps


def together(mbps: float, words: dict[str, Any], count: int) -> float:
    """Return steps per second of many environments on one thread."""
    envs = jg.make_vec("joulepath/Rates-v0", count, jobs=1, **words)
    envs.reset(seed=1)
    actions = np.full((count, 2), action_for(jg.Rates, mbps), np.float32)
    steps, begin = 0, time.process_time()
    while (passed := time.process_time() - begin) < SECONDS:
        for _ in range(10):
            envs.step(actions)
        steps += 10 * count
    return steps / passed


def main() -> None:
    """Print a table: steps per second, and packets per step."""
    print("| rate of each path | step | Rates-v0 | Windows-v0 | Paths-v0 | 64 Rates-v0, one thread |")
    print("|---|---|---:|---:|---:|---:|")
    for mbps, interval in [(1.0, "10 ms"), (1.0, None), (10.0, "10 ms"), (10.0, None), (100.0, None)]:
        words: dict[str, Any] = {
            "scenario": scenario(mbps),
            "interval": interval,
            "price": 1.0,
            "action": "absolute",
        }
        cells = []
        for kind in (jg.Rates, jg.Windows, jg.Paths):
            rate, packets = alone(kind, mbps, words)
            cells.append(f"{rate:,.0f} ({packets:.0f})")
        cells.append(f"{together(mbps, words, 64):,.0f}")
        print(f"| {mbps:.0f} Mbit/s | {interval or 'an RTT'} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
