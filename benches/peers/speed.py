#!/usr/bin/env python3
"""Measures the speed of the packet engine beside ns-2 and ns-3, and beside an older commit, in one run.

    benches/peers/speed.py [--rounds N] [--baseline COMMIT] [--json FILE] [--write]

The engines take turns: in each round each of them runs each workload once, so that a disturbance of the
machine meets all of them. What counts is user CPU time of one core, and the ratio of two engines within a
round; the median over the rounds is shown, with the least and the greatest. --baseline builds the benchmarks
of that commit in a worktree under target/baseline. --write puts the tables into docs/performance.md, between
the markers. Peers that are not installed are left out: `make bench-peers` installs them.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "performance.md"
PEERS = {"ns-2": "ns2", "ns-3": "ns3"}
# ns-3 takes ten times as long as the others together; hops per second do not depend on the duration.
SCALE = {"ns-2": "1", "ns-3": "0.1"}
OURS, BASELINE = "Joulepath", "baseline"


def say(text):
    """Progress, which is no data."""
    print(f"speed: {text}", file=sys.stderr, flush=True)


def build(tree):
    """Builds the benchmarks of a source tree; the programs by name."""
    command = ["cargo", "bench", "--quiet", "--locked", "--no-run", "--package", "joulepath-benches"]
    lines = output([*command, "--message-format", "json"], tree).splitlines()
    artefacts = [json.loads(line) for line in lines]
    return {
        artefact["target"]["name"]: artefact["executable"]
        for artefact in artefacts
        if artefact.get("executable") and "bench" in artefact["target"]["kind"]
    }


def worktree(commit):
    """The short name of a commit, and its source tree in a worktree that stays for the next time."""
    name = output(["git", "rev-parse", "--short", commit], ROOT).strip()
    tree = ROOT / "target" / "baseline" / name
    if not tree.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, name], cwd=ROOT, check=True)
    return name, tree


def output(command, folder=None):
    """What a command says on stdout; what it says on stderr is shown."""
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_joulepath(programs):
    """Million packet-hops per second of the four workloads."""
    text = output([programs["workloads"], "--repeat", "1"])
    found = re.findall(r"^(W\d): (\d+) packet-hops, ([\d.]+) s", text, re.MULTILINE)
    rates = {name: int(hops) / float(seconds) / 1e6 for name, hops, seconds in found}
    # k, hosts, subflows, simulated time and its unit, CPU s, simulated s per s, M hops/s.
    rates["W4"] = float(output([programs["fabric"], "--quick", "--one-core"]).splitlines()[1].split()[7])
    return rates


def of_peer(name):
    """The same of a peer, without what it takes to set the workload up."""
    rates = {}
    for workload in ("W1", "W2", "W3"):
        command = [HERE / "run.sh", workload, "--engine", PEERS[name], "--scale", SCALE[name]]
        rates[workload] = json.loads(output(command).splitlines()[0])["hops_per_s_net"] / 1e6
    return rates


def installed():
    """The peers that are here; the others are named on stderr."""
    there = {"ns-2": shutil.which("ns"), "ns-3": (HERE / "ns3" / "w").exists()}
    for name in (name for name, found in there.items() if not found):
        say(f"{name} is left out, because it is not installed: make bench-peers")
    return [name for name, found in there.items() if found]


def measure(engines, rounds):
    """Rates by engine and workload, one a round."""
    rates = {name: {} for name in engines}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for name, run in engines.items():
            for workload, rate in run().items():
                rates[name].setdefault(workload, []).append(rate)
    return rates


def spread(values):
    """The median, the least and the greatest."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def ratios(rates):
    """Of each engine but ours: how many times as fast ours is, round by round."""
    ours = rates[OURS]
    return {
        name: {workload: spread(quotients(ours[workload], theirs)) for workload, theirs in found.items()}
        for name, found in rates.items()
        if name != OURS
    }


def quotients(numerators, denominators):
    """Of each round."""
    return [one / other for one, other in zip(numerators, denominators, strict=True)]


def machine():
    """Its processor and how many cores it has."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} cores"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def speeds_table(result):
    """The rates of all, and the ratios."""
    workloads = list(result["rates"][OURS])
    lines = ["| M packet-hops/s | " + " | ".join(workloads) + " |", "|---|" + "---:|" * len(workloads)]
    rate, ratio = "{median:.2f}".format_map, "{median:.2f} ({least:.2f}–{most:.2f})".format_map
    lines += (row(label(name, result), found, workloads, rate) for name, found in result["rates"].items())
    times = result["ratios"].items()
    lines += (row(f"**times {label(name, result)}**", found, workloads, ratio) for name, found in times)
    load = f"load {result['load'][0]:.0f} to {result['load'][1]:.0f}"
    return [*lines, "", f"{result['machine']}; {result['rounds']} rounds; {load} on the machine meanwhile."]


def row(title, found, workloads, written):
    """A row of a table: a dash where a workload was not run."""
    cells = (written(found[workload]) if workload in found else "–" for workload in workloads)
    return f"| {title} | " + " | ".join(cells) + " |"


def label(name, result):
    """What the tables call an engine."""
    return f"commit {result['baseline']}" if name == BASELINE else name


def table(text):
    """A benchmark's output as Markdown: two spaces between its titles, one or more between its values."""
    titles, *lines = (line for line in text.splitlines() if line.strip())
    titles = re.split(r"\s{2,}", titles.strip())
    # A value and its unit are one cell.
    cells = (re.sub(r" +(?!m?s\b|Mbit/s\b)", " | ", line.strip()) for line in lines)
    head = ["| " + " | ".join(titles) + " |", "|" + "---:|" * len(titles)]
    return [*head, *(f"| {row} |" for row in cells)]


def write(name, lines):
    """Puts lines between the two marks of the page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(begin)
    _, after = rest.split(end)
    PAGE.write_text(before + "\n".join([begin, *lines, end]) + after, encoding="utf-8")


def arguments():
    """What was asked for."""
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--baseline", metavar="COMMIT")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error("--rounds takes a number from 1 on")
    return asked


def main():
    """Builds, measures, prints, writes."""
    asked = arguments()
    ours = build(ROOT)
    engines = {OURS: lambda: of_joulepath(ours)}
    commit = None
    if asked.baseline:
        commit, tree = worktree(asked.baseline)
        older = build(tree)
        engines[BASELINE] = lambda: of_joulepath(older)
    for name in installed():
        engines[name] = lambda name=name: of_peer(name)

    # One core for all; run.sh chooses the same.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(os.environ.get("CPU", "0"))})
    load = [os.getloadavg()[0]]
    rates = measure(engines, asked.rounds)
    growth = {"fabric": output([ours["fabric"], "--one-core"]), "growth": output([ours["growth"]])}
    load.append(os.getloadavg()[0])
    result = {
        "machine": machine(),
        "rounds": asked.rounds,
        "load": sorted(load),
        "baseline": commit,
        "rates": {
            name: {key: spread(values) for key, values in found.items()} for name, found in rates.items()
        },
        "ratios": ratios(rates),
    }
    tables = {"speed": speeds_table(result), **{name: table(text) for name, text in growth.items()}}
    print("\n\n".join("\n".join(lines) for lines in tables.values()))
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if asked.write:
        for name, lines in tables.items():
            write(name, ["", *lines, ""])


if __name__ == "__main__":
    main()
