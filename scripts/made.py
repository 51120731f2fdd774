"""When stored tables were measured, and with which engines: results/made.json."""

import datetime
import hashlib
import json
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"
MADE = RESULTS / "made.json"


def engines(hashes: str | None = None) -> str:
    """The version of the engines: a hash of the results of short runs, so it changes when a result does. No stored
    table is the fluid engine's."""
    text = hashes if hashes is not None else (RESULTS / "hashes.txt").read_text()
    rows = [line for line in text.splitlines() if not line.startswith(("#", "fluid "))]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:8]


def all_made() -> dict[str, dict[str, str]]:
    """By stem of the file in results/: `day` and `engines`."""
    return json.loads(MADE.read_text())


def mark(name: str) -> None:
    """Notes that the file `name` has been measured now."""
    write(all_made() | {name: {"day": f"{datetime.date.today()}", "engines": engines()}})


def write(made: dict[str, dict[str, str]]) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(how)}" for name, how in sorted(made.items()))
    MADE.write_text("{\n" + ",\n".join(lines) + "\n}\n")

