"""Results: tables, with the texts and pages of the command line."""

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
    """A failed run, and the reason."""

    policy: str
    seed: int
    error: str
    cause: BaseException | None = None
    """The exception in your part that ended it, with its traceback."""


class PythonCost(NamedTuple):
    """Cost of a part in Python, in clock time of this machine. No other output depends on the clock."""

    policy: str
    runs: int
    calls: int
    in_python_s: float
    took_s: float

    @property
    def calls_per_s(self) -> float:
        """Calls of hooks per second of Python."""
        return self.calls / self.in_python_s if self.in_python_s > 0 else 0.0

    @property
    def slowdown(self) -> float:
        """Duration of the runs relative to hooks that take no time."""
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
    """Common base of all results."""

    _page: _Page

    def to_json(self) -> str:
        """Return the command line's ``--json`` output."""
        return self._page.json()

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``to_json`` as dicts and lists."""
        result: dict[str, Any] = json.loads(self.to_json())
        return result

    def to_html(self) -> str:
        """Return the page of the command line's ``--report``: it works offline and loads nothing."""
        return self._page.html()

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write the result to a file, in the format of its suffix.

        ``.html`` or ``.json``; for comparisons, maps and benchmarks also ``.csv``.

        Raises:
            ValueError: if the suffix is unknown.
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
        """Return the command line's output, at most ``width`` characters wide."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return _joulepath.visible(self.text(shutil.get_terminal_size().columns).rstrip())

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.text(_NOTEBOOK_WIDTH))}</pre>"


_NOTEBOOK_WIDTH = 120


class Comparison(_Result):
    """A comparison of policies: as a table, one row per policy.

    An estimate has three columns, ``_mean``, ``_lo`` and ``_hi``: the mean over the seeds with its 95 %
    bootstrap interval. Unknown values are null.
    """

    def __init__(self, raw: _joulepath.Comparison) -> None:
        super().__init__(raw.policies())
        self._raw = raw
        self._page = raw

    @property
    def runs(self) -> Table:
        """One row per policy and seed."""
        return Table(self._raw.runs())

    @property
    def references(self) -> Table:
        """The reference efficiencies: one row per kind."""
        return Table(self._raw.references())

    @property
    def series(self) -> Table:
        """One row per policy, seed, path and instant; empty unless ``series=True`` was given.

        It has the first hundred seeds. An RTT is null before the first sample; ``receive_buffer_segments``
        belongs to the whole connection.
        """
        return Table(self._raw.series())

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self._raw.title

    @property
    def engine(self) -> str:
        """The engine that ran."""
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
        """Notes on how the engine ran it, one sentence each."""
        return self._raw.notes

    @property
    def failures(self) -> list[FailedRun]:
        """Failed runs, with the reasons."""
        causes = {(policy, seed): cause for policy, seed, cause in self._raw.causes()}
        return [
            FailedRun(policy, seed, error, causes.get((policy, seed)))
            for policy, seed, error in self._raw.failures()
        ]

    @property
    def python_costs(self) -> list[PythonCost]:
        """Cost of your Python parts, for each policy that has some."""
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
        """Return every run with the engine's full result."""
        runs: list[dict[str, Any]] = json.loads(self._raw.runs_json())
        return runs

    def to_csv(self) -> str:
        """Return the command line's ``--csv`` output: one line per policy."""
        return self._raw.csv()

    def runs_to_csv(self) -> str:
        """Return the command line's ``--runs-csv`` output: one line per run."""
        return self._raw.runs_csv()

    def text(self, width: int | None = None) -> str:
        """Return the terminal's table, at most ``width`` characters wide; None shows every column."""
        table = self._raw.table(_ALL_COLUMNS if width is None else width, False, _WIDER)
        costs = self.python_costs
        return table + "".join(f"{cost}\n" for cost in costs) if costs else table

    def _repr_html_(self) -> str:
        from html import escape

        costs = self.python_costs
        return self._raw.notebook() + "".join(f"<p>{escape(str(cost))}</p>" for cost in costs)


class Run:
    """One run of one policy: ``run.goodput_bps``, ``run.energy_j``; ``run.to_dict()`` has everything."""

    def __init__(self, comparison: Comparison) -> None:
        [self._run] = comparison.details()
        self._comparison = comparison

    @property
    def policy(self) -> str:
        """The policy as written."""
        return str(self._run["policy"])

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""
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
        """In-order data per joule, bit/J; None if no energy was used."""
        value = self._run["bits_per_joule"]
        return None if value is None else float(value)

    @property
    def completion_s(self) -> float | None:
        """Time until the last byte of a file arrived, s; None without a file, or if it did not arrive."""
        value = self._run["completion_s"]
        return None if value is None else float(value)

    @property
    def paths(self) -> list[dict[str, Any]]:
        """Results of each path."""
        paths: list[dict[str, Any]] = self._run["paths"]
        return paths

    @property
    def series(self) -> Table:
        """One row per path and instant."""
        return self._comparison.series

    def to_dict(self) -> dict[str, Any]:
        """Return the engine's full result, with units in the names."""
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
    """The winning policy at each point of a plane: as a table, one row per policy and point.

    ``x`` and ``y`` are in the units of the axes; ``best`` and ``tied`` (within 1 % of the best) are flags.
    """

    def __init__(self, raw: _joulepath.Map) -> None:
        super().__init__(raw.points())
        self._raw = raw
        self._page = raw

    @property
    def x(self) -> Axis:
        """The horizontal axis, from left to right."""
        return Axis(*self._raw.axes()[0])

    @property
    def y(self) -> Axis:
        """The vertical axis, from bottom to top."""
        return Axis(*self._raw.axes()[1])

    @property
    def policies(self) -> list[str]:
        """Names of the policies."""
        return self._raw.policies()

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self._raw.title

    @property
    def metric(self) -> str:
        """The compared metric."""
        return self._raw.metric

    @property
    def partial(self) -> bool:
        """Whether some runs are missing."""
        return self._raw.partial

    def to_csv(self) -> str:
        """Return the command line's ``--csv`` output."""
        return self._raw.csv()

    def text(self, width: int | None = None) -> str:
        """Return the terminal's map."""
        return self._raw.table(_NOTEBOOK_WIDTH if width is None else width, False)


class Advice(_Result):
    """The interfaces for a transfer: as a table, the plan with the least energy, one row per path."""

    def __init__(self, raw: _joulepath.Advice) -> None:
        super().__init__(raw.best())
        self._raw = raw
        self._page = raw

    @property
    def front(self) -> Table:
        """The plans of the time–energy front, the fastest first: one row per plan and path."""
        return Table(self._raw.front())

    @property
    def reason(self) -> str:
        """One sentence of explanation."""
        return self._raw.reason

    @property
    def energy_j(self) -> float:
        """Energy of the best plan, from the first promotion to the end of the last tail, J."""
        return self._raw.energy_j

    @property
    def seconds(self) -> float:
        """Duration of the best plan, from the start to the last byte, s."""
        return self._raw.seconds

    @property
    def waiting(self) -> dict[str, Any] | None:
        """What waiting saves, as in ``to_json``; None unless ``every`` was given."""
        return self.to_dict().get("waiting")

    def text(self, width: int | None = None) -> str:
        """Return the command line's output."""
        return self._raw.table(_NOTEBOOK_WIDTH if width is None else width)


class Explanation(Table):
    """A controller's action in a state: one row per subflow; windows and increases in packets.

    ``increase`` and ``window_after_loss`` come from the integer code that runs in simulator and kernel,
    columns with ``formula_`` from the definition in floating point.
    """

    def __init__(self, raw: tuple[_joulepath.Batch, str, str]) -> None:
        batch, self.title, self.formula = raw
        super().__init__(batch)

    def __repr__(self) -> str:
        return _joulepath.visible(f"{self.title}\n\n{super().__repr__()}\n\nformula: {self.formula}")


class Benchmark(_Result):
    """Policies on families of scenarios, as a table.

    Ranked families: one row per policy, means over the families. Random families: one row per policy, family
    and metric, with ``median``, ``worst_10`` (nine tenths of the scenarios are at least as good), their 95 %
    intervals, and ``worst``. ``docs/benchmark.md`` defines the metrics.
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
        """Return the command line's ``--csv`` output: one line per policy and scenario."""
        return self._raw.csv()

    def text(self, width: int | None = None) -> str:
        """Return the command line's output, at most ``width`` characters wide; None shows every interval."""
        return self._raw.table(_ALL_COLUMNS if width is None else width, _WIDER)


class Reproduction(_Result):
    """The checked claims of the papers: as a table, one row per experiment."""

    def __init__(self, raw: _joulepath.Reproduction) -> None:
        super().__init__(raw.verdicts())
        self._raw = raw
        self._page = raw

    @property
    def partial(self) -> bool:
        """Whether some runs are missing."""
        return self._raw.partial

    def text(self, width: int | None = None) -> str:
        """Return the command line's output."""
        return self._raw.table(_NOTEBOOK_WIDTH if width is None else width, False)
