"""Congestion controllers of one's own."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

from joulepath import _joulepath
from joulepath._errors import JoulepathWarning


class Finding(NamedTuple):
    """A property of controllers, and what is wrong with it; None if it holds."""

    property: str
    trouble: str | None


class Controller:
    """A congestion controller of one's own: a C header that is compiled and loaded, for the packet engine.

    ``mine = jp.Controller.from_c("mine.h")`` needs a C compiler (``cc``, or what CC names). From then on its
    name is a policy, ``jp.compare(scenario, ["mptcp", "mine"])``, and can stand in one: ``"mptcp[cc=mine]"``.
    The file may be changed and loaded again.

    The package has no kernel engine; the same header runs in the kernel by ``joulepath compare --cc mine.h
    --engine kernel`` and ``joulepath cc load ./mine.h``.
    """

    def __init__(self, header: Path, name: str, title: str, summary: str) -> None:
        self._header = header
        self._name = name
        self._title = title
        self._summary = summary

    @classmethod
    def from_c(cls, header: str | os.PathLike[str]) -> Controller:
        """Compile and load a header.

        It runs inside this process, as the program that it is: :meth:`check` one before you trust it.

        Raises:
            FileError: if it cannot be read or compiled, with the compiler's lines, or breaks the contract.
        """
        path = Path(header)
        name, title, summary, warned = _joulepath.load_controller(path)
        for warning in warned:
            warnings.warn(warning, JoulepathWarning, stacklevel=2)
        return cls(path, name, title, summary)

    @staticmethod
    def new(name: str, folder: str | os.PathLike[str] = ".") -> Path:
        """Write a header to begin with, commented and with examples, and return its path.

        Raises:
            UsageError: if a controller cannot have this name.
            FileExistsError: if there is such a file.
        """
        text = _joulepath.controller_template(name)
        path = Path(folder) / f"{name}.h"
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        return path

    @property
    def name(self) -> str:
        """Its name as a policy."""
        return self._name

    @property
    def title(self) -> str:
        """Its name in tables."""
        return self._title

    @property
    def summary(self) -> str:
        """What it does, one sentence."""
        return self._summary

    def check(self) -> list[Finding]:
        """Try the properties that Joulepath's own controllers have.

        Defined in every state, bounded, writes to its own subflow only, says what it reads; and the examples
        in the header's comments.
        """
        return [Finding(*found) for found in _joulepath.check_controller(self._header)]

    def __repr__(self) -> str:
        return f"<Controller {self.name}: {self.summary}>"
