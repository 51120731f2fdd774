#!/usr/bin/env python3
"""Runs the cases of validate.toml in Joulepath, ns-2 and ns-3 and compares goodput, loss and mean queue.

    benches/peers/validate.py [--seeds N] [--case NAME]... [--write]

Prints the tables of docs/models/packet.md, section "Cross-validation"; --write puts them there, between the markers. Runs of
ns-2 and ns-3 are kept under target/validate-peers and are not repeated as long as their command is the same.

--joulepath, --ns2 and --ns3 (KEY=VALUE, may be repeated) change an option of one simulator in all cases: a way to find
out what a difference comes from. Those that explain one are listed in validate.toml.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEPT = ROOT / "target" / "validate-peers"
PAGE = ROOT / "docs" / "models" / "packet.md"
LINKS = ROOT / "target" / "debug" / "examples" / "links"
SIMULATORS = ["joulepath", "ns2", "ns3"]
TITLES = {"joulepath": "Joulepath", "ns2": "ns-2", "ns3": "ns-3"}

# Delay of the bottleneck, s; the rest of a flow's RTT is on its access links.
BOTTLENECK_S = 0.005

# 97.5 % quantiles of Student's t by degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
           2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def flows_of(case, seed):
    """(group, start in s, one-way delay of the access links in s) of each flow; the same in all simulators."""
    draw = random.Random(f"{case['name']}/{seed}")
    groups = zip(case["rtt"], case["flows"])
    return [(group, round(draw.random(), 6), rtt / 2000 - BOTTLENECK_S)
            for group, (rtt, count) in enumerate(groups) for _ in range(count)]


def host_delay_s(case):
    """The most by which a host delays what it sends, s: the time that the bottleneck needs for a packet, as ns-2's
    documentation of `overhead_` advises, or none for a flow that is alone and cannot fall into step with another one."""
    return 1500 * 8 / (case["rate"] * 1e6) if sum(case["flows"]) > 1 else 0


def options_of(case, seed):
    """What ns-2 and ns-3 are told about a case."""
    flows = ",".join(f"{group}:{start}:{access:.6f}" for group, start, access in flows_of(case, seed))
    return {"rate": case["rate"] * 1e6, "delay": BOTTLENECK_S, "queue": case["queue"], "loss": case.get("loss", 0) / 100,
            "mark": case.get("mark", 0), "start": case["start"], "stop": case["stop"], "seed": seed,
            "jitter": host_delay_s(case), "flows": flows}


def scenario_of(case, seed, changes):
    """The case as a scenario of Joulepath."""
    changes = {"recovery": '"rack"', "jitter": repr(f"{host_delay_s(case) / math.sqrt(12) * 1e9:.0f} ns")} | changes
    jitter = changes.pop("jitter")
    lines = [f'title = "{case["name"]}"', f'duration = "{case["stop"]} s"', f'warm_up = "{case["start"]} s"',
             '[receiver]', 'buffer = "64 MiB"', '[sender]', 'buffer = "64 MiB"',
             '[transport]', f'ecn = {str("mark" in case).lower()}', *(f"{key} = {value}" for key, value in changes.items()),
             '[[link]]', 'name = "bottleneck"', f'rate = "{case["rate"]} Mbit/s"', f'delay = "{BOTTLENECK_S * 1000:g} ms"',
             f'queue = "{case["queue"]} packets"', f'loss = "{case.get("loss", 0)} %"']
    if "mark" in case:
        lines.append(f'ecn_threshold = "{case["mark"]} packets"')
    lines += ['[link.up]', 'queue = "100000 packets"']
    for group, rtt in enumerate(case["rtt"]):
        lines += ['[[path]]', f'name = "group{group}"', 'via = ["bottleneck"]',
                  f'delay = "{rtt / 2 - BOTTLENECK_S * 1000:g} ms"', 'energy = "free"', '[path.up]', f'jitter = {jitter}']
    for number, (group, start, _) in enumerate(flows_of(case, seed)):
        lines += ['[[connection]]', f'name = "flow{number}"', f'paths = ["group{group}"]', f'start = "{start * 1e6:.0f} us"']
    return "\n".join(lines) + "\n"


def run_joulepath(case, seed, changes):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario_of(case, seed, changes))
        file.flush()
        answer = json.loads(execute([LINKS, file.name, "uncoupled", str(seed)]))
    link = next(link for link in answer["links"] if link["name"] == "bottleneck.down")
    return link | {"goodput_bps": answer["connections_bps"]}


def run_ns2(case, seed, changes):
    options = options_of(case, seed) | changes
    words = [word for key, value in options.items() for word in (f"-{key}", str(value))]
    return kept(["ns", HERE / "ns2" / "v.tcl", *words], HERE / "ns2" / "v.tcl")


def run_ns3(case, seed, changes):
    options = options_of(case, seed) | changes
    return kept([HERE / "ns3" / "v", *(f"--{key}={value}" for key, value in options.items())], HERE / "ns3" / "v.cc")


RUN = {"joulepath": run_joulepath, "ns2": run_ns2, "ns3": run_ns3}


def kept(command, source):
    """The answer of a command whose program was made of `source`; from the file that has it, if there is one."""
    words = [str(word) for word in command]
    name = hashlib.sha256("\0".join(words).encode() + source.read_bytes()).hexdigest()[:32]
    file = KEPT / f"{name}.json"
    if not file.exists():
        answer = next(line for line in execute(command).splitlines() if line.startswith("{"))
        json.loads(answer)
        KEPT.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(answer, encoding="utf-8")
        partial.rename(file)
    return json.loads(file.read_text(encoding="utf-8"))


def execute(command):
    done = subprocess.run(["nice", "-n", "10", *map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"validate: this has failed: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def measures(case, answer):
    """What is compared, of one run."""
    found = {}
    for group, _ in enumerate(case["rtt"]):
        flows = [bps for bps, flow in zip(answer["goodput_bps"], flows_of(case, 1)) if flow[0] == group]
        found[f"goodput{group}"] = sum(flows) / 1e6
    lost = answer["queue_drops"] + answer["wire_losses"]
    found["signal"] = 100 * (answer["marked"] if "mark" in case else lost) / answer["offered"]
    found["queue"] = answer["mean_queue"]
    return found


def estimate(values):
    """Mean and half of its 95 % interval (Student)."""
    if len(values) < 2:
        return statistics.fmean(values), math.inf
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), STUDENT[min(len(values) - 1, len(STUDENT)) - 1] * spread


def run_all(tasks, jobs):
    """The answers of (simulator, case, seed, changes), in order."""
    def one(task):
        simulator, case, seed, changes = task
        return measures(case, RUN[simulator](case, seed, changes))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, tasks))


def number(value, half):
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{digits}f} ±{half:.{digits}f}"


# A difference is judged where there is something to divide by: half a packet of queue is none.
LEAST = {"queue": 0.5, "signal": 0.0}


def difference(measure, ours, theirs):
    """Relative difference of Joulepath from another simulator in %, and half of its interval; none if both are near 0."""
    (mean, half), (other, other_half) = ours, theirs
    if max(mean, other) <= LEAST.get(measure, 0.0) or other == 0:
        return None
    return 100 * (mean - other) / other, 100 * math.hypot(half, other_half) / other


def mark_of(found):
    """How a difference is marked: † above 5 %, ‡ above 5 % but within the intervals."""
    if found is None:
        return "–"
    value, half = found
    sign = "" if abs(value) <= 5 else " †" if abs(value) > half else " ‡"
    return f"{value:+.1f}{sign}"


NAMES = {"goodput0": "goodput, Mbit/s", "goodput1": "goodput, Mbit/s", "signal": "loss, %", "queue": "queue, packets"}


def table(cases, results):
    lines = ["| case | measure | Joulepath | ns-2 | ns-3 | − ns-2, % | − ns-3, % |", "|---|---|---|---|---|---|---|"]
    for case in cases:
        title = f"{sum(case['flows'])} × {case['rate']} Mbit/s"
        title = f"{'+'.join(map(str, case['flows']))} flows, {case['rate']} Mbit/s, {'/'.join(map(str, case['rtt']))} ms, {case['what']}"
        for measure in results[case["name"], "joulepath"]:
            name = NAMES[measure]
            if measure == "signal" and "mark" in case:
                name = "marks, %"
            if measure.startswith("goodput") and len(case["rtt"]) > 1:
                name += f", {case['rtt'][int(measure[-1])]} ms"
            found = [results[case["name"], simulator][measure] for simulator in SIMULATORS]
            cells = [number(*one) for one in found] + [mark_of(difference(measure, found[0], other)) for other in found[1:]]
            lines.append(f"| {title} | {name} | {' | '.join(cells)} |")
            title = ""
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description="Compares the packet engine with ns-2 and ns-3.")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--case", action="append", help="run this one only; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    for simulator in SIMULATORS:
        parser.add_argument(f"--{simulator}", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def main():
    arguments = parse()
    plan = tomllib.loads((HERE / "validate.toml").read_text(encoding="utf-8"))
    cases = [case for case in plan["case"] if not arguments.case or case["name"] in arguments.case]
    changes = {simulator: dict(item.split("=", 1) for item in getattr(arguments, simulator)) for simulator in SIMULATORS}
    seeds = range(1, arguments.seeds + 1)
    tasks = [(simulator, case, seed, changes[simulator]) for simulator in SIMULATORS for case in cases for seed in seeds]
    by_run = {}
    for (simulator, case, _, _), answer in zip(tasks, run_all(tasks, arguments.jobs)):
        by_run.setdefault((case["name"], simulator), []).append(answer)
    results = {key: {measure: estimate([run[measure] for run in runs]) for measure in runs[0]} for key, runs in by_run.items()}
    print(table(cases, results))


if __name__ == "__main__":
    main()
