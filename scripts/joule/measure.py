"""Runs the studies, the kernel's links and the sealed scenarios."""

import json
import random
import statistics
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds

from common import (
    PRESETS,
    RESULTS,
    ROOT,
    distilled,
    joulepath,
    rounded,
    runs,
    write_json,
)

PRESET_SCENARIOS = 64

DRAWN_LINKS = 20
DRAWS_SEED = 2027
KERNEL_JOBS = 3
"""Runs in the kernel at the same time; three of them use half of a core."""
SEEDS = {"packet": 24, "kernel": 6}
KERNEL_POLICY = "joule[scheduler=mainline]"
"""The scheduler is the kernel's."""
KERNEL_RADIOS = (
    ("wifi6-2021", "lte-2021"),
    ("lte-2021", "5g-sa-2021"),
    ("wifi-huang2012", "lte-huang2012"),
)
"""Of successive draws, in turn."""
KERNEL_RUN = {"duration": "34 s", "warm_up": "8 s"}


def study(name: str) -> list[dict]:
    """The rows of a study's dataset. Runs what is missing in it."""
    folder = runs() / name
    joulepath("study", f"studies/{name}.toml", "--out", str(folder), "--quiet")
    rows = ds.dataset(ROOT / folder, format="parquet", exclude_invalid_files=True).to_table().to_pylist()
    if failed := [row["error"] for row in rows if row["error"]]:
        sys.exit(f"joule: {name}: a run failed: {failed[0]}")
    return rows


def controller(policy: str) -> str:
    return policy.removeprefix("uncoupled").removeprefix("[cc=").removesuffix("]") or "reno"


def measure_loss() -> dict:
    """Link use: mean, minimum and maximum over the seeds."""
    cells = defaultdict(list)
    for row in study("joule-loss"):
        cells[controller(row["policy"]), row["path_link_loss"]].append(row["goodput_bps"] / 20e6)
    use = defaultdict(list)
    for (cc, _), values in sorted(cells.items()):
        use[cc].append([rounded(statistics.fmean(values)), rounded(min(values)), rounded(max(values))])
    return {"losses": sorted({loss for _, loss in cells}), "use": use}


def measure_links() -> dict:
    """For each controller and link: the link use, and the mean RTT relative to the minimum."""
    links = defaultdict(lambda: {"use": [], "rtt": []})
    for row in sorted(study("joule-links"), key=lambda row: row["run"]):
        link = links[controller(row["policy"])]
        link["use"].append(rounded(row["goodput_bps"] / row["path_link_rate_bps"]))
        # The minimum RTT includes the transmission of a data packet.
        least_s = 2 * row["path_link_delay_s"] + 12e3 / row["path_link_rate_bps"]
        link["rtt"].append(rounded(row["link_mean_rtt_s"] / least_s))
    return links


def beside(name: str) -> dict:
    """For each controller and cell: the mean goodput of the competitors, and its own."""
    cells = defaultdict(lambda: defaultdict(list))
    for row in study(name):
        competitor = row["competitor"].replace(" ", "")
        kind = ("5 " if "count=5" in competitor else "1 ") + competitor.split('cc="')[1].split('"')[0]
        cell = (kind, row["path_link_queue_packets"], row["path_link_loss"])
        cells[controller(row["policy"])][cell].append((row["competitors_bps"], row["goodput_bps"]))
    return {
        cc: {cell: np.mean(found, axis=0) for cell, found in sorted(its.items())} for cc, its in cells.items()
    }


def measure_beside() -> dict:
    """By controller and cell: the goodput that competitors keep, and its own goodput relative to NewReno."""
    mean = beside("joule-beside")
    order = list(mean["reno"])
    over = {
        cc: [[rounded(x) for x in its[cell] / mean["reno"][cell]] for cell in order]
        for cc, its in mean.items()
    }
    return {
        "cells": order,
        "kept": {cc: [kept for kept, _ in its] for cc, its in over.items()},
        "goodput": {cc: [own for _, own in its] for cc, its in over.items()},
    }


def measure_bbr() -> dict:
    """For each competitor and controller: its own goodput relative to the competitor's, in each cell."""
    share = defaultdict(lambda: defaultdict(list))
    for cc, its in beside("joule-bbr").items():
        for (kind, _, _), (theirs, own) in its.items():
            share[kind.removeprefix("1 ")][cc].append(rounded(own / theirs))
    return share


def measure() -> None:
    write_json(
        RESULTS / "joule.json",
        {
            "program": joulepath("--version").strip(),
            "loss": measure_loss(),
            "links": measure_links(),
            "beside": measure_beside(),
            "bbr": measure_bbr(),
        },
    )


def presets() -> None:
    """Files and streams with each balance between energy and time, and with MPTCP."""
    told = joulepath(
        "benchmark",
        "--family",
        "f2-file,f3-stream",
        "--random",
        "check",
        "--scenarios",
        str(PRESET_SCENARIOS),
        "--policies",
        ",".join(("mptcp", *PRESETS)),
        "--warm",
        ",".join(PRESETS),
        "--runs",
        str(runs() / "presets.jsonl"),
        "--json",
        "--quiet",
    )
    write_json(RESULTS / "joule-presets.json", distilled(json.loads(told)))


SEALED_LOG = RESULTS / "benchmark-sealed.jsonl"
SEALED_SCENARIOS = 512
SEALED_POLICIES = "uncoupled,mptcp,emptcp,es-mptcp,overflow,joule"


def next_sealed() -> int:
    """Number of the first sealed scenario that has not been run. An unfinished run resumes."""
    lines = [json.loads(line) for line in SEALED_LOG.read_text().splitlines()] if SEALED_LOG.exists() else []
    commit = joulepath("--version").split("commit ")[1].rstrip(")\n")
    if lines and not lines[-1]["result_sha256"] and lines[-1]["commit"] == commit:
        return lines[-1].get("first", 1)
    return max((line.get("first", 1) + line["draws"] for line in lines), default=1)


def sealed(scenarios: int = SEALED_SCENARIOS, policies: str = SEALED_POLICIES) -> None:
    """Runs `scenarios` new sealed scenarios of each family; the log and the tables record their numbers."""
    first = next_sealed()
    told = joulepath(
        "benchmark",
        "--random",
        "sealed",
        "--first",
        str(first),
        "--scenarios",
        str(scenarios),
        "--policies",
        policies,
        "--warm",
        "joule",
        "--oracle",
        "--runs",
        str(runs() / "sealed.jsonl"),
        "--sealed-log",
        str(SEALED_LOG.relative_to(ROOT)),
        "--markdown",
        "docs/benchmark.md",
        "--json",
        "--quiet",
    )
    # The complete output, to check it against the log's SHA-256; some megabytes.
    (ROOT / runs() / f"sealed-from-{first}.json").write_text(told)
    subprocess.run(
        [sys.executable, ROOT / "scripts/pages.py", "keep", ROOT / "docs/benchmark.md"], check=True
    )
    write_json(RESULTS / "benchmark-sealed.json", distilled(json.loads(told)))


def drawn_links() -> list[list[tuple]]:
    """Two paths each: 5 to 30 Mbit/s, 8 to 60 ms, queues of 0.5 to 2.5 bandwidth-delay products."""
    draws = random.Random(DRAWS_SEED)

    def path() -> tuple:
        rate, delay = draws.randint(5, 30), draws.randint(8, 60)
        packets_in_flight = rate * 1e6 * 2 * delay / 1e3 / (8 * 1500)
        queue = max(20, round(packets_in_flight * draws.uniform(0.5, 2.5)))
        return f"{rate} Mbit/s", f"{delay} ms", queue, f"{draws.choice((0, 0.1, 0.3, 1))} %"

    return [[path(), path()] for _ in range(DRAWN_LINKS)]


def kernel_scenario(radios: tuple[str, str], links: list[tuple]) -> str:
    paths = "".join(
        f'\n[[path]]\nname = "{radio}"\nrate = "{rate}"\ndelay = "{delay}"\n'
        f'queue = "{queue} packets"\nloss = "{loss}"\n'
        f'energy = "{radio}"\n'
        for radio, (rate, delay, queue, loss) in zip(radios, links, strict=True)
    )
    head = "".join(f'{key} = "{value}"\n' for key, value in KERNEL_RUN.items())
    return f'title = "A link of the kernel measurements"\n{head}{paths}'


def compare(scenario: Path, engine: str) -> dict:
    told = joulepath(
        "compare",
        str(scenario),
        "--engine",
        engine,
        "--policies",
        KERNEL_POLICY,
        "--seeds",
        str(SEEDS[engine]),
        "--json",
        "--quiet",
    )
    row = json.loads(told)["rows"][0]
    return {
        "goodput_bps": row["goodput_bps"],
        "bits_per_joule": row["bits_per_joule"],
        "cellular": row["paths"][1]["goodput_bps"] / row["goodput_bps"]["mean"],
    }


def kernel() -> None:
    links = drawn_links()
    radios = [KERNEL_RADIOS[index % len(KERNEL_RADIOS)] for index in range(DRAWN_LINKS)]
    scenarios = []
    for index, of_scenario in enumerate(links):
        scenarios.append(runs() / f"kernel-{index}.toml")
        (ROOT / scenarios[-1]).write_text(kernel_scenario(radios[index], of_scenario))
    packet = [compare(scenario, "packet") for scenario in scenarios]
    with ThreadPoolExecutor(KERNEL_JOBS) as jobs:
        in_kernel = list(jobs.map(lambda scenario: compare(scenario, "kernel"), scenarios))
    rows = [
        {"radios": names, "links": of_scenario, "packet": simulated, "kernel": measured}
        for names, of_scenario, simulated, measured in zip(radios, links, packet, in_kernel, strict=True)
    ]
    release = subprocess.run(["uname", "-r"], capture_output=True, text=True, check=True).stdout.strip()
    write_json(
        RESULTS / "joule-kernel.json",
        {
            "program": joulepath("--version").strip(),
            "kernel": release,
            "seeds": SEEDS["kernel"],
            "packet_seeds": SEEDS["packet"],
            "run": KERNEL_RUN,
            "rows": rows,
        },
    )
