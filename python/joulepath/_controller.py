"""Your own congestion controllers: Python classes, and C headers."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from joulepath import _joulepath
from joulepath._errors import JoulepathWarning, UsageError
from joulepath._parts import Part, _known, has_own

Loss = Literal["fast-retransmit", "timeout", "ecn"]
"""Kinds of congestion episodes."""

Reads = Literal["energy_cost", "path_price", "target_share", "marks", "delay"]
"""State that a controller may read besides windows and RTTs."""

_HOOKS = ("increase", "ssthresh", "on_start", "on_ack", "on_round", "on_loss", "on_restart")


class Finding(NamedTuple):
    """A property of controllers, and its violation; None if it holds."""

    property: str
    trouble: str | None


class Controller(Part):
    """Your own congestion controller.

    A **Python class** overrides hooks; the contract is that of ``cc/mpcc.h``. Slow start, loss recovery and
    timeouts belong to the engine unless the class says ``owns_window = True``::

        class Half(jp.Controller):
            def increase(self, subflow: jp.Subflow) -> float:
                return 0.5 / subflow.cwnd_packets

        jp.compare("quick", ["mptcp", Half()])

    Only hooks that the class defines are called. ``on_round`` is called once per RTT, so it costs least.

    A **C header** is compiled and loaded: ``mine = jp.Controller.from_c("mine.h")``. It is as fast as
    Joulepath's own controllers, and the same file runs in the kernel.
    """

    kind = "cc"

    owns_window: ClassVar[bool] = False
    """Whether its hooks set window and pacing rate in every state, like BBR. Then there is no slow start and
    no halving besides them, and ``increase`` and ``ssthresh`` are not called."""

    reads: ClassVar[tuple[Reads, ...]] = ()
    """The state it reads that others must provide. Undeclared reads are errors."""

    uncoupled: ClassVar[bool] = False
    """Whether it reads nothing of the other subflows."""

    least_window_packets: ClassVar[int] = 1
    """Minimum of a window that ``increase`` lowers."""

    cache_acks: ClassVar[int] = 0
    """Packets for which an increase may be reused while the window does not change. LIA has 16."""

    def increase(self, subflow: _joulepath.Subflow) -> float:
        """Return the window change for one newly acknowledged packet in congestion avoidance.

        In packets, -2 to 2; it has no side effects. ``1 / subflow.cwnd_packets`` is NewReno. Without this
        hook the window grows by slow start only, or ``on_round`` or ``on_ack`` sets it.
        """
        raise NotImplementedError

    def ssthresh(self, subflow: _joulepath.Subflow, loss: Loss) -> float:
        """Return the window after a loss, in packets, without side effects. Default: half of it."""
        raise NotImplementedError

    def on_start(self, subflow: _joulepath.Subflow) -> None:
        """Handle the start of a subflow."""

    def on_ack(self, subflow: _joulepath.Subflow, ack: _joulepath.Ack) -> None:
        """Handle an ACK, before the window grows."""

    def on_round(self, subflow: _joulepath.Subflow, ack: _joulepath.Ack) -> None:
        """Handle the last ACK of a round, after ``on_ack`` and before the round's statistics are cleared."""

    def on_loss(self, subflow: _joulepath.Subflow, loss: Loss) -> None:
        """Handle the start of a loss episode; the window still has its old value."""

    def on_restart(self, subflow: _joulepath.Subflow) -> None:
        """Handle the restart of sending after idle."""

    def _host(self, name: str, title: str, summary: str) -> None:
        hooks = [hook for hook in _HOOKS if has_own(self, Controller, hook)]
        grows = {"on_ack", "on_round"} if self.owns_window else {"increase", "on_ack", "on_round"}
        if not grows & set(hooks):
            raise UsageError(f"`{name}` never changes a window", f"give it {' or '.join(sorted(grows))}")
        flags: list[str] = list(self.reads)
        flags += ["owns_window"] if self.owns_window else []
        flags += ["uncoupled"] if self.uncoupled else []
        flags += [] if self.owns_window or "increase" in hooks else ["acts_by_round"]
        _joulepath.host_controller(
            self, name, title, summary, hooks, flags, self.least_window_packets, self.cache_acks
        )

    @property
    def policy(self) -> str:
        """The policy with this controller on all paths, scheduled by ``minrtt``: its name."""
        return self._enter(_joulepath.part_names()[0])

    @staticmethod
    def from_c(header: str | os.PathLike[str]) -> HeaderController:
        """Compile and load a header; requires a C compiler (``cc``, or the one in CC).

        The code runs inside this process: :meth:`HeaderController.check` it before you trust it. The file may
        be changed and loaded again.

        Raises:
            FileError: if it cannot be read or compiled (with the compiler's output), or breaks the contract.
        """
        path = Path(header)
        name, title, summary, warned = _joulepath.load_controller(path)
        for warning in warned:
            warnings.warn(warning, JoulepathWarning, stacklevel=2)
        _known.pop(("cc", name), None)
        return HeaderController(path, name, title, summary)

    @staticmethod
    def new(name: str, folder: str | os.PathLike[str] = ".") -> Path:
        """Write a commented template header with examples, and return its path.

        Raises:
            UsageError: if the name is invalid for a controller.
            FileExistsError: if the file exists.
        """
        text = _joulepath.controller_template(name)
        path = Path(folder) / f"{name}.h"
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        return path

    def __repr__(self) -> str:
        return f"<Controller {self.name or type(self).__name__}>"


class HeaderController(Controller):
    """A controller from a C header, compiled and loaded by :meth:`Controller.from_c`.

    From then on its name is a policy, ``jp.compare(scenario, ["mptcp", "mine"])``, and a part of policies:
    ``"mptcp[cc=mine]"``. The package has no kernel engine; ``joulepath compare --cc mine.h --engine kernel``
    and ``joulepath cc load ./mine.h`` run the same header in the kernel.
    """

    def __init__(self, header: Path, name: str, title: str, summary: str) -> None:
        self._header = header
        self.name = name
        self.title = title
        self.summary = summary

    @property
    def policy(self) -> str:
        """Its name."""
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process must also compile and load it.
        return Controller.from_c, (self._header.absolute(),)

    def __copy__(self) -> HeaderController:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> HeaderController:
        return self

    def check(self) -> list[Finding]:
        """Check the properties that Joulepath's own controllers have.

        It is defined and bounded in every state, writes only to its own subflow, and declares the state that
        it reads. The examples in the header's comments are checked as well.
        """
        return [Finding(*found) for found in _joulepath.check_controller(self._header)]

    def __repr__(self) -> str:
        return f"<Controller {self.name}: {self.summary}>"
