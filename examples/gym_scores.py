"""Returns of random agents and of every classic policy in the same draws: the table of docs/gym.md.

python examples/gym_scores.py                      # prints it: f2-file, 16 held-out draws
python examples/gym_scores.py --write docs/gym.md  # writes it into the page
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import gymnasium
import numpy as np

import joulepath as jp
import joulepath.gym as jg

IDS = ["joulepath/Rates-v0", "joulepath/Windows-v0", "joulepath/Paths-v0"]
SEED = 1


def random_agent(id: str, family: str, draws: list[int]) -> list[dict[str, Any]]:
    """Play each draw with actions uniform in −1 to 1."""
    env = gymnasium.make(id, family=family, range="check", draws=max(draws))
    actions = np.random.default_rng(SEED)
    rows = []
    for draw in draws:
        env.reset(options={"draw": draw, "run_seed": SEED})
        over = False
        while not over:
            action = actions.uniform(-1, 1, env.action_space.shape).astype(np.float32)
            _, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        rows.append(info["summary"])
    return rows


def row(name: str, episodes: list[dict[str, Any]]) -> tuple[float, str]:
    """Return the mean return, and a line of the table."""
    earned = fmean(episode["return_j"] for episode in episodes)
    energy = fmean(episode["energy_j"] for episode in episodes)
    share = fmean(episode["link_bound_share"] or 0.0 for episode in episodes)
    done = sum(episode["done"] for episode in episodes)
    times = [episode["time_s"] for episode in episodes if episode["time_s"] is not None]
    time = f"{fmean(times):.1f}" if times else ""
    cells = [f"{earned:.1f}", f"{energy:.1f}", f"{100 * share:.0f}", time, f"{done}/{len(episodes)}"]
    return earned, f"| {name} | " + " | ".join(cells) + " |"


def at_limit(episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the episodes' result at the limit, where the return equals the energy."""
    limits = []
    for episode in episodes:
        energy = episode["bits"] / episode["link_bound_bits_per_joule"]
        limits.append(
            episode | {"return_j": energy, "energy_j": energy, "link_bound_share": 1.0, "time_s": None}
        )
    return limits


def table(family: str, count: int) -> str:
    """Return the table of all agents and policies, the best return first."""
    draws = [1 + i for i in range(count)]
    by_policy: dict[str, list[dict[str, Any]]] = {}
    left_out = []
    for name in jp.policies()["policy"]:
        policy = "single:wifi" if name == "single" else name
        try:
            scored = jg.score([policy], family=family, draws=draws, seeds=[SEED], progress=False)
            by_policy[f"`{policy}`"] = scored.rows()
        except jp.UsageError as error:
            left_out.append(f"`{policy}`: {error.message}")
    rows = [row(policy, episodes) for policy, episodes in by_policy.items()]
    rows.append(row("the link bound", at_limit(by_policy["`joule`"])))
    rows += [row(f"random agent, {id}", random_agent(id, family, draws)) for id in IDS]
    rows.sort(reverse=True)
    head = "| | return, J | energy, J | of link bound, % | time, s | done |\n|---|---:|---:|---:|---:|---:|\n"
    lines = "\n".join(line for _, line in rows)
    note = f"`{family}`, draws 1 to {count} of `check`, seed {SEED}; means over the draws."
    if left_out:
        note += " Left out, because they do not fit a draw: " + "; ".join(left_out) + "."
    return f"{head}{lines}\n\n{note}\n"


def main() -> None:
    """Print the table, and write it to a file on request."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", default="f2-file")
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    text = table(given.family, given.draws)
    print(text, end="")
    if given.write is not None:
        page = given.write.read_text()
        marks = re.compile(r"(<!-- gym-scores: begin -->\n).*?(<!-- gym-scores: end -->)", re.DOTALL)
        given.write.write_text(marks.sub(lambda mark: mark[1] + text + mark[2], page))


if __name__ == "__main__":
    main()
