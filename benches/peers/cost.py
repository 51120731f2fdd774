#!/usr/bin/env python3
"""Measures what links and policies cost: CPU time of a packet-hop relative to W1's.

    benches/peers/cost.py [--rounds N] [--baseline COMMIT] [--only NAME] [--write]

All workloads run in turns on one core. --baseline also runs that commit, built in a worktree under
target/baseline, and prints how many times as fast this tree is: the median over the rounds, the least and
the greatest; it says so if the results differ. --write puts the table, with the counts of
scripts/instructions.json, into docs/performance.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import speed

sys.path.insert(0, str(speed.ROOT / "scripts"))
import instructions

FULL_SPEED = "W1"

FLOWS = {"rate": '"10 Gbit/s"', "queue": '"50000 packets"', "count": "10000"}
OWNERS = ["joule", "copa", "linux", "vivace", "bbr1", "bbr3"]
JITTER = {"delay": '"20 ms"\njitter = "2 ms"'}

# Title, scenario, policies, a duration that takes about half a second, keys to replace, and the workload of
# scripts/instructions.py with the same mix of packets, if there is one ({}: the policy).
WORKLOADS = [
    (FULL_SPEED, "bench/w1", ["reno"], "10000 s", {}, "W1"),
    ("W2", "bench/w2", ["reno"], "400 s", {}, "W2"),
    ("10,000 flows", "bench/w2", ["reno"], "4 s", FLOWS, ""),
    ("W3", "bench/w3", ["lia"], "3000 s", {}, "W3"),
    ("W3's paths", "bench/w3", OWNERS, "1500 s", {}, "W3 with {}"),
    ("W4", "bench/fattree", ["lia"], "1 s", {}, ""),
    ("W4, k = 16", "bench/fattree", ["lia"], "300 ms", {"k": "16"}, ""),
    ("jitter, one path", "fidelity/one-path", ["uncoupled"], "4000 s", JITTER, ""),
    ("CoDel", "fidelity/codel", ["uncoupled"], "1500 s", {}, "CoDel"),
    ("PIE", "fidelity/pie", ["uncoupled"], "1500 s", {}, ""),
    ("FQ-CoDel", "fidelity/fq-codel", ["uncoupled"], "1500 s", {}, ""),
    ("reordering", "fidelity/reordering", ["uncoupled"], "1500 s", {}, ""),
    ("aggregation", "fidelity/aggregation", ["uncoupled"], "1500 s", {}, ""),
    ("walking-away", "walking-away", ["uncoupled", "joule", "linux"], "90 s", {}, "walking-away with {}"),
    ("papers/000-table1", "papers/000-table1", ["joule"], "2400 s", {}, ""),
]


def build(tree):
    """The program that runs a scenario once, of a source tree."""
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--message-format", "json"]
    lines = speed.output([*command, "-p", "joulepath-benches", "--example", "once"], tree).splitlines()
    return next(artefact["executable"] for artefact in map(json.loads, lines) if artefact.get("executable"))


def run(program, path, policy):
    """CPU seconds of one run, and its result."""
    with tempfile.TemporaryFile() as result:
        child = subprocess.Popen([program, path, policy, "1"], stdout=result)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, f"{path.name} with {policy} failed"
        result.seek(0)
        return used.ru_utime + used.ru_stime, result.read()


def measure(programs, rounds, only):
    """By title and policy: for each program its CPU seconds per packet-hop, one a round, and its result."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        cases = [
            (title, policy, instructions.scenario(file, duration, changes, folder))
            for title, file, policies, duration, changes, _ in WORKLOADS
            if only in (None, title)
            for policy in policies
        ]
        for number in range(rounds):
            speed.say(f"round {number + 1} of {rounds}")
            for title, policy, path in cases:
                for name, program in programs.items():
                    seconds, result = run(program, path, policy)
                    hops = json.loads(result)["counters"]["packet_hops"]
                    times, _ = found.setdefault((title, policy), {}).setdefault(name, ([], result))
                    times.append(seconds / hops)
    return found


def cost_table(found):
    """CPU time of a packet-hop relative to W1's, and instructions."""
    counts = json.loads(instructions.STORED.read_text(encoding="utf-8"))["per_hop"]
    names = {title: name for title, *_, name in WORKLOADS}
    unit = found[FULL_SPEED, "reno"][speed.OURS][0]
    lines = ["| workload | policy | CPU time / W1 | instructions |", "|---|---|---:|---:|"]
    for (title, policy), engines in found.items():
        ratio = statistics.median(speed.quotients(engines[speed.OURS][0], unit))
        count = counts.get(names[title].format(policy))
        lines.append(f"| {title} | `{policy}` | {ratio:.2f} | {'' if count is None else f'{count:.0f}'} |")
    return lines


def print_ratios(found, label):
    """How many times as fast as the baseline."""
    for (title, policy), engines in found.items():
        (ours, result), (older, other) = engines[speed.OURS], engines[speed.BASELINE]
        ratio = speed.spread(speed.quotients(older, ours))
        note = "" if result == other else "; other results"
        shown = "{median:.2f} ({least:.2f}–{most:.2f})".format_map(ratio)
        print(f"{title}, {policy}: {shown} times {label}{note}")


def arguments():
    """What was asked for."""
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--baseline", metavar="COMMIT")
    parser.add_argument("--only", metavar="NAME", choices=[row[0] for row in WORKLOADS])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error("--rounds takes a number from 1 on")
    if asked.write and asked.only:
        parser.error("--write needs all workloads: leave out --only")
    return asked


def main():
    """Builds, measures, prints, writes."""
    asked = arguments()
    programs = {speed.OURS: build(speed.ROOT)}
    if asked.baseline:
        commit, tree = speed.worktree(asked.baseline)
        programs[speed.BASELINE] = build(tree)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(os.environ.get("CPU", "0"))})
    found = measure(programs, asked.rounds, asked.only)
    if asked.baseline:
        print_ratios(found, f"commit {commit}")
    if asked.only is None:
        lines = cost_table(found)
        print("\n".join(lines))
        if asked.write:
            speed.write("cost", ["", *lines, ""])


if __name__ == "__main__":
    sys.exit(main())
