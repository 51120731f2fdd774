"""Parts of policies as Python classes: schedulers, selectors, allocators. Controllers are next to it."""

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
"""Use of a path: for data, for data while no regular path can carry it, or unused."""

PathState = Literal["closed", "opening", "open", "closing"]
"""State of the subflow on a path."""

_USES: dict[str, int] = {"closed": 0, "backup": 1, "regular": 2}
_KNOWN_USES = ", ".join(f'"{use}"' for use in _USES)
_ROUNDING = 1e-6
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")

_Kind = Literal["cc", "scheduler", "selector", "allocator"]
_known: dict[tuple[str, str], object] = {}


class Part:
    """Base of your own controllers, schedulers, selectors and allocators.

    An object is a prototype: each connection of each run uses a deep copy, so runs are independent and their
    order does not affect the result.
    """

    name: str = ""
    """Its name in policies: lower-case letters, digits, ``_`` and ``-``; the lower-case class name if empty.
    Objects in one comparison need different names: ``second.name = "second"``."""

    title: str = ""
    """Its name in tables; the name if empty."""

    summary: str = ""
    """One sentence of description; the first line of the class's docstring if empty."""

    random: Random
    """Random numbers of this copy, seeded by the run. The module ``random`` is not seeded."""

    kind: ClassVar[_Kind]

    def _enter(self, ours: Iterable[str]) -> str:
        """Register it under its name, unless it is registered, and return the name."""
        name = self.name or type(self).__name__.lower().lstrip("_")
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"`{name}` is not a valid name of a part",
                "a small letter, then small letters, digits, `_` and `-`",
            )
        if name in ours:
            raise UsageError(f"`{name}` is a built-in name", "choose another name")
        if _known.get((self.kind, name)) is not self:
            first = (type(self).__doc__ or "").strip().split("\n")[0]
            self._host(name, self.title or name, self.summary or first or "a part in Python")
            _known[self.kind, name] = self
        return name

    def _host(self, name: str, title: str, summary: str) -> None:
        raise NotImplementedError

    @property
    def policy(self) -> str:
        """MPTCP's policy with this part, as a text for every place that takes policies.

        From then on the part's name denotes this object: ``f"mptcp[scheduler={part.name},cc=olia]"``.
        """
        raise NotImplementedError


def has_own(part: Part, base: type, hook: str) -> bool:
    """Whether the object's class itself defines a hook."""
    return getattr(type(part), hook) is not getattr(base, hook)


class Scheduler(Part):
    """Your own packet scheduler: override :meth:`pick`.

    ``jp.compare(scenario, ["mptcp", MyScheduler()])`` runs it with LIA on all paths. With another controller
    it is ``f"mptcp[cc=olia,scheduler={mine.name}]"``, after ``mine.policy`` has registered it.
    """

    kind = "scheduler"

    rescues: ClassVar[bool] = True
    """Whether it has ``minrtt``'s opportunistic retransmission and penalisation."""

    def pick(
        self, paths: tuple[_joulepath.PathView, ...], backlog: _joulepath.Backlog
    ) -> _joulepath.PathView | None:
        """Return the path for the next segment, or None to wait for a path without space.

        Args:
            paths: the paths that may carry it, in the connection's order: established, not recovering from a
                timeout, and not previous carriers of it; backups only if no regular path is left. At least
                one has space in its window.
            backlog: the segment, and the waiting data.
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
    """A path in a selector's call; unknown values are None. Estimates outlive the path's subflow."""

    name: str
    state: PathState
    is_backup: bool
    is_usable: bool
    """Whether it answers; False for ten seconds after it has stalled."""
    srtt_s: float | None
    cwnd_packets: float
    rate_bps: float
    """Delivered rate, smoothed."""
    capacity_bps: float | None
    """Delivered rate while more data waited, smoothed: its capacity."""
    loss: float
    """Loss events per packet; 0 before the first loss."""
    delivered_bytes: int
    joules_per_bit: float
    """Modelled energy at its capacity, or at 10 Mbit/s while that is unknown."""
    slope_joules_per_bit: float
    """Marginal energy. At a rate x a bit costs ``slope_joules_per_bit + sunk_w / x``."""
    sunk_w: float
    """Power of its interface while used, independent of the rate."""


@dataclass(frozen=True, slots=True)
class AllocatorPath(PathSnapshot):
    """A path in an allocator's call: a selector's view, and the scenario's expected rate."""

    expected_bps: float | None
    """Rate of one TCP connection by the scenario's random loss and RTT (Mathis et al. 1997), limited to the
    slowest link's rate; constant. None in a topology."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand on a connection's paths."""

    now_s: float
    """Simulated time."""
    waiting_bytes: float | None
    """Bytes written and not yet delivered; None for endless data."""
    mss_bytes: int
    """Payload of a full segment."""


class Selector(Part):
    """Your own path selector: override :meth:`want`."""

    kind = "selector"

    period_s: ClassVar[float] = 0.1
    """Interval between its calls, in simulated time."""

    def want(self, paths: Sequence[PathSnapshot], demand: Demand) -> Sequence[Use]:
        """Return the wanted use of each path, in order.

        The first call is before the connection opens, with every path closed. Actions follow from the answer:
        no subflow is closed before a remaining one is open.
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
    """Your own rate allocator: override :meth:`shares`.

    ``jp.compare(scenario, ["eemptcp", MyAllocator()])`` runs it with the controller ``eemptcp``, which moves
    the windows towards the shares. It works with any controller that has ``reads = ("target_share",)``:
    ``f"mptcp[cc={other.name},allocator={mine.name}]"``.
    """

    kind = "allocator"

    period_s: ClassVar[float] = 1.0
    """Interval between its calls, in simulated time, a multiple of 0.1 s."""

    def shares(self, paths: Sequence[AllocatorPath], demand: Demand) -> Sequence[float] | None:
        """Return the share of the traffic for each path, in order; None to keep the shares.

        Shares are 0 to 1 and add up to 1. The first call is before the connection starts, with every path
        closed and nothing measured; the fluid engine only makes this call. None then means: no shares yet,
        and ``eemptcp`` is LIA until there are some.
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
    """Return a copy for one connection, with its own random numbers. Called by the compiled part."""
    own = copy.deepcopy(part)
    own.random = Random(f"{seed}/{number}")
    return own


def wanted(part: Selector, paths: list[dict[str, Any]], demand: _Demand) -> list[int]:
    """Call a selector, and check its answer. Called by the compiled part."""
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
    """Call an allocator, and check its answer. Called by the compiled part."""
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
