#!/usr/bin/env python3
"""Computes random rows of stored tables again, and fails if one differs from results/tables.

    scripts/sample.py PROGRAM [--rows N] [--seed K]

Only tables that were measured with the present engines (results/made.json) have rows to compare.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator

import made
import near
import pages


def near_rows() -> Iterator[tuple[str, Callable[[str], str | None]]]:
    """Each row of the table of docs/models/limits.md, and how it is computed."""
    for line in pages.stored("near").splitlines()[2:]:
        name = line.split("`")[1]
        yield line, lambda program, name=name: near.row(program, name, near.SEEDS)


TABLES = {"near": near_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    now, how = made.engines(), made.all_made()
    present = [name for name in TABLES if how[name]["engines"] == now]
    for name in TABLES.keys() - set(present):
        print(f"sample.py: SKIPPED: {name} was measured with earlier engines", file=sys.stderr)
    rows = [row for name in present for row in TABLES[name]()]
    chosen = random.Random(options.seed).sample(rows, min(options.rows, len(rows)))
    differ = 0
    for line, compute in chosen:
        again = compute(options.program)
        differ += again != line
        print(f"sample.py: {'same' if again == line else f'DIFFERS: now {again}'}: {line}", file=sys.stderr)
    if differ:
        sys.exit(f"sample.py: {differ} of {len(chosen)} rows differ (--seed {options.seed}): measure the table again")


if __name__ == "__main__":
    main()
