#!/usr/bin/env python3
"""Draws random scenarios for `joulepath live judge`, so that the daemon is judged on scenarios that it was not tuned on.

    scripts/draw_live.py FOLDER [--seed N] [--count N]

The rule below and the seed choose the scenarios, and none is left out. Every range is wider than in scenarios/live.
Ranges of more than a factor of four are uniform in the logarithm.
"""

import argparse
import math
import pathlib
import random

SEED = 20261125
COUNT = 10
# Intents in turn. `frugal`, which has the strictest goals, has four of ten.
INTENTS = [
    *("frugal", "interactive", "aggregate", "frugal", "handover"),
    *("frugal", "overflow", "interactive", "aggregate", "frugal"),
]
DURATION_S = 30


def wide(draw: random.Random, low: float, high: float) -> float:
    """A random number, uniform in the logarithm, with two digits."""
    value = math.exp(draw.uniform(math.log(low), math.log(high)))
    digits = 1 - math.floor(math.log10(value))
    return round(value, digits)


def number(value: float) -> str:
    return f"{value:g}"


def wifi(draw: random.Random) -> list[str]:
    rate = wide(draw, 2, 60)
    lines = ["[[path]]", 'name = "wifi"']
    # One in four fades to a tenth in two steps.
    if draw.random() < 0.25:
        at = draw.randint(4, 12)
        steps = [(0, rate), (at, rate / 3), (at + draw.randint(2, 8), rate / 10)]
        text = ", ".join(f'["{s} s", "{number(round(mbps, 2))} Mbit/s"]' for s, mbps in steps)
        lines.append(f"rate = {{ steps = [{text}] }}")
    else:
        lines.append(f'rate = "{number(rate)} Mbit/s"')
    lines += [f'delay = "{draw.randint(3, 40)} ms"', 'queue = "150 packets"', 'energy = "wifi-huang2012"']
    loss = draw.choice([0, 0, 0.2, 1])
    if loss:
        lines.append(f'loss = "{number(loss)} %"')
    # One in three has an outage.
    if draw.random() < 1 / 3:
        begin, length = draw.randint(5, 15), draw.randint(1, 8)
        lines.append(f'outages = [["{begin} s", "{begin + length} s"]]')
    return [*lines, ""]


def cellular(draw: random.Random) -> list[str]:
    profile = draw.choice(["lte-huang2012", "lte-huang2012", "3g-huang2012"])
    most = 40 if profile.startswith("lte") else 8
    rate, delay = wide(draw, 2, most), draw.randint(15, 60)
    lines = ["[[path]]", 'name = "cellular"', f'rate = "{number(rate)} Mbit/s"', f'delay = "{delay} ms"']
    return [*lines, 'queue = "300 packets"', f'energy = "{profile}"', ""]


def workload(draw: random.Random) -> list[str]:
    kind = draw.choice(["bulk", "upload", "file", "stream", "requests"])
    if kind == "bulk":
        lines = ['kind = "bulk"']
    elif kind == "upload":
        lines = ['kind = "bulk"', 'direction = "upload"']
    elif kind == "file":
        lines = ['kind = "file"', f'size = "{number(wide(draw, 0.3, 30))} MB"']
    elif kind == "stream":
        lines = ['kind = "stream"', f'rate = "{round(1000 * wide(draw, 0.3, 8))} kbit/s"', 'interval = "40 ms"']
    else:
        size, think = round(wide(draw, 50, 500)), draw.randint(300, 2000)
        lines = ['kind = "requests"', f'size = "{size} kB"', f'think = "{think} ms"']
    return ["[workload]", *lines, ""]


def scenario(draw: random.Random, name: str) -> str:
    paths = [wifi(draw), cellular(draw)]
    # One in four connections starts on the expensive radio.
    if draw.random() < 0.25:
        paths.reverse()
    singles = ["single:wifi[cc=cubic]", "single:cellular[cc=cubic]", "single-best[cc=cubic]"]
    policies = ["linux", *singles, "backup[cc=cubic]"]
    lines = ["# Drawn by scripts/draw_live.py: change the rule, not the file.", "", f'title = "{name}"']
    lines += [f'duration = "{DURATION_S} s"', "", *(line for path in paths for line in path)]
    lines += ["[device]", 'preset = "phone2015"', "", *workload(draw), "[compare]", "policies = ["]
    return "\n".join([*lines, *(f'    "{policy}",' for policy in policies), "]", "seeds = 1", ""])


def config(draw: random.Random, intent: str) -> str:
    lines = [f'intent = "{intent}"', "", "[[interface]]", 'name = "wifi"', "cost = 1", ""]
    lines += ["[[interface]]", 'name = "cellular"', "cost = 2"]
    # One plan in three is metered.
    if draw.random() < 1 / 3:
        lines.append("metered = true")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    options = parser.parse_args()
    (options.folder / "daemon").mkdir(parents=True, exist_ok=True)
    for k in range(options.count):
        draw = random.Random(f"{options.seed}/{k}")
        name, intent = f"drawn-{k + 1:02}", INTENTS[k % len(INTENTS)]
        (options.folder / f"{name}.toml").write_text(scenario(draw, f"Drawn at random, {k + 1}: {intent}"))
        (options.folder / "daemon" / f"{name}.toml").write_text(config(draw, intent))


if __name__ == "__main__":
    main()
