"""How many steps a second an environment does on one core: the numbers of docs/gym.md.

python examples/gym_speed.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import joulepath.gym as jg

SECONDS = 3.0
"""How long each case is measured."""


def scenario(mbps: float) -> str:
    """Return two paths of the same rate, an RTT of 40 ms, and data without end."""
    path = (
        '[[path]]\nname = "{}"\nrate = "{} Mbit/s"\ndelay = "20 ms"\nqueue = "100 packets"\n'
        'energy = "{}-huang2012"\n'
    )
    both = path.format("wifi", mbps, "wifi") + path.format("lte", mbps, "lte")
    return f'title = "two paths"\nduration = "1 h"\n{both}'


def alone(kind: type[jg.Environment], words: dict[str, Any]) -> float:
    """Steps a second of one environment."""
    env = kind(**words)
    env.reset(seed=1)
    action = np.full(2, 0.0 if kind is not jg.Paths else 1.0, np.float32)
    steps, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < SECONDS:
        for _ in range(100):
            *_, truncated, _ = env.step(action)
            if truncated:
                env.reset()
        steps += 100
    return steps / passed


def together(words: dict[str, Any], count: int, jobs: int) -> float:
    """Steps a second of many environments."""
    envs = jg.make_vec("joulepath/Rates-v0", count, jobs=jobs, **words)
    envs.reset(seed=1)
    actions = np.zeros((count, 2), np.float32)
    steps, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < SECONDS:
        for _ in range(10):
            envs.step(actions)
        steps += 10 * count
    return steps / passed


def main() -> None:
    """Print a table."""
    print("| rate of each path | step | Rates-v0 | Windows-v0 | Paths-v0 | 64 Rates-v0, one thread |")
    print("|---|---|---:|---:|---:|---:|")
    for mbps, interval in [(1, "10 ms"), (1, None), (10, "10 ms"), (10, None)]:
        words: dict[str, Any] = {"scenario": scenario(mbps), "interval": interval, "price": 1.0}
        rates = [alone(kind, words) for kind in (jg.Rates, jg.Windows, jg.Paths)]
        rates.append(together(words, 64, 1))
        cells = " | ".join(f"{rate:,.0f}" for rate in rates)
        print(f"| {mbps} Mbit/s | {interval or 'an RTT'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
