"""Errors: the reason, the place, and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class JoulepathError(Exception):
    """An operation failed. ``help`` says what to do next, if known."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message, help)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return self.message if self.help is None else f"{self.message}\n  help: {self.help}"


class UsageError(JoulepathError, ValueError):
    """A request is wrong: a name, an option, a value."""


@dataclass(frozen=True)
class Problem:
    """One error in a scenario.

    Line and column count from 1. Overridden keys are lines after the end of the file.
    """

    line: int
    column: int
    message: str
    help: str | None


class ScenarioError(UsageError):
    """A scenario with errors: ``problems`` has each with its place and fix."""

    problems: tuple[Problem, ...]

    def __init__(self, shown: str, problems: Sequence[Problem]) -> None:
        super().__init__(shown)
        self.args = (shown, problems)
        self.problems = tuple(problems)


class FileError(JoulepathError, OSError):
    """A file cannot be read or written, or must not be used."""

    def __init__(self, message: str, help: str | None = None) -> None:
        OSError.__init__(self, message)
        JoulepathError.__init__(self, message, help)


class UnsupportedError(JoulepathError):
    """This build, machine or engine does not support the request."""


class RunError(JoulepathError):
    """Every run failed; the first reason is in the message."""


class Defect(JoulepathError):
    """A defect of Joulepath: please report it, with the scenario and the call."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early. ``result`` has the finished part, or is None if nothing had started."""

    def __init__(self, result: Any) -> None:
        super().__init__("stopped by Ctrl-C; the exception's attribute `result` has the finished part")
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.result,)


class JoulepathWarning(UserWarning):
    """A remark about a result: failed runs, or an unreliable machine."""
