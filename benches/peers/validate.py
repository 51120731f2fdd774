#!/usr/bin/env python3
"""Runs the cases of validate.toml in Joulepath, ns-2 and ns-3 and compares goodput, loss and mean queue.

    benches/peers/validate.py [--seeds N] [--ns3-seeds N] [--case NAME]... [--write]

Prints the tables of cross-validation.md; --write puts them there, between the markers. Runs of
ns-2 and ns-3 are kept under target/validate-peers: they are not repeated as long as their program and command are the same.
`make validate-peers` builds what this needs.
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
PAGE = HERE / "cross-validation.md"
ONCE = ROOT / "target" / "debug" / "examples" / "once"
# Delay of the bottleneck, s; the rest of a flow's RTT is on its access links.
BOTTLENECK_S = 0.005

# 97.5 % quantiles of Student's t by degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
           2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def flows_of(case, seed):
    """(group, start in s, one-way delay of the access links in s) of each flow; the same in all simulators. With `spread` (%)
    each flow of a group has an RTT of its own, uniform around the group's."""
    draw = random.Random(f"{case['name']}/{seed}")
    groups = zip(case["rtt"], case["flows"])
    flows = [(group, round(draw.random(), 6), rtt) for group, (rtt, count) in enumerate(groups) for _ in range(count)]
    spread = case.get("spread", 0) / 100
    return [(group, start, round(rtt * (1 + draw.uniform(-spread, spread)) / 2000 - BOTTLENECK_S, 6))
            for group, start, rtt in flows]


def host_delay_s(case):
    """The most by which a host delays what it sends, s. If hosts take time, it is as long as the bottleneck takes for a packet,
    as the documentation of ns-2's `overhead_` advises."""
    return 1500 * 8 / (case["rate"] * 1e6) if case.get("hosts_take_time") else 0


def options_of(case, seed):
    """What ns-2 and ns-3 are told about a case. Flows with one RTT and hosts that answer at once need no access links."""
    alone = len(case["rtt"]) == 1 and not host_delay_s(case) and not case.get("spread")
    flows = ",".join(f"{group}:{start}:{0 if alone else access:.6f}" for group, start, access in flows_of(case, seed))
    return {"rate": case["rate"] * 1e6, "delay": case["rtt"][0] / 2000 if alone else BOTTLENECK_S, "queue": case["queue"], "loss": case.get("loss", 0) / 100,
            "mark": case.get("mark", 0), "start": case["start"], "stop": case["stop"], "seed": seed,
            "jitter": host_delay_s(case), "flows": flows}


def scenario_of(case, seed, changes):
    """The case as a scenario of Joulepath."""
    changes = {"processing_delay": '"1 packet"' if case.get("hosts_take_time") else '"0 s"'} | changes
    lines = [f'title = "{case["name"]}"', f'duration = "{case["stop"]} s"', f'warm_up = "{case["start"]} s"',
             '[receiver]', 'buffer = "64 MiB"', '[sender]', 'buffer = "64 MiB"',
             '[transport]', f'ecn = {str("mark" in case).lower()}', *(f"{key} = {value}" for key, value in changes.items()),
             '[[link]]', 'name = "bottleneck"', f'rate = "{case["rate"]} Mbit/s"', f'delay = "{BOTTLENECK_S * 1000:g} ms"',
             f'queue = "{case["queue"]} packets"', f'loss = "{case.get("loss", 0)} %"']
    if "mark" in case:
        lines.append(f'ecn_threshold = "{case["mark"]} packets"')
    lines += ['[link.up]', 'queue = "100000 packets"']
    flows = flows_of(case, seed)
    paths = {delay: f"path{number}" for number, delay in enumerate(dict.fromkeys(delay for _, _, delay in flows))}
    for delay, name in paths.items():
        lines += ['[[path]]', f'name = "{name}"', 'via = ["bottleneck"]', f'delay = "{delay * 1e6:.0f} us"', 'energy = "free"']
    for number, (_, start, delay) in enumerate(flows):
        lines += ['[[connection]]', f'name = "flow{number}"', f'paths = ["{paths[delay]}"]', f'start = "{start * 1e6:.0f} us"']
    return "\n".join(lines) + "\n"


def run_joulepath(case, seed, changes):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario_of(case, seed, changes))
        file.flush()
        answer = json.loads(execute([ONCE, file.name, "uncoupled", str(seed), "--links"]))
    link = next(link for link in answer["links"] if link["name"] == "bottleneck.down")
    return link | {"goodput_bps": answer["connections_bps"]}


def run_ns2(case, seed, changes):
    options = options_of(case, seed) | changes
    words = [word for key, value in options.items() for word in (f"-{key}", str(value))]
    return kept(["ns", HERE / "ns2" / "v.tcl", *words], HERE / "ns2" / "v.tcl")


def run_ns3(case, seed, changes):
    options = options_of(case, seed) | changes
    return kept([HERE / "ns3" / "v", *(f"--{key}={value}" for key, value in options.items())], HERE / "ns3" / "v.cc")


# What runs a case: heading, function, options. Joulepath's `rack` is what Linux does now, and so are TCP/Linux of ns-2 (Linux
# 2.6) and TcpLinuxReno of ns-3 with SACK and PRR; `sack` and Sack1 are RFC 6675 and its precursor.
SIMULATORS = {
    "rack": ("Joulepath, `rack`", run_joulepath, {"recovery": '"rack"'}),
    "linux": ("ns-2, TCP/Linux", run_ns2, {"agent": "Linux"}),
    "ns3": ("ns-3, TcpLinuxReno", run_ns3, {}),
    "sack": ("Joulepath, `sack`", run_joulepath, {"recovery": '"sack"'}),
    "sack1": ("ns-2, Sack1", run_ns2, {"agent": "Sack1"}),
}
# Conditions: what is added to a case, as items.
AT_ONCE = ()
HOSTS_TAKE_TIME = (("hosts_take_time", True),)
# With which of Joulepath's columns each of the others is compared.
PARTNERS = {"linux": "rack", "ns3": "rack", "sack1": "sack"}


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
        _, run, options = SIMULATORS[simulator]
        return measures(case, run(case, seed, options | changes))
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
    return f"{value:+.1f} %{sign}"


NAMES = {"goodput0": "goodput, Mbit/s", "goodput1": "goodput, Mbit/s", "signal": "loss, %", "queue": "queue, packets"}


def title_of(case):
    flows = sum(case["flows"])
    rtts = " and ".join(map(str, case["rtt"]))
    return f"{flows} flow{'s' * (flows > 1)}, {case['rate']} Mbit/s, {rtts} ms, {case['what']}"


def name_of(case, measure):
    if measure.startswith("goodput") and len(case["rtt"]) > 1:
        return f"{NAMES[measure]}, of {case['rtt'][int(measure[-1])]} ms"
    return "marks, %" if measure == "signal" and "mark" in case else NAMES[measure]


def table(cases, simulators, estimates, conditions):
    titles = [SIMULATORS[simulator][0] for simulator in simulators]
    lines = [f"| case | measure | {' | '.join(titles)} |", "|---|---|" + "---|" * len(titles)]
    for case in cases:
        title = title_of(case)
        found = {simulator: estimates[case["name"], simulator, (), conditions] for simulator in simulators}
        for measure in found["rack"]:
            cells = []
            for simulator in simulators:
                cell = number(*found[simulator][measure])
                if simulator in PARTNERS:
                    ours = found[PARTNERS[simulator]][measure]
                    cell += f" ({mark_of(difference(measure, ours, found[simulator][measure]))})"
                cells.append(cell)
            lines.append(f"| {title} | {name_of(case, measure)} | {' | '.join(cells)} |")
            title = ""
    return "\n".join(lines)


def differences(causes, cases, estimates):
    """The table of causes: a difference, and what is left of it when the suspect is switched."""
    lines = ["| case | measure | difference | cause | switched | difference then |", "|---|---|---|---|---|---|"]
    by_name = {case["name"]: case for case in cases}
    for cause in causes:
        case, measure = by_name.get(cause["case"]), cause["measure"]
        if case is None:
            continue
        ours, theirs, then_ours, then_theirs = (estimates[key][measure] for key in keys_of(cause))
        before, after = (f"{value:+.1f} ±{half:.1f} %" for value, half in
                         (difference(measure, ours, theirs), difference(measure, then_ours, then_theirs)))
        pair = f"{SIMULATORS[cause['ours']][0]} − {SIMULATORS[cause['theirs']][0]}"
        pair += ", hosts take time" if cause.get("hosts_take_time") else ""
        lines.append(f"| {title_of(case)}: {pair} | {name_of(case, measure)} | {before} | {cause['what']} | "
                     f"{cause['switched']} | {after} |")
    return "\n".join(lines)


def keys_of(cause):
    """What a cause compares, before and after the switch: (case, simulator, changes, conditions)."""
    before = HOSTS_TAKE_TIME if cause.get("hosts_take_time") else AT_ONCE
    then = tuple(sorted(cause.get("then_case", {}).items()))

    def switched(side):
        return cause["case"], cause[side], tuple(sorted(cause.get(f"{side}_changes", {}).items())), then
    return [(cause["case"], cause[side], (), before) for side in ("ours", "theirs")] + \
        [switched("then_ours"), switched("then_theirs")]


def estimate_all(wanted, cases, seeds, jobs):
    """The estimates of (case, simulator, changes, conditions)."""
    by_name = {case["name"]: case for case in cases}
    wanted = list(dict.fromkeys(wanted))
    tasks = [(simulator, by_name[name] | dict(conditions), seed, dict(changes))
             for name, simulator, changes, conditions in wanted for seed in range(1, seeds[simulator] + 1)]
    runs = iter(run_all(tasks, jobs))
    estimates = {}
    for key in wanted:
        found = [next(runs) for _ in range(seeds[key[1]])]
        estimates[key] = {measure: estimate([run[measure] for run in found]) for measure in found[0]}
    return estimates


def write(text):
    """Puts the tables between the markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- cross-validation: begin -->\n", "<!-- cross-validation: end -->"
    if begin not in page or end not in page:
        sys.exit(f"validate: {PAGE} has no markers `{begin.strip()}` and `{end}`: put them where the tables belong")
    before, rest = page.split(begin, 1)
    PAGE.write_text(f"{before}{begin}{text}\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description="Compares the packet engine with ns-2 and ns-3.")
    parser.add_argument("--seeds", type=int, default=24, help="runs of each case (default 24)")
    parser.add_argument("--ns3-seeds", type=int, default=4, help="runs of ns-3, which is a hundred times slower (default 4)")
    parser.add_argument("--case", action="append", help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: all cores)")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if min(arguments.seeds, arguments.ns3_seeds) < 2:
        parser.error("an interval needs two seeds or more")
    return arguments


def main():
    arguments = parse()
    plan = tomllib.loads((HERE / "validate.toml").read_text(encoding="utf-8"))
    names = {case["name"] for case in plan["case"]}
    if unknown := set(arguments.case or []) - names:
        sys.exit(f"validate: there is no case {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}")
    if arguments.write and arguments.case:
        sys.exit("validate: the page has all cases: leave out --case or --write")
    cases = [case for case in plan["case"] if not arguments.case or case["name"] in arguments.case]
    causes = [cause for cause in plan.get("cause", []) if cause["case"] in {case["name"] for case in cases}]
    seeds = {simulator: arguments.ns3_seeds if simulator == "ns3" else arguments.seeds for simulator in SIMULATORS}
    several = [case for case in cases if sum(case["flows"]) > 1]
    fast = [simulator for simulator in SIMULATORS if simulator != "ns3"]
    wanted = [(case["name"], simulator, (), AT_ONCE) for case in cases for simulator in SIMULATORS]
    wanted += [(case["name"], simulator, (), HOSTS_TAKE_TIME) for case in several for simulator in fast]
    wanted += [key for cause in causes for key in keys_of(cause)]
    estimates = estimate_all(wanted, cases, seeds, arguments.jobs)
    text = f"""Hosts answer at once. Joulepath and ns-2: {seeds['rack']} seeds, ns-3: {seeds['ns3']}.

{table(cases, SIMULATORS, estimates, AT_ONCE)}

The same with hosts that take a random time, up to that of a packet on the bottleneck, before they send:

{table(several, fast, estimates, HOSTS_TAKE_TIME)}

Causes:

{differences(causes, cases, estimates)}"""
    print(text)
    if arguments.write:
        write(text)


if __name__ == "__main__":
    main()
