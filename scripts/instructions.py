#!/usr/bin/env python3
"""Counts the processor's instructions for a packet-hop of the packet engine, and compares them with those in
scripts/instructions.json. Times differ from machine to machine and from run to run; instructions do not.

    scripts/instructions.py            measure and compare; exit code 1 if a workload needs over 5 % more
    scripts/instructions.py --write    measure and store: the commit that does so says why

Each workload runs twice under callgrind, the second time for longer. The difference of the instructions over the
difference of the packet-hops leaves out what happens once, such as reading the scenario.

The counts are of the profile `dev`, which tests have built anyway. They depend on the compilers: with other versions
than those in the file nothing is compared. Without valgrind nothing is measured. Both are said.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "scripts/instructions.json"
ALLOWED = 1.05  # more than that of the stored instructions is a slip

# Name, scenario in scenarios/bench, policy, both durations, other lines to replace.
WORKLOADS = [
    ("W1", "w1", "reno", ("20 s", "60 s"), {}),
    ("W2", "w2", "reno", ("3 s", "5 s"), {}),
    ("W3", "w3", "lia", ("10 s", "30 s"), {}),
    ("W3 with joule", "w3", "joule", ("10 s", "30 s"), {}),
    ("W3 with linux", "w3", "linux", ("10 s", "30 s"), {}),
    ("FatTree k = 4", "fattree", "lia", ("300 ms", "400 ms"), {"k": "4"}),
]


def say(text):
    print(f"instructions: {text}", file=sys.stderr)


def version(*command):
    return subprocess.run([*command], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def build():
    """Builds the program that runs one scenario once; returns its path."""
    # The packages and features of scripts/test.sh: what that has compiled is found.
    packages = ["--workspace", "--exclude", "joulepath-benches", "--exclude", "joulepath-python", "--example", "once"]
    command = ["scripts/cargo.sh", "build", "--quiet", "--locked", *packages, "--message-format", "json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    programs = (json.loads(line).get("executable") for line in lines)
    return next(program for program in programs if program)


def scenario(file, duration, changes, folder):
    """A copy of a scenario with another duration, and other keys of its first tables; returns its path."""
    text = (ROOT / f"scenarios/bench/{file}.toml").read_text(encoding="utf-8")
    text, *_ = text.split("[[variant]]")
    for key, value in {"duration": f'"{duration}"', **changes}.items():
        text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text, count=1)
        assert count == 1, f"{file} has no {key}"
    path = Path(folder) / f"{file}-{duration.replace(' ', '')}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def count(program, path, policy):
    """Instructions and packet-hops of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, path, policy, "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    return int(collected[1]), json.loads(done.stdout)["counters"]["packet_hops"]


def per_hop(program, workload, folder):
    _, file, policy, durations, changes = workload
    runs = [count(program, scenario(file, duration, changes, folder), policy) for duration in durations]
    (instructions, hops), (more_instructions, more_hops) = runs
    return (more_instructions - instructions) / (more_hops - hops)


def measure():
    program = build()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=2) as pool:
        counts = pool.map(lambda workload: per_hop(program, workload, folder), WORKLOADS)
        return {workload[0]: round(found, 1) for workload, found in zip(WORKLOADS, counts)}


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("valgrind"):
        say("SKIPPED: there is no valgrind, so the packet engine's instructions were NOT counted")
        return 0
    compilers = {"rustc": version("rustc", "--version").split()[1], "cc": version("cc", "-dumpfullversion")}
    if sys.argv[1:] == ["--write"]:
        text = json.dumps({"compilers": compilers, "per_hop": measure()}, indent=2)
        STORED.write_text(text + "\n", encoding="utf-8")
        print(text)
        return 0
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    if compilers != stored["compilers"]:
        say(f"SKIPPED: the stored counts are of {stored['compilers']}, here are {compilers}: NOT compared")
        return 0
    slips = 0
    for name, found in measure().items():
        before = stored["per_hop"][name]
        slip = found > before * ALLOWED
        slips += slip
        print(f"{name}: {found:.1f} instructions a packet-hop, stored {before:.1f} ({found / before - 1:+.1%})"
              + (", TOO MANY" if slip else ""))
    if slips:
        say("if more work is meant to be done, store the new counts: scripts/instructions.py --write")
    return 1 if slips else 0


if __name__ == "__main__":
    sys.exit(main())
