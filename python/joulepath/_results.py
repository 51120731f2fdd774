"""What comes out: tables with the texts and pages that the command line shows."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from joulepath import _joulepath
from joulepath._table import Table

_ALL_COLUMNS = 1 << 30
_WIDER = "`.text(width=None)` shows them."


class FailedRun(NamedTuple):
    """A run that failed, and why."""

    policy: str
    seed: int
    error: str
    cause: BaseException | None = None
    """The exception in a part of yours that ended it, with its traceback."""


class PythonCost(NamedTuple):
    """What a part in Python cost: clock times of this machine, which no other output has."""

    policy: str
    runs: int
    calls: int
    in_python_s: float
    took_s: float

    @property
    def calls_per_s(self) -> float:
        """How many calls of hooks a second of Python did."""
        return self.calls / self.in_python_s if self.in_python_s > 0 else 0.0

    @property
    def slowdown(self) -> float:
        """How many times as long the runs took as they would have with hooks that take no time."""
        return self.took_s / max(self.took_s - self.in_python_s, 1e-9)

    def __str__(self) -> str:
        return (
            f"{self.policy} is Python: {self.calls:,} calls at {self.calls_per_s:,.0f}/s, its runs took "
            f"{self.slowdown:.1f} times as long as without them"
        )


class _Page(Protocol):
    def json(self) -> str: ...
    def html(self) -> str: ...


class _Result(Table):
    """What all results can do."""

    _page: _Page

    def to_json(self) -> str:
        """Return what the command line prints with ``--json``."""
        return self._page.json()

    def to_dict(self) -> dict[str, Any]:
        """Return the same as dicts and lists."""
        result: dict[str, Any] = json.loads(self.to_json())
        return result

    def to_html(self) -> str:
        """Return the page of the command line's ``--report``: it works offline and loads nothing."""
        return self._page.html()

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write the result to a file, whose ending says how.

        ``.html`` or ``.json``; comparisons and maps ``.csv``, too.

        Raises:
            ValueError: if the ending is another one.
        """
        path = Path(file)
        writers = {".html": self.to_html, ".json": self.to_json}
        to_csv = getattr(self, "to_csv", None)
        if to_csv is not None:
            writers[".csv"] = to_csv
        if path.suffix not in writers:
            raise ValueError(f"{path}: a result is written as {', '.join(sorted(writers))}")
        path.write_text(writers[path.suffix](), encoding="utf-8")
        return path

    def text(self, width: int | None = None) -> str:
        """Return what the command line prints, at most so many characters wide."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return _joulepath.visible(self.text(shutil.get_terminal_size().columns).rstrip())

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.text(_NOTEBOOK_WIDTH))}</pre>"


_NOTEBOOK_WIDTH = 120


class Comparison(_Result):
    """Policies side by side: as a table, one row for each policy.

    An estimate takes three columns, ``_mean``, ``_lo`` and ``_hi``: the mean over the seeds with its 95 %
    bootstrap interval. What is unknown is null.
    """

    def __init__(self, raw: _joulepath.Comparison) -> None:
        super().__init__(raw.policies())
        self._raw = raw
        self._page = raw

    @property
    def runs(self) -> Table:
        """One row for each policy and seed."""
        return Table(self._raw.runs())

    @property
    def limits(self) -> Table:
        """The best that any rates could reach: one row for each kind of limit."""
        return Table(self._raw.limits())

    @property
    def series(self) -> Table:
        """One row for each policy, seed, path and instant; empty unless ``series=True`` was asked for.

        Of the first hundred seeds. An RTT is null before the first sample; ``receive_buffer_segments`` is of
        the whole connection.
        """
        return Table(self._raw.series())

    @property
    def title(self) -> str:
        """Of the scenario."""
        return self._raw.title

    @property
    def engine(self) -> str:
        """Which engine ran."""
        return self._raw.engine

    @property
    def seeds(self) -> list[int]:
        """The seeds of each policy."""
        return self._raw.seeds

    @property
    def paths(self) -> list[str]:
        """Names of the scenario's paths."""
        return self._raw.paths

    @property
    def notes(self) -> list[str]:
        """What a reader has to know of how the engine ran it, one sentence each."""
        return self._raw.notes

    @property
    def failures(self) -> list[FailedRun]:
        """Runs that failed, and why."""
        causes = {(policy, seed): cause for policy, seed, cause in self._raw.causes()}
        return [
            FailedRun(policy, seed, error, causes.get((policy, seed)))
            for policy, seed, error in self._raw.failures()
        ]

    @property
    def python_costs(self) -> list[PythonCost]:
        """What parts of yours in Python cost, for each policy that has any; empty if none has."""
        costs: dict[str, PythonCost] = {}
        for policy, _, calls, in_python_s, took_s in self._raw.python_costs():
            known = costs.get(policy, PythonCost(policy, 0, 0, 0.0, 0.0))
            costs[policy] = PythonCost(
                policy,
                known.runs + 1,
                known.calls + calls,
                known.in_python_s + in_python_s,
                known.took_s + took_s,
            )
        return list(costs.values())

    @property
    def partial(self) -> bool:
        """Whether some runs are missing: interrupted, or failed."""
        return self._raw.partial

    def details(self) -> list[dict[str, Any]]:
        """Return every run with all that the engine said of it."""
        runs: list[dict[str, Any]] = json.loads(self._raw.runs_json())
        return runs

    def to_csv(self) -> str:
        """Return what the command line prints with ``--csv``: one line for each policy."""
        return self._raw.csv()

    def runs_to_csv(self) -> str:
        """Return what the command line writes with ``--runs-csv``: one line for each run."""
        return self._raw.runs_csv()

    def text(self, width: int | None = None) -> str:
        """Return the table of the terminal, at most so many characters wide; None shows every column."""
        table = self._raw.table(_ALL_COLUMNS if width is None else width, False, _WIDER)
        costs = self.python_costs
        return table + "".join(f"{cost}\n" for cost in costs) if costs else table

    def _repr_html_(self) -> str:
        from html import escape

        costs = self.python_costs
        return self._raw.notebook() + "".join(f"<p>{escape(str(cost))}</p>" for cost in costs)


class Run:
    """One run of one policy: ``run.goodput_bps``, ``run.energy_j``; ``run.to_dict()`` has all there is."""

    def __init__(self, comparison: Comparison) -> None:
        [self._run] = comparison.details()
        self._comparison = comparison

    @property
    def policy(self) -> str:
        """As it was written."""
        return str(self._run["policy"])

    @property
    def seed(self) -> int:
        """Of all random numbers."""
        return int(self._run["seed"])

    @property
    def goodput_bps(self) -> float:
        """In-order data delivered to the application per second, bit/s."""
        return float(self._run["goodput_bps"])

    @property
    def energy_j(self) -> float:
        """Energy of the devices in the measured interval, J."""
        return float(self._run["energy_j"])

    @property
    def power_w(self) -> float:
        """Mean power, W."""
        return float(self._run["power_w"])

    @property
    def bits_per_joule(self) -> float | None:
        """In-order data per joule, bit/J; None if nothing was burnt."""
        value = self._run["bits_per_joule"]
        return None if value is None else float(value)

    @property
    def completion_s(self) -> float | None:
        """Time until the last byte of a file arrived, s; None without a file, or if it did not arrive."""
        value = self._run["completion_s"]
        return None if value is None else float(value)

    @property
    def paths(self) -> list[dict[str, Any]]:
        """What each path carried and cost."""
        paths: list[dict[str, Any]] = self._run["paths"]
        return paths

    @property
    def series(self) -> Table:
        """Over time: one row for each path and instant."""
        return self._comparison.series

    def to_dict(self) -> dict[str, Any]:
        """Return all that the engine said, with units in the names."""
        return dict(self._run)

    def __repr__(self) -> str:
        efficiency = "–" if self.bits_per_joule is None else f"{self.bits_per_joule:.4g} bit/J"
        return (
            f"<Run {self.policy}, seed {self.seed}, {self._comparison.engine} engine: "
            f"{self.goodput_bps / 1e6:.4g} Mbit/s, {self.energy_j:.4g} J, {efficiency}>"
        )


class Axis(NamedTuple):
    """An axis of a map: the keys, the values in their unit, and whether the steps are ratios."""

    keys: str
    unit: str
    values: list[float]
    log: bool


class Map(_Result):
    """Which policy wins where: as a table, one row for each policy at each point.

    ``x`` and ``y`` are in the units of the axes; ``best`` and ``tied`` (within 1 % of the best) are flags.
    """

    def __init__(self, raw: _joulepath.Map) -> None:
        super().__init__(raw.points())
        self._raw = raw
        self._page = raw

    @property
    def x(self) -> Axis:
        """From left to right."""
        return Axis(*self._raw.axes()[0])

    @property
    def y(self) -> Axis:
        """From bottom to top."""
        return Axis(*self._raw.axes()[1])

    @property
    def policies(self) -> list[str]:
        """The policies."""
        return self._raw.policies()

    @property
    def title(self) -> str:
        """Of the scenario."""
        return self._raw.title

    @property
    def metric(self) -> str:
        """What they are compared by."""
        return self._raw.metric

    @property
    def partial(self) -> bool:
        """Whether some runs are missing."""
        return self._raw.partial

    def to_csv(self) -> str:
        """Return what the command line prints with ``--csv``."""
        return self._raw.csv()

    def text(self, width: int | None = None) -> str:
        """Return the map of the terminal."""
        return self._raw.table(_NOTEBOOK_WIDTH if width is None else width, False)


class Advice(_Result):
    """Which interfaces for a transfer: as a table, the plan of the least energy, one row for each path."""

    def __init__(self, raw: _joulepath.Advice) -> None:
        super().__init__(raw.best())
        self._raw = raw
        self._page = raw

    @property
    def front(self) -> Table:
        """The plans of the time–energy front, the fastest first: one row for each path of each plan."""
        return Table(self._raw.front())

    @property
    def reason(self) -> str:
        """One sentence."""
        return self._raw.reason

    @property
    def energy_j(self) -> float:
        """Of the best plan, from the first promotion to the end of the last tail, J."""
        return self._raw.energy_j

    @property
    def seconds(self) -> float:
        """Of the best plan, from the start to the last byte."""
        return self._raw.seconds

    def text(self, width: int | None = None) -> str:
        """Return what the command line prints."""
        return self._raw.table(_NOTEBOOK_WIDTH if width is None else width)


class Explanation(Table):
    """What a controller does in a state: one row for each subflow; windows and increases in packets.

    ``increase`` and ``window_after_loss`` are by the integer code that runs in simulator and kernel, those
    with ``formula_`` by the definition in floating point.
    """

    def __init__(self, raw: tuple[_joulepath.Batch, str, str]) -> None:
        batch, self.title, self.formula = raw
        super().__init__(batch)

    def __repr__(self) -> str:
        return _joulepath.visible(f"{self.title}\n\n{super().__repr__()}\n\nformula: {self.formula}")


class Benchmark(_Result):
    """Policies on families of scenarios, as a table.

    Ranked families: one row for each policy, means over the families. Random families: one row for each
    policy, family and metric, with ``median``, ``worst_10`` (what nine tenths of the scenarios reach), their
    95 % intervals, and ``worst``. ``docs/benchmark.md`` says what the metrics are.
    """

    def __init__(self, raw: _joulepath.Benchmark) -> None:
        super().__init__(raw.policies())
        self._raw = raw
        self._page = raw

    @property
    def partial(self) -> bool:
        """Whether some runs are missing."""
        return self._raw.partial

    def to_csv(self) -> str:
        """Return what the command line writes with ``--csv``: one line for each policy on each scenario."""
        return self._raw.csv()

    def text(self, width: int | None = None) -> str:
        """Return what the command line prints, at most so many characters wide; None shows every interval."""
        return self._raw.table(_ALL_COLUMNS if width is None else width, _WIDER)


class Reproduction(_Result):
    """Which claims of the papers hold: as a table, one row for each experiment."""

    def __init__(self, raw: _joulepath.Reproduction) -> None:
        super().__init__(raw.verdicts())
        self._raw = raw
        self._page = raw

    @property
    def partial(self) -> bool:
        """Whether some runs are missing."""
        return self._raw.partial

    def text(self, width: int | None = None) -> str:
        """Return what the command line prints."""
        return self._raw.table(_NOTEBOOK_WIDTH if width is None else width, False)
