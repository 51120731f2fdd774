"""Shared fixtures: the command line, whose numbers are the reference."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CommandLine = Callable[..., str]


@pytest.fixture(scope="session")
def program() -> Path:
    """The command line; under CI a missing one is an error."""
    program = Path(os.environ.get("JOULEPATH_PROGRAM", ROOT / "target/debug/joulepath"))
    if not program.exists():
        reason = f"{program} is not there: `scripts/cargo.sh build -p joulepath` makes it"
        if os.environ.get("CI", "") not in ("", "0", "false"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


@pytest.fixture(scope="session")
def command_line(program: Path) -> CommandLine:
    """The output of `joulepath ARGUMENTS…`."""

    def run(*arguments: str) -> str:
        done = subprocess.run([program, *arguments], check=True, capture_output=True, text=True, cwd=ROOT)
        return done.stdout

    return run


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell lets its background jobs ignore SIGINT, and Python keeps ignoring it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
