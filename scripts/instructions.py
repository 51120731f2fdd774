#!/usr/bin/env python3
"""Counts the CPU instructions per packet-hop of the packet engine and compares them with scripts/instructions.json, and those
of `joulepath why` per connection, which must not grow with their number. Times vary between machines and runs; instruction
counts do not.

    scripts/instructions.py            measure and compare; exit code 1 if a workload needs over 5 % more
    scripts/instructions.py --write    measure and store; the commit message gives the reason

Each workload runs twice under callgrind, the second time for longer. The difference in instructions divided by the
difference in packet-hops leaves out one-time work such as reading the scenario.

The counts are for the profile `dev`, which tests build anyway. They depend on the compilers: if the versions differ from
those in the file, the script compares nothing and says so. Without valgrind it measures nothing and says so.
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
ALLOWED = 1.05  # largest allowed ratio to the stored count

# Name, scenario in scenarios/, policy, both durations, other keys to replace.
WORKLOADS = [
    ("W1", "bench/w1", "reno", ("20 s", "60 s"), {}),
    ("W2", "bench/w2", "reno", ("3 s", "5 s"), {}),
    ("W3", "bench/w3", "lia", ("10 s", "30 s"), {}),
    ("W3 with joule", "bench/w3", "joule", ("10 s", "30 s"), {}),
    ("W3 with linux", "bench/w3", "linux", ("10 s", "30 s"), {}),
    ("W3 with bbr3", "bench/w3", "bbr3", ("10 s", "30 s"), {}),
    ("FatTree k = 4", "bench/fattree", "lia", ("300 ms", "400 ms"), {"k": "4"}),
    ("home-wifi-lte", "home-wifi-lte", "uncoupled", ("5 s", "15 s"), {"size": '"200 MB"'}),
    ("walking-away with joule", "walking-away", "joule", ("5 s", "20 s"), {}),
    ("walking-away with linux", "walking-away", "linux", ("5 s", "20 s"), {}),
    ("CoDel", "fidelity/codel", "uncoupled", ("5 s", "15 s"), {}),
]


# Numbers of connections; each further one may cost this much more than the one before.
CONNECTIONS = (50, 100, 200)
GROWTH = 1.1


def say(text):
    print(f"instructions: {text}", file=sys.stderr)


def version(*command):
    return subprocess.run([*command], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def build():
    """Builds the programs that run a scenario once and that examine connections, and returns their paths."""
    # The same packages and features as scripts/test.sh, to reuse its build.
    packages = ["--workspace", "--exclude", "joulepath-python", "--example", "once", "--example", "many"]
    command = ["scripts/cargo.sh", "build", "--quiet", "--locked", *packages, "--message-format", "json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    built = [message for message in map(json.loads, lines) if message.get("executable")]
    return {message["target"]["name"]: message["executable"] for message in built}


def scenario(file, duration, changes, folder):
    """Writes a copy of a scenario with another duration and other keys of its first tables, and returns its path."""
    text = (ROOT / f"scenarios/{file}.toml").read_text(encoding="utf-8")
    text, *_ = text.split("[[variant]]")
    for key, value in {"duration": f'"{duration}"', **changes}.items():
        text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text, count=1)
        assert count == 1, f"{file} has no {key}"
    path = Path(folder) / f"{Path(file).name}-{duration.replace(' ', '')}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def count(*command):
    """Instructions and output of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    return int(collected[1]), json.loads(done.stdout)


def per_hop(program, workload, folder):
    _, file, policy, durations, changes = workload
    runs = [count(program, scenario(file, duration, changes, folder), policy, "1") for duration in durations]
    (instructions, run), (more_instructions, more) = runs
    return (more_instructions - instructions) / (more["counters"]["packet_hops"] - run["counters"]["packet_hops"])


def why_grows(program):
    """True if `joulepath why` needs more instructions for each further connection than for the ones before."""
    few, some, many = (count(program, str(number))[0] for number in CONNECTIONS)
    numbers = CONNECTIONS[1] - CONNECTIONS[0], CONNECTIONS[2] - CONNECTIONS[1]
    first, then = (some - few) / numbers[0], (many - some) / numbers[1]
    grows = then > first * GROWTH
    print(f"why: {first:.0f} instructions a connection up to {CONNECTIONS[1]}, {then:.0f} ({then / first - 1:+.1%}) up to "
          f"{CONNECTIONS[2]}" + (", GROWS" if grows else ""))
    return grows


def measure(program):
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=2) as pool:
        counts = pool.map(lambda workload: per_hop(program, workload, folder), WORKLOADS)
        return {workload[0]: round(found, 1) for workload, found in zip(WORKLOADS, counts)}


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("valgrind"):
        say("SKIPPED: valgrind is missing, so the packet engine's instructions were NOT counted")
        return 0
    compilers = {"rustc": version("rustc", "--version").split()[1], "cc": version("cc", "-dumpfullversion")}
    programs = build()
    if sys.argv[1:] == ["--write"]:
        text = json.dumps({"compilers": compilers, "per_hop": measure(programs["once"])}, indent=2)
        STORED.write_text(text + "\n", encoding="utf-8")
        print(text)
        return 0
    grows = why_grows(programs["many"])
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    if compilers != stored["compilers"]:
        say(f"SKIPPED: the stored counts are for {stored['compilers']}, this machine has {compilers}: NOT compared")
        return 1 if grows else 0
    wrong = False
    for name, found in measure(programs["once"]).items():
        before = stored["per_hop"].get(name)
        if before is None:
            wrong = True
            print(f"{name}: {found:.1f} instructions a packet-hop, NOT STORED")
            continue
        slip = found > before * ALLOWED
        wrong |= slip
        print(f"{name}: {found:.1f} instructions a packet-hop, stored {before:.1f} ({found / before - 1:+.1%})"
              + (", TOO MANY" if slip else ""))
    if wrong:
        say("if the additional work is intended, store the new counts: scripts/instructions.py --write")
    return 1 if grows or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
