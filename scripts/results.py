#!/usr/bin/env python3
"""Measures the stored tables and figures again. `make results` runs it.

    scripts/results.py                    every part that was measured with earlier engines
    scripts/results.py near gap           these parts
    scripts/results.py --minutes 30       at most 30 minutes for each part
    scripts/results.py --list             the parts: minutes, need of root, engines of their tables

A part ends at its time limit. The same command resumes it: finished runs are in target/results, by version of
the engines. Parts that need root are skipped without it.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import made
import pages

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "scripts/python.sh run"


@dataclass(frozen=True)
class Part:
    """How some tables are measured."""

    command: str
    """In sh, in the root of the tree. $joulepath is the program, $runs a file for finished runs, $page a page
    with the mark `mark`."""
    minutes: int
    """Time limit."""
    tables: tuple[str, ...] = ()
    """Stems of the files in results/ if they are not the part's name alone."""
    page: str = ""
    """The page with the tables, in docs/; empty if the command writes into results/ itself."""
    mark: str = ""
    """The command writes a table between these marks of $page, from where it goes into the part's place."""
    root: bool = False
    prints: bool = False
    """The command prints the table."""


CARGO = "cargo run --quiet --release --locked"
DRAWN = '"$joulepath" live judge {folder}/drawn-*.toml --runs "$runs" --markdown "$page" --quiet'
PARTS = {
    "near": Part('python3 scripts/near.py "$joulepath"', 10, page="models/limits.md"),
    "003-slotted": Part(
        f"{CARGO} -p joulepath-benches --example slotted", 10, page="papers/003.md", prints=True
    ),
    "benchmark-full": Part(
        '"$joulepath" benchmark --runs "$runs" --markdown docs/benchmark.md '
        "--front docs/img/benchmark-front.svg --quiet",
        60,
        page="benchmark.md",
    ),
    "joule": Part(f"{PYTHON} scripts/joule measure && {PYTHON} scripts/joule figures", 60),
    "joule-presets": Part(f"{PYTHON} scripts/joule presets", 60),
    "joule-learning": Part(f"{PYTHON} scripts/joule learn", 60),
    "joule-kernel": Part(f"{PYTHON} scripts/joule kernel", 60, root=True),
    "gym-scores": Part(f"{PYTHON} examples/gym_scores.py --write docs/gym.md", 10, page="gym.md"),
    "calibrations": Part(
        "JOULEPATH_WRITE_DOCS=1 scripts/cargo.sh test --workspace --exclude joulepath-benches "
        "--exclude joulepath-python --locked --test meter calibrations",
        15,
        tables=("calibrations", "refusals"),
        page="calibration.md",
    ),
    "claims": Part(
        '"$joulepath" reproduce --search --out results --docs docs/papers --markdown docs/reproduce.md', 600
    ),
    "reproduction": Part(
        '"$joulepath" reproduce --full --out results/reproduction --docs docs/papers', 150, root=True
    ),
    "gap": Part(
        '"$joulepath" gap --runs "$runs" --seeds 3 --kernel-jobs 4 --markdown docs/fidelity.md',
        150,
        page="fidelity.md",
        root=True,
    ),
    "gap-growing": Part(
        '"$joulepath" gap fidelity/growing fidelity/growing-blocked --runs "$runs" --seeds 3 '
        '--markdown "$page"',
        30,
        page="fidelity.md",
        mark="gap",
        root=True,
    ),
    "live": Part(
        '"$joulepath" live judge --runs "$runs" --markdown docs/live-results.md',
        90,
        page="live-results.md",
        root=True,
    ),
    "live-random": Part(
        DRAWN.format(folder="studies/live"), 60, page="live-results.md", mark="live", root=True
    ),
    "live-random-metered": Part(
        DRAWN.format(folder="studies/live-second"), 60, page="live-results.md", mark="live", root=True
    ),
    "speed": Part(
        "benches/peers/build.sh && benches/peers/speed.py --rounds 7 --write",
        60,
        tables=("speed", "fabric", "growth"),
        page="performance.md",
    ),
    "cost": Part("benches/peers/cost.py --write", 30, page="performance.md"),
    "kernel": Part(
        "cargo bench --locked -p joulepath-lab --features bpf --bench controllers -- --write",
        60,
        page="performance.md",
        root=True,
    ),
}

GRACE = 60
"""Seconds in which a command that is interrupted may finish its runs."""


def names_of(name: str) -> tuple[str, ...]:
    return PARTS[name].tables or (name,)


def is_present(name: str) -> bool:
    """True if all tables of a part were measured with the present engines."""
    how = made.all_made()
    return all(how.get(table, {}).get("engines") == made.engines() for table in names_of(name))


def why_not(part: Part) -> str | None:
    return "needs root" if part.root and os.geteuid() else None


def put(page: Path, name: str, text: str) -> None:
    page.write_text(pages.with_places(page.read_text(), lambda at, before: text if at == name else before))


def call(command: str, environment: dict[str, str], seconds: float, out: Path) -> str | None:
    """Runs a command; `None` if it succeeds. At the limit it is interrupted, later killed."""
    with out.open("w") as file:
        child = subprocess.Popen(
            ["sh", "-c", command], cwd=ROOT, env=environment, stdout=file, start_new_session=True
        )
    for end in (signal.SIGINT, signal.SIGKILL):
        try:
            code = child.wait(seconds)
            return None if code == 0 else f"its command ended with {code}"
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, end)
            seconds = GRACE
        except KeyboardInterrupt:
            os.killpg(child.pid, signal.SIGINT)
            child.wait(GRACE)
            raise
    child.wait()
    return "its time is up; the same command resumes it"


def measure(name: str, program: Path, minutes: int | None) -> str | None:
    """Measures a part and stores its tables; the reason if it could not."""
    part = PARTS[name]
    runs = ROOT / "target/results" / made.engines()
    runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page, out = Path(folder) / "page.md", Path(folder) / "printed.md"
        page.write_text(f"<!-- {part.mark}: begin -->\n<!-- {part.mark}: end -->\n")
        environment = {
            **os.environ,
            "joulepath": str(program),
            "JOULEPATH": str(program),
            "runs": str(runs / f"{name}.jsonl"),
            "page": str(page),
        }
        if failed := call(part.command, environment, 60 * (minutes or part.minutes), out):
            return failed
        written = {name: text for name, _, text in pages.PLACE.findall(page.read_text())}
        table = out.read_text() if part.prints else written.get(part.mark)
    if table:
        put(pages.DOCS / part.page, name, f"\n{table.strip()}\n\n")
    if part.page:
        pages.keep(pages.DOCS / part.page)
    for table in names_of(name):
        made.mark(table)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--minutes", type=int, help="time limit of each part; its own if absent")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/joulepath")
    asked = parser.parse_args()
    if unknown := [name for name in asked.parts if name not in PARTS]:
        parser.error(f"unknown: {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    if asked.list:
        how = made.all_made()
        for name, part in PARTS.items():
            state = "present" if is_present(name) else how.get(names_of(name)[0], {}).get("engines", "?")
            print(f"{name:20} {part.minutes:4} min  {'root' if part.root else '':4}  {state}")
        return
    program = asked.program.resolve()
    if not program.exists():
        sys.exit(f"results.py: there is no {program}: make build")
    left = {}
    for name in asked.parts or [name for name in PARTS if not is_present(name)]:
        print(f"results.py: {name}", file=sys.stderr, flush=True)
        if failed := why_not(PARTS[name]) or measure(name, program, asked.minutes):
            print(f"results.py: {name}: {failed}", file=sys.stderr, flush=True)
            left[name] = failed
    subprocess.run(
        ["scripts/python.sh", "run", "scripts/pages.py", "write", str(program)], cwd=ROOT, check=True
    )
    if left:
        sys.exit("results.py: not measured: " + "; ".join(f"{name} ({why})" for name, why in left.items()))


if __name__ == "__main__":
    main()
