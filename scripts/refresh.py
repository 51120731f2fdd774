#!/usr/bin/env python3
"""Runs the commands in a page's console blocks and replaces the output below them, so that no number in a page is typed.

    scripts/refresh.py PAGE [--program FILE]

Each line that starts with `$ ` is a shell command. It runs in a temporary folder with the page's first TOML block as
`my.toml`. If a command prints nothing, the text below it stays. A line `…` stands for any number of omitted lines.
`scripts/pages.py keep PAGE` then moves output that is not in git.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import BLOCK, COMMAND

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "…"


def shortened(said: list[str], before: list[str]) -> list[str]:
    """The output, with as many lines at both ends as the page has around its `…`."""
    if LEFT_OUT not in before:
        return said
    head = before.index(LEFT_OUT)
    tail = len(before) - head - 1
    if len(said) <= head + tail:
        return said
    return [*said[:head], LEFT_OUT, *said[len(said) - tail :]]


def run(command: str, program: Path, folder: Path) -> list[str]:
    """The lines that a command prints."""
    print(f"refresh.py: {command}", file=sys.stderr)
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    # A function, because the program's file may have another name.
    shell = f'joulepath() {{ "$PROGRAM" "$@"; }}\n{command}'
    done = subprocess.run(
        ["sh", "-c", shell],
        cwd=folder,
        env={**environment, "PROGRAM": str(program)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stderr}refresh.py: exit code {done.returncode}; the page is unchanged")
    return done.stdout.splitlines()


def refreshed(block: str, program: Path, folder: Path) -> str:
    """A console block with the current output of its commands."""
    lines: list[str] = []
    for part in COMMAND.split(block):
        if not part.startswith("$ "):
            lines += part.splitlines()
            continue
        command, *before = part.splitlines()
        said = run(command.removeprefix("$ "), program, folder)
        lines += [command, *(shortened(said, before) if said else before)]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", type=Path)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/joulepath")
    asked = parser.parse_args()
    program = asked.program.resolve()
    if not program.exists():
        sys.exit(f"refresh.py: there is no {program}: make build")
    if not asked.page.is_file():
        sys.exit(f"refresh.py: there is no page {asked.page}")
    text = asked.page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        if scenario := SCENARIO.search(text):
            (Path(folder) / "my.toml").write_text(scenario[1])
        text = BLOCK.sub(lambda block: refreshed(block[0], program, Path(folder)), text)
    asked.page.write_text(text)


if __name__ == "__main__":
    main()
