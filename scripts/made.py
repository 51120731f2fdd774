"""When stored tables were measured, and with which engines: results/made.json.

scripts/made.py carry BEFORE    if results/hashes.txt has every row of the file BEFORE, no result has changed: the
                                tables of that version are tables of the present one
"""

import datetime
import hashlib
import json
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"
MADE = RESULTS / "made.json"


def rows(text: str) -> list[str]:
    """No stored table is the fluid engine's."""
    return [line for line in text.splitlines() if not line.startswith(("#", "fluid "))]


def engines(hashes: str | None = None) -> str:
    """The version of the engines: a hash of the results of short runs, so it changes when a result does."""
    text = hashes if hashes is not None else (RESULTS / "hashes.txt").read_text()
    return hashlib.sha256("\n".join(rows(text)).encode()).hexdigest()[:8]


def all_made() -> dict[str, dict[str, str]]:
    """By stem of the file in results/: `day` and `engines`."""
    return json.loads(MADE.read_text())


def mark(name: str) -> None:
    """Notes that the file `name` has been measured now."""
    write(all_made() | {name: {"day": f"{datetime.date.today()}", "engines": engines()}})


def write(made: dict[str, dict[str, str]]) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(how)}" for name, how in sorted(made.items()))
    MADE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def carry(before: str) -> None:
    """Only rows of new policies or scenarios were added to `before`: its tables are of the present version."""
    after = (RESULTS / "hashes.txt").read_text()
    if not set(rows(before)) <= set(rows(after)):
        return
    old, new = engines(before), engines(after)
    write({name: how | {"engines": new} if how["engines"] == old else how for name, how in all_made().items()})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["carry", before]:
            carry(Path(before).read_text())
        case _:
            sys.exit(__doc__)
