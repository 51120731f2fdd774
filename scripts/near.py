#!/usr/bin/env python3
"""How near the best known policy comes to the reference values of the shipped scenarios: a table in docs/models/limits.md.

    scripts/near.py PROGRAM [--seeds N]     then scripts/pages.py keep docs/models/limits.md
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/models/limits.md"
SCENARIOS = ROOT / "scenarios"
PLACE = re.compile(r"(?<=<!-- near: begin -->\n).*?(?=<!-- near: end -->)", re.DOTALL)
SEEDS = 2
"""Seeds of each policy."""
ALSO = ["joule", "joule[cc=joule]", "linux", "single-best", "overflow"]
"""Policies besides those of the scenario and each path alone."""


def compared(program: str, name: str, policies: list[str], seeds: int) -> dict:
    command = [program, "compare", name, "--policies", ",".join(policies), "--seeds", str(seeds), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def shown(program: str, name: str) -> tuple[list[str], list[str]]:
    """Policies and paths of a shipped scenario."""
    text = (SCENARIOS / f"{name}.toml").read_text()
    paths = re.findall(r'^\[\[path\]\]\nname = "([^"]+)"', text, re.MULTILINE)
    listed = re.search(r"^policies = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
    policies = re.findall(r'"([^"]+)"', listed[1]) if listed else []
    return policies, paths


LEFT_OUT = re.compile(r"No (.*): the best policy here reaches (.*) of it\.")


def left_out(found: dict) -> dict[str, str]:
    """Limits that `compare` does not show, because no policy comes near, with the best share."""
    notes = [match for note in found.get("notes", []) if (match := LEFT_OUT.match(note))]
    return {
        name: f"{share}, not shown"
        for match in notes
        for name, share in zip(match[1].split(", no "), match[2].split(" and "), strict=True)
    }


def best(found: dict, key: str, name: str) -> str:
    shares = [(row[key], row["policy"]) for row in found["rows"] if row.get(key) is not None]
    return f"{100 * max(shares)[0]:.0f} % ({max(shares)[1]})" if shares else left_out(found).get(name, "–")


def row(program: str, name: str, seeds: int) -> str | None:
    if "[topology" in (SCENARIOS / f"{name}.toml").read_text():
        return None
    policies, paths = shown(program, name)
    alone = [f"single:{path}" for path in paths] if len(paths) > 1 else []
    wanted = list(dict.fromkeys([*policies, *ALSO, *alone]))
    found = compared(program, name, wanted, seeds) or compared(program, name, policies, seeds)
    if not found or not (found["references"] or left_out(found)):
        return None
    columns = {"link_bound_share": "link bound", "tcp_reference_share": "TCP-rate reference"}
    of = [best(found, key, name) for key, name in columns.items()]
    return f"| `{name}` | {found['scenario']['workload']} | {of[0]} | {of[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    names = sorted(str(file.relative_to(SCENARIOS).with_suffix("")) for file in SCENARIOS.glob("*.toml"))
    names += sorted(str(file.relative_to(SCENARIOS).with_suffix("")) for file in SCENARIOS.glob("papers/*.toml"))
    rows = []
    for name in names:
        print(f"near.py: {name}", file=sys.stderr)
        rows.append(row(options.program, name, options.seeds))
    table = ["| scenario | workload | of the link bound | of the TCP-rate reference |", "|---|---|---|---|"]
    table += [line for line in rows if line]
    PAGE.write_text(PLACE.sub(lambda _: "\n".join(table) + "\n", PAGE.read_text()))


if __name__ == "__main__":
    main()
