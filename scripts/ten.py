"""The table of docs/ten-results.md, from the stored results."""

import functools
import json
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
CELLS = re.compile(r"[\d.]+")


@functools.cache
def read(name: str):
    return json.loads((RESULTS / name).read_text())


def tables(name: str) -> list[list[dict[str, str]]]:
    """The tables of a place, each as rows of cells by title."""
    parts = (part for part in read(f"tables/{name}.json") if not isinstance(part, str))
    return [[dict(zip(head, row, strict=True)) for row in rows] for head, _, *rows in parts]


def number(cell: str) -> float:
    return float(CELLS.search(cell)[0])


def download() -> str:
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) J \| ([\d.]+) s \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    joules = {name: (float(energy), float(time)) for name, energy, time in rows}
    ours, linux, wifi = (
        joules[name] for name in ("Joulepath's policy `joule`", "Multipath TCP, Linux default", "WiFi alone, CUBIC")
    )
    return (
        f"{100 * (1 - ours[0] / linux[0]):.0f} % less energy than Linux' default, {ours[1] - linux[1]:.1f} s later; "
        f"{100 * ours[0] / wifi[0]:.0f} % of the energy of WiFi alone"
    )


def sealed() -> dict:
    """The row of `joule` without a history of the networks."""
    rows = read("benchmark-sealed.json")["policies"]
    return next(its for its in rows if (its["policy"], its["start"]) == ("joule", "cold"))


def versus(family: str) -> str:
    its = sealed()["versus"][family]
    mean = its["mean"]
    baseline = "the better radio" if "best" in its["baseline"] else "the first radio"
    return (
        f"{mean['mean']:.2f} ({mean['lo']:.2f}–{mean['hi']:.2f}) times the bits per joule of {baseline} alone; "
        f"at least 5 % fewer in {100 * its['worse']:.0f} % of {its['n']} scenarios"
    )


def files() -> str:
    energy = sealed()["families"]["f2-file"]["percentiles"]["energy_to_mptcp"]
    return f"{100 * energy[50]:.0f} % of Multipath TCP's joules in the median, {100 * energy[90]:.0f} % in the worst tenth"


def shared() -> str:
    its = sealed()["families"]["f5-shared"]
    return (
        f"{versus('f5-shared')}; the TCPs keep 0.9 of their share in {100 * its['unharmed']:.0f} %, "
        f"{its['percentiles']['kept'][0]:.2f} at worst"
    )


def claims() -> str:
    its = read("claims.json")
    counts = {word: its["rows"] for word, its in its["counts"].items()}
    return (
        f"{counts['holds throughout']} hold throughout, {counts['holds when']} under conditions, "
        f"{counts['contradicted throughout']} nowhere; {counts['undetermined']} undetermined, "
        f"{counts['erratum']} errata, {len(its['left_out'])} not searched"
    )


def kernel() -> str:
    rows = {row[""]: row for row in tables("gap")[0]}
    return "; ".join(
        f"{name}: {rows[name]['median of all']} apart in the median, {rows[name]['worst'].lstrip('+-')} at worst"
        for name in ("goodput", "energy")
    )


def daemon() -> str:
    rows = [row for name in ("live", "live-random", "live-random-metered") for row in tables(name)[0]]
    joules = [number(row["joules of plain's, %"]) for row in rows if row["intent"] == "`frugal`"]
    return (
        f"{statistics.median(joules):.0f} % of plain MPTCP's joules for each bit in the median of {len(joules)} "
        f"scenarios, {min(joules):.0f} to {max(joules):.0f} %"
    )


def speed() -> str:
    rows = {row["M packet-hops/s"]: list(row.values())[1:] for row in tables("speed")[0]}
    times = {
        peer: [number(cell) for cell in rows[f"**times {peer}**"] if cell != "–"] for peer in ("ns-2", "ns-3")
    }
    return ", ".join(f"{min(its):.0f} to {max(its):.0f} times {peer}'s" for peer, its in times.items())


TEN = (
    ("A phone downloads 20 MB over WiFi and LTE", download, "demo", "../README.md"),
    ("Files over random radios of today", files, "joule", "joule.md"),
    ("The same files", lambda: versus("f2-file"), "joule", "joule.md#results-random-scenarios"),
    ("Streams", lambda: versus("f3-stream"), "joule", "joule.md#results-random-scenarios"),
    ("Data without end", lambda: versus("f1-bulk"), "joule", "joule.md#results-random-scenarios"),
    ("Data without end, all paths and some TCPs on one bottleneck", shared, "joule", "joule.md#results-random-scenarios"),
    ("The daemon in Linux with intent `frugal`, emulated radios", daemon, "daemon", "live-results.md"),
    ("Claims of the five papers", claims, "papers", "papers/README.md"),
    ("Packet engine compared with Linux", kernel, "fidelity", "fidelity.md"),
    ("Packets per CPU second in the simulator", speed, "performance", "performance.md"),
)
"""What is measured, its result, and the page that says how."""


def table() -> str:
    rows = [f"| {what} | {result()} | [{name}]({link}) |" for what, result, name, link in TEN]
    return "\n".join(["| | result | page |", "|---|---|---|", *rows])
