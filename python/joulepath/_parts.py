"""Parts of policies as Python classes: schedulers, selectors, allocators; controllers stand beside."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Literal, TypeVar

from joulepath import _joulepath
from joulepath._errors import UsageError

Use = Literal["regular", "backup", "closed"]
"""How a path is used: for data, for data while no regular one can, or not at all."""

PathState = Literal["closed", "opening", "open", "closing"]
"""Life of the subflow on a path."""

_USES: dict[str, int] = {"closed": 0, "backup": 1, "regular": 2}
_KNOWN_USES = ", ".join(f'"{use}"' for use in _USES)
_ROUNDING = 1e-6
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")

_Kind = Literal["cc", "scheduler", "selector", "allocator"]
_known: dict[tuple[str, str], object] = {}


class Part:
    """What controllers, schedulers, selectors and allocators of one's own have in common.

    An object is a prototype: each connection of each run works on a deep copy of it, so that no run knows of
    another one, and the result does not depend on their order.
    """

    name: str = ""
    """Its name in policies: small letters, digits, ``_`` and ``-``. That of the class, in small letters, if
    empty. Objects that are compared with each other need names of their own: ``second.name = "second"``."""

    title: str = ""
    """Its name in tables; the name if empty."""

    summary: str = ""
    """What it does, one sentence; the first line of the class's docstring if empty."""

    random: Random
    """Random numbers of this copy, which follow from the run's seed; those of the module do not."""

    kind: ClassVar[_Kind]

    def _enter(self, ours: Iterable[str]) -> str:
        """Make it known under its name, unless it is already, and return that name."""
        name = self.name or type(self).__name__.lower().lstrip("_")
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"`{name}` is no name of a part", "a small letter, then small letters, digits, `_` and `-`"
            )
        if name in ours:
            raise UsageError(f"`{name}` is the name of one of Joulepath's own", "choose another name")
        if _known.get((self.kind, name)) is not self:
            first = (type(self).__doc__ or "").strip().split("\n")[0]
            self._host(name, self.title or name, self.summary or first or "a part in Python")
            _known[self.kind, name] = self
        return name

    def _host(self, name: str, title: str, summary: str) -> None:
        raise NotImplementedError

    @property
    def policy(self) -> str:
        """The policy that is MPTCP's with this part: a text that can stand wherever policies are named.

        The name of a part means its object from then on: ``f"mptcp[scheduler={part.name},cc=olia]"``.
        """
        raise NotImplementedError


def has_own(part: Part, base: type, hook: str) -> bool:
    """Whether the object's class has a hook, and not only its base."""
    return getattr(type(part), hook) is not getattr(base, hook)


class Scheduler(Part):
    """A packet scheduler of one's own: override :meth:`pick`.

    ``jp.compare(scenario, ["mptcp", MyScheduler()])`` runs it with LIA on all paths; with another controller
    it is ``f"mptcp[cc=olia,scheduler={mine.name}]"`` after ``mine.policy`` has made it known.
    """

    kind = "scheduler"

    rescues: ClassVar[bool] = True
    """Whether it has opportunistic retransmission and penalisation, as ``minrtt`` has them."""

    def pick(
        self, paths: tuple[_joulepath.PathView, ...], backlog: _joulepath.Backlog
    ) -> _joulepath.PathView | None:
        """Say which path the next segment takes; None if it shall wait for a path that has no space now.

        Args:
            paths: those that may carry it, in the connection's order: established, not recovering from a
                timeout, backups only where no regular path is left, and none that has carried it before. At
                least one of them has space in its window.
            backlog: the segment, and the data that waits.
        """
        raise NotImplementedError

    def _host(self, name: str, title: str, summary: str) -> None:
        if not has_own(self, Scheduler, "pick"):
            raise UsageError(f"`{name}` has no `pick`", "override Scheduler.pick")
        _joulepath.host_scheduler(self, name, summary, self.rescues)

    @property
    def policy(self) -> str:
        return f"mptcp[scheduler={self._enter(_joulepath.part_names()[1])}]"


@dataclass(frozen=True, slots=True)
class PathSnapshot:
    """A path as a selector sees it; what is unknown is None. Estimates outlive the path's subflow."""

    name: str
    state: PathState
    is_backup: bool
    is_usable: bool
    """Whether it answers; False for ten seconds after it has stalled."""
    srtt_s: float | None
    cwnd_packets: float
    rate_bps: float
    """What it delivers, smoothed."""
    capacity_bps: float | None
    """What it delivered while more waited, smoothed: what it can carry."""
    loss: float
    """Loss events per packet; 0 if none was ever seen."""
    delivered_bytes: int
    joules_per_bit: float
    """Modelled, at its capacity; at 10 Mbit/s while that is unknown."""
    slope_joules_per_bit: float
    """What one bit more costs. At a rate x a bit costs ``slope_joules_per_bit + sunk_w / x``."""
    sunk_w: float
    """What its interface burns while it is used, whatever it carries."""


@dataclass(frozen=True, slots=True)
class AllocatorPath(PathSnapshot):
    """A path as an allocator sees it: what a selector sees, and what the scenario promises."""

    expected_bps: float | None
    """What one TCP connection gets by the scenario's random loss and RTT (Mathis et al. 1997), at most the
    rate of the slowest link; it never changes. None in a topology."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a connection's paths are needed for."""

    now_s: float
    """Simulated time."""
    waiting_bytes: float | None
    """Bytes that are written and not delivered; None if there is no end of them."""
    mss_bytes: int
    """Payload of a full segment."""


class Selector(Part):
    """A path selector of one's own: override :meth:`want`."""

    kind = "selector"

    period_s: ClassVar[float] = 0.1
    """How often it looks at the paths, in simulated time."""

    def want(self, paths: Sequence[PathSnapshot], demand: Demand) -> Sequence[Use]:
        """Say how each path shall be used, in their order.

        The first call comes before the connection opens, with every path closed. What has to be done for it
        follows: no subflow is closed before one that stays is open.
        """
        raise NotImplementedError

    def _host(self, name: str, title: str, summary: str) -> None:
        if not has_own(self, Selector, "want"):
            raise UsageError(f"`{name}` has no `want`", "override Selector.want")
        _joulepath.host_selector(self, name, summary, self.period_s)

    @property
    def policy(self) -> str:
        return f"mptcp[selector={self._enter(_joulepath.part_names()[2])}]"


class Allocator(Part):
    """A rate allocator of one's own: override :meth:`shares`.

    ``jp.compare(scenario, ["eemptcp", MyAllocator()])`` runs it with the controller ``eemptcp``, which draws
    the windows towards the shares. Any other controller with ``reads = ("target_share",)`` can have it, too:
    ``f"mptcp[cc={other.name},allocator={mine.name}]"``.
    """

    kind = "allocator"

    period_s: ClassVar[float] = 1.0
    """How often it is asked, in simulated time, in tenths of a second."""

    def shares(self, paths: Sequence[AllocatorPath], demand: Demand) -> Sequence[float] | None:
        """Say which share of the traffic each path shall carry, in their order; None if nothing changes.

        Shares are 0 to 1 and add up to 1. The first call comes before the connection begins, with every path
        closed and nothing measured; the fluid engine asks this once only. None is then: no shares yet, and
        ``eemptcp`` is LIA until there are.
        """
        raise NotImplementedError

    def _host(self, name: str, title: str, summary: str) -> None:
        if not has_own(self, Allocator, "shares"):
            raise UsageError(f"`{name}` has no `shares`", "override Allocator.shares")
        _joulepath.host_allocator(self, name, summary, self.period_s)

    @property
    def policy(self) -> str:
        return f"eemptcp[allocator={self._enter(_joulepath.part_names()[3])}]"


_AnyPart = TypeVar("_AnyPart", bound=Part)

_Demand = tuple[float, float | None, int]


def fresh(part: _AnyPart, seed: int, number: int) -> _AnyPart:
    """Return a copy for one connection, with random numbers of its own. Called by the compiled part."""
    own = copy.deepcopy(part)
    own.random = Random(f"{seed}/{number}")
    return own


def wanted(part: Selector, paths: list[dict[str, Any]], demand: _Demand) -> list[int]:
    """Ask a selector, and check its answer. Called by the compiled part."""
    snapshots = [PathSnapshot(**path) for path in paths]
    uses = list(part.want(snapshots, Demand(*demand)))
    if len(uses) != len(paths):
        raise UsageError(
            f"want returned {len(uses)} uses for {len(paths)} paths", f"one of {_KNOWN_USES} for each"
        )
    for use in uses:
        if use not in _USES:
            raise UsageError(f"want returned {use!r}", f"write {_KNOWN_USES}")
    if "regular" not in uses:
        raise UsageError("want left no path regular", "a connection needs one that carries its data")
    return [_USES[use] for use in uses]


def shared(part: Allocator, paths: list[dict[str, Any]], demand: _Demand) -> list[float] | None:
    """Ask an allocator, and check its answer. Called by the compiled part."""
    answer = part.shares([AllocatorPath(**path) for path in paths], Demand(*demand))
    if answer is None:
        return None
    shares = [float(share) for share in answer]
    if len(shares) != len(paths):
        raise UsageError(
            f"shares returned {len(shares)} shares for {len(paths)} paths",
            "one for each path, in their order",
        )
    if not all(0 <= share <= 1 for share in shares):
        raise UsageError(f"shares returned {shares}", "a share is 0 to 1; return None if nothing changes")
    if abs(sum(shares) - 1) > _ROUNDING:
        raise UsageError(f"shares that add up to {sum(shares):g}, not to 1", "divide each by their sum")
    return shares
