"""Shared by measurements and page: paths, names, the program, results without scenarios."""

import functools
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "scripts"))

RESULTS = ROOT / "results"
IMAGES = ROOT / "docs/img"
PROGRAM = Path(os.environ.get("JOULEPATH", ROOT / "target/release/joulepath")).resolve()
"""Both build profiles give the same results; release is faster."""

NAMES = {
    "joule": "joule",
    "reno": "NewReno",
    "cubic": "CUBIC",
    "westwood": "Westwood+",
    "bbr1": "BBRv1",
    "bbr3": "BBRv3",
    "copa": "Copa",
    "vivace": "Vivace",
}
ENOUGH = 0.9
"""A policy harms its competitors if they keep less than this."""
PRESETS = {
    "joule[preset=saver]": "`saver`",
    "joule": "`balanced`",
    "joule[preset=fast]": "`fast`",
}
"""The balances between energy and time, by policy."""
PERCENTILES = range(101)


def say(text: str) -> None:
    print(f"joule: {text}", file=sys.stderr, flush=True)


def joulepath(*arguments: str) -> str:
    """The output of the program. If it fails, it prints its message and this script exits."""
    say("joulepath " + " ".join(arguments))
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    if done.returncode:
        sys.exit(f"joule: joulepath failed with exit code {done.returncode}")
    return done.stdout


@functools.cache
def runs() -> Path:
    """The folder of finished runs in the tree: one for each version of the program."""
    version = joulepath("--version").split("commit ")[1].rstrip(")\n")
    folder = Path("target/joule") / version
    (ROOT / folder).mkdir(parents=True, exist_ok=True)
    return folder


def write_json(path: Path, data: object) -> None:
    """Writes one line per record, for readable diffs."""
    path.write_text(by_lines(data) + "\n")
    if path.parent == RESULTS:
        import made

        made.mark(path.stem)


def by_lines(value: object, most: int = 2000) -> str:
    """JSON in which each value of up to `most` characters is on one line."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) <= most:
        return text
    match value:
        case dict():
            fields = (f"{json.dumps(key)}: {by_lines(its, most)}" for key, its in sorted(value.items()))
            return "{\n" + ",\n".join(fields) + "\n}"
        case list():
            return "[\n" + ",\n".join(by_lines(its, most) for its in value) + "\n]"
    return text


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


OLD_NAMES = {
    "contenders": "policies",
    "range": "random_set",
    "first_draw": "first",
    "draws_of_each": "scenarios_of_each",
    "seal": "sealed",
    "p10": "worst_10",
    "beside": "harm",
    "limit": "tcp_reference",
    "link": "link_bound",
}
"""Keys in the JSON of the first sealed runs, and the current keys."""


def renamed(data: object) -> object:
    """The data with the current keys."""
    if isinstance(data, dict):
        return {OLD_NAMES.get(name, name): renamed(value) for name, value in data.items()}
    return [renamed(value) for value in data] if isinstance(data, list) else data


def distilled(benchmark: dict) -> dict:
    """A benchmark with percentiles per policy, family and metric in place of the scenarios."""
    family_of = {scenario["name"]: scenario["family"] for scenario in benchmark.pop("scenarios")}
    of_mptcp = next((its["scenarios"] for its in benchmark["policies"] if its["policy"] == "mptcp"), {})
    for its in benchmark["policies"]:
        numbers = defaultdict(lambda: defaultdict(list))
        for scenario, values in its["scenarios"].items():
            known, theirs = means(values), means(of_mptcp.get(scenario, {}))
            # Of the same work.
            energy = quotient(theirs.get("tcp_reference"), known.get("tcp_reference"))
            for word, value in {**known, "energy_to_mptcp": energy}.items():
                if value is not None:
                    numbers[family_of[scenario]][word].append(value)
        for family, words in numbers.items():
            its["families"][family]["percentiles"] = {
                word: [rounded(x) for x in np.percentile(found, PERCENTILES)] for word, found in words.items()
            }
            if times := words.get("time"):
                its["families"][family]["over_3_times"] = rounded(
                    statistics.fmean(time > 3 for time in times)
                )
            if kept := words.get("kept"):
                its["families"][family]["unharmed"] = rounded(
                    statistics.fmean(value >= ENOUGH for value in kept)
                )
    for its in benchmark["policies"]:
        del its["scenarios"]
    return benchmark


def means(values: dict) -> dict:
    """Metrics of a scenario; those of several seeds have an interval."""
    return {word: value["mean"] if isinstance(value, dict) else value for word, value in values.items()}


def quotient(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None


def percentiles(its: dict, family: str, word: str) -> list[float]:
    return its["families"][family]["percentiles"][word]
