"""Why something could not be done, where, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class JoulepathError(Exception):
    """Something did not work. ``help`` says what to do next, where that is known."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message, help)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return self.message if self.help is None else f"{self.message}\n  help: {self.help}"


class UsageError(JoulepathError, ValueError):
    """What was asked for is wrong: a name, an option, a value."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario.

    Line and column are counted from 1. Keys that were set besides are lines after the end of the file.
    """

    line: int
    column: int
    message: str
    help: str | None


class ScenarioError(UsageError):
    """A scenario with mistakes: ``problems`` has each with its place and its mend."""

    problems: tuple[Problem, ...]

    def __init__(self, shown: str, problems: Sequence[Problem]) -> None:
        super().__init__(shown)
        self.args = (shown, problems)
        self.problems = tuple(problems)


class FileError(JoulepathError, OSError):
    """A file could not be read or written, or may not be used."""

    def __init__(self, message: str, help: str | None = None) -> None:
        OSError.__init__(self, message)
        JoulepathError.__init__(self, message, help)


class UnsupportedError(JoulepathError):
    """This build, this machine or this engine cannot do it."""


class RunError(JoulepathError):
    """Every run failed; the first reason is in the message."""


class Defect(JoulepathError):
    """A defect of Joulepath: please report it, with the scenario and the call."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early. ``result`` has what had finished, or is None if nothing had begun."""

    def __init__(self, result: Any) -> None:
        super().__init__(
            "stopped by Ctrl-C; what had finished is in the attribute `result` of this exception"
        )
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.result,)


class JoulepathWarning(UserWarning):
    """Something to know of a result: runs that failed, or a machine in doubt."""
