"""Figures for papers and notebooks, with matplotlib.

Every function draws into ``ax``, or into a new figure of one column's width, and returns the axes:
``plot.bars(result).figure.savefig("bars.pdf")``. The style is for a two-column paper: vectors, embedded
fonts, colours for readers without colour vision, and marks for readers without colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from joulepath import _joulepath
from joulepath._errors import UsageError
from joulepath._paper import paper
from joulepath._results import Advice, Comparison, Map, Run
from joulepath._style import (
    COLORS,
    COLUMN_IN,
    HATCHES,
    LINES,
    MARKERS,
    PAGE_IN,
    STYLE,
    axes,
    from_zero,
    legend,
    style,
)
from joulepath._table import Table

# After `_style`, which reports a missing matplotlib.
from matplotlib.colors import ListedColormap  # isort: skip
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # isort: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COLORS",
    "COLUMN_IN",
    "HATCHES",
    "LINES",
    "MARKERS",
    "PAGE_IN",
    "STYLE",
    "bars",
    "cdf",
    "front",
    "over_time",
    "paper",
    "regions",
    "shares",
    "style",
]

_NAMES = {
    **{name: (title, unit) for name, title, unit in _joulepath.metrics()},
    "tcp_share": ("goodput of one TCP", ""),
    "cwnd_packets": ("window", "packets"),
    "rtt_s": ("RTT", "s"),
    "queue_packets": ("queue", "packets"),
    "receive_buffer_segments": ("receive buffer", "segments"),
}


def bars(result: Comparison, metric: str = "bits_per_joule", ax: Axes | None = None) -> Axes:
    """Draw one bar per policy, with its 95 % interval; for the efficiency, the reference values as lines.

    Args:
        result: a comparison.
        metric: a column with an interval, without its end: ``energy_j``, ``delay_p95_s``, ``tcp_share``, …
        ax: axes to draw into.

    Raises:
        UsageError: if there is no such metric, or no policy has it.
    """
    _check(metric)
    with axes(ax) as ax:
        means = _known(result, f"{metric}_mean")
        scale, unit = _unit(metric, means)
        rows = range(len(result))
        for row, mean in zip(rows, means, strict=True):
            if mean is None:
                continue
            low, high = (result[f"{metric}_{end}"][row] for end in ("lo", "hi"))
            ax.bar(
                row,
                mean * scale,
                0.7,
                yerr=[[(mean - low) * scale], [(high - mean) * scale]],
                color=COLORS[row % len(COLORS)],
                hatch=HATCHES[row // len(COLORS) % len(HATCHES)],
                edgecolor="black",
                error_kw={"elinewidth": 0.8},
            )
        if metric == "bits_per_joule":
            _references(ax, result.references, scale, [value * scale for value in means if value is not None])
        ax.set_xticks(rows, result["label"], rotation=30, ha="right", rotation_mode="anchor")
        ax.set_ylabel(_label(metric, unit))
        ax.grid(axis="y")
        ax.set_ylim(bottom=0)
    return ax


def _references(ax: Axes, references: Table, scale: float, shown: Sequence[float]) -> None:
    """Draw reference values as lines. A value far above the bars would flatten them: it is only named."""
    names = {"tcp-reference": "TCP-rate reference", "link-bound": "link bound"}
    values = [limit["bits_per_joule"] for limit in references]
    for index, (limit, value) in enumerate(zip(references, values, strict=True)):
        if index > 0 and value == values[0]:
            continue
        name = "both references" if len(set(values)) < len(values) else names[limit["kind"]]
        if value * scale > 3 * max(shown, default=0.0):
            name += f": {value * scale:.3g}, above"
            ax.plot([], [], color="0.35", linestyle=LINES[1 + index], label=name)
        else:
            ax.axhline(value * scale, color="0.35", linestyle=LINES[1 + index], linewidth=0.8, label=name)
    if values:
        legend(ax)


def shares(result: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the share of each path in each policy's data: stacked bars."""
    with axes(ax) as ax:
        rows = range(len(result))
        bottom = [0.0] * len(result)
        for index, path in enumerate(result.paths):
            part = [100 * (value or 0.0) for value in result[f"{path}_share"]]
            ax.bar(
                rows,
                part,
                0.7,
                bottom=bottom,
                color=COLORS[index % len(COLORS)],
                hatch=HATCHES[index % len(HATCHES)],
                edgecolor="white" if index == 0 else "black",
                label=path,
            )
            bottom = [below + value for below, value in zip(bottom, part, strict=True)]
        ax.set_xticks(rows, result["label"], rotation=30, ha="right", rotation_mode="anchor")
        ax.set_ylabel("data (%)")
        ax.set_ylim(0, 100)
        legend(ax)
    return ax


def over_time(
    result: Comparison | Run,
    metric: Literal[
        "goodput_bps", "cwnd_packets", "rtt_s", "queue_packets", "power_w", "receive_buffer_segments"
    ] = "goodput_bps",
    *,
    policy: str | None = None,
    seed: int | None = None,
    smooth_s: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one run over time: one line per path.

    Args:
        result: a run, or a comparison with ``series=True``.
        metric: the drawn metric.
        policy: the policy of a comparison; the first if None.
        seed: the seed of a comparison; the first if None.
        smooth_s: averaging time in seconds, for goodput and power; a fiftieth of the run if None.
        ax: axes to draw into.

    Raises:
        UsageError: if there are no time series, or none of this policy and seed.
    """
    series = result.series.rows()
    if not series:
        raise UsageError("there are no time series", "ask for them: compare(…, series=True)")
    policy = series[0]["policy"] if policy is None else policy
    seed = series[0]["seed"] if seed is None else seed
    chosen = [row for row in series if (row["policy"], row["seed"]) == (policy, seed)]
    if not chosen:
        raise UsageError(f"there are no time series of `{policy}`, seed {seed}")
    paths = list(dict.fromkeys(row["path"] for row in chosen))
    if metric == "receive_buffer_segments":
        paths = paths[:1]
    with axes(ax) as ax:
        scale, unit = _unit(metric, [row[metric] for row in chosen])
        for index, path in enumerate(paths):
            points = [(row["time_s"], row[metric]) for row in chosen if row["path"] == path]
            if metric in ("goodput_bps", "power_w"):
                points = _smoothed(points, smooth_s)
            ax.plot(
                [time for time, _ in points],
                [float("nan") if value is None else value * scale for _, value in points],
                color=COLORS[index % len(COLORS)],
                linestyle=LINES[index % len(LINES)],
                label="connection" if metric == "receive_buffer_segments" else path,
            )
        ax.set_xlabel("time (s)")
        ax.set_ylabel(_label(metric, unit))
        ax.set_ylim(bottom=0)
        ax.set_xlim(0, max(row["time_s"] for row in chosen))
        ax.grid(axis="y")
        legend(ax)
    return ax


_BINS = 50


def _smoothed(
    points: Sequence[tuple[float, float | None]], smooth_s: float | None
) -> list[tuple[float, float | None]]:
    """Means over bins of time, each at the middle of its bin."""
    width = points[-1][0] / _BINS if smooth_s is None else smooth_s
    bins: dict[int, list[float]] = {}
    for time, value in points:
        if value is not None:
            # A sample is the mean since the previous one: it belongs to the bin that ends with it.
            bins.setdefault(max(0, -int(-time / width // 1) - 1) if width > 0 else 0, []).append(value)
    return [((index + 0.5) * width, sum(values) / len(values)) for index, values in sorted(bins.items())]


def front(result: Comparison | Advice, ax: Axes | None = None) -> Axes:
    """Draw energy against its benefit: a comparison's goodput, or the duration of a transfer.

    For a comparison: one mark per policy with both 95 % intervals, and the reference values as crosses. Low
    and right is good. For an advice: the plans, from the fastest to the thriftiest; the best in
    time is filled.
    """
    with axes(ax) as ax:
        if isinstance(result, Advice):
            _front_of_plans(ax, result)
        else:
            _front_of_policies(ax, result)
        ax.grid()
    return ax


def _front_of_policies(ax: Axes, result: Comparison) -> None:
    rates = _known(result, "goodput_bps_mean")
    scale, unit = _unit("goodput_bps", [*rates, *result.references["goodput_bps"]])
    # Nanojoules per bit: the inverse of the efficiency, so the interval's ends are swapped.
    ends = ("mean", "lo", "hi")
    cost = {
        end: [1e9 / value if value else None for value in result[f"bits_per_joule_{end}"]] for end in ends
    }
    for row, label in enumerate(result["label"]):
        x, y = rates[row], cost["mean"][row]
        if y is None:
            continue
        ax.errorbar(
            x * scale,
            y,
            xerr=[
                [(x - result["goodput_bps_lo"][row]) * scale],
                [(result["goodput_bps_hi"][row] - x) * scale],
            ],
            yerr=[[y - cost["hi"][row]], [cost["lo"][row] - y]],
            fmt=MARKERS[row % len(MARKERS)],
            color=COLORS[row % len(COLORS)],
            elinewidth=0.7,
            markerfacecolor="white" if row // len(MARKERS) % 2 else None,
            label=label,
        )
    for limit, mark in zip(result.references, "+x", strict=False):
        ax.plot(
            limit["goodput_bps"] * scale,
            1e9 / limit["bits_per_joule"],
            mark,
            color="0.35",
            markersize=6,
            label={"tcp-reference": "TCP-rate reference", "link-bound": "link bound"}[limit["kind"]],
        )
    ax.set_xlabel(_label("goodput_bps", unit))
    ax.set_ylabel("energy (nJ/bit)")
    ax.set_xlim(left=0)
    from_zero(ax)
    legend(ax)


def _front_of_plans(ax: Axes, advice: Advice) -> None:
    plans: dict[int, tuple[float, float, str]] = {}
    for row in advice.front:
        seconds, joules, names = plans.get(row["plan"], (row["seconds"], row["energy_j"], ""))
        plans[row["plan"]] = seconds, joules, f"{names} + {row['path']}" if names else row["path"]
    drawn = list(plans.values())
    ax.plot(
        [x for x, _, _ in drawn], [y for _, y, _ in drawn], "o-", color=COLORS[0], markerfacecolor="white"
    )
    ax.plot(advice.seconds, advice.energy_j, "o", color=COLORS[1], label="least energy in time")
    for x, y, name in drawn:
        ax.annotate(name, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
    ax.set_xlabel("time (s)")
    ax.set_ylabel("energy (J)")
    ax.margins(x=0.25, y=0.2)
    legend(ax)


def cdf(
    result: Comparison,
    metric: str = "goodput_bps",
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution over the seeds: one step line per policy.

    Args:
        result: a comparison.
        metric: a column of its runs: ``energy_j``, ``delay_p95_s``, …
        ax: axes to draw into.

    Raises:
        UsageError: if there is no such metric, or no run has it.
    """
    _check(metric)
    values: dict[str, list[float]] = {policy: [] for policy in result["policy"]}
    runs = result.runs
    for policy, value in zip(runs["policy"], runs[metric], strict=True):
        if value is not None:
            values[policy].append(value)
    if not any(values.values()):
        raise UsageError(f"no run has `{metric}`", "draw another metric")
    with axes(ax) as ax:
        scale, unit = _unit(metric, [value for all_ in values.values() for value in all_])
        for index, (label, drawn) in enumerate(zip(result["label"], values.values(), strict=True)):
            if drawn:
                ax.ecdf(
                    [value * scale for value in drawn],
                    color=COLORS[index % len(COLORS)],
                    linestyle=LINES[index % len(LINES)],
                    label=label,
                )
        ax.set_xlabel(_label(metric.replace("_mean", ""), unit))
        ax.set_ylabel("part of the seeds")
        ax.set_ylim(0, 1)
        ax.grid()
        legend(ax)
    return ax


def regions(drawn: Map, ax: Axes | None = None) -> Axes:
    """Draw the winning policy at each point: its colour and number; pale if others are within 1 % of it."""
    x, y = drawn.x, drawn.y
    policies = drawn.policies
    columns = len(x.values)
    best: list[list[float]] = [[float("nan")] * columns for _ in y.values]
    tied = [[0] * columns for _ in y.values]
    for index, row in enumerate(drawn):
        point, policy = divmod(index, len(policies))
        j, i = divmod(point, columns)
        if row["best"]:
            best[j][i] = policy
        tied[j][i] += row["tied"]
    with axes(ax) as ax:
        edges = [_edges(axis.values, axis.log) for axis in (x, y)]
        colors = ListedColormap([COLORS[index % len(COLORS)] for index in range(len(policies))])
        # One value per point, which matplotlib's annotations do not allow.
        pale: Any = [[0.35 if count > 1 else 0.9 for count in row] for row in tied]
        ax.pcolormesh(*edges, best, cmap=colors, vmin=-0.5, vmax=len(policies) - 0.5, alpha=pale)
        for index, named in enumerate(policies):
            points = [(j, i) for j, row in enumerate(best) for i, value in enumerate(row) if value == index]
            name = f"{index + 1} {named}" if points else f"{index + 1} {named}: nowhere"
            ax.plot([], [], "s", color=COLORS[index % len(COLORS)], label=name)
            if points:
                j, i = _middle(points)
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                at = (x.values[i], y.values[j])
                ax.annotate(str(index + 1), at, ha="center", va="center", fontsize=8, bbox=box)
        if any(count > 1 for row in tied for count in row):
            ax.plot([], [], "s", color="0.8", label="pale: others within 1 %")
        for axis, its, label in ((x, ax.xaxis, ax.set_xlabel), (y, ax.yaxis, ax.set_ylabel)):
            label(axis.keys + (f" ({axis.unit})" if axis.unit else ""))
            if axis.log:
                (ax.set_xscale if its is ax.xaxis else ax.set_yscale)("log")
                decades = axis.values[-1] / axis.values[0] > _DECADES
                its.set_major_locator(LogLocator(subs=(1.0,) if decades else (1.0, 2.0, 5.0)))
                its.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                its.set_minor_locator(NullLocator())
        title = f"best by {_NAMES[drawn.metric][0]}"
        legend(ax, title)
    return ax


_DECADES = 300.0
"""A wider range of values has ticks only at powers of ten."""


def _middle(points: list[tuple[int, int]]) -> tuple[int, int]:
    """The point of a region nearest to its centre."""
    j = sum(point[0] for point in points) / len(points)
    i = sum(point[1] for point in points) / len(points)
    return min(points, key=lambda point: (point[0] - j) ** 2 + (point[1] - i) ** 2)


def _edges(values: list[float], log: bool) -> list[float]:
    """Borders halfway between values, and as far beyond the first and the last."""

    def between(a: float, b: float) -> float:
        return float((a * b) ** 0.5) if log else (a + b) / 2

    def beyond(end: float, inner: float) -> float:
        return float(end * (end / inner) ** 0.5) if log else end + (end - inner) / 2

    inner = [between(a, b) for a, b in pairwise(values)]
    return [beyond(values[0], values[1]), *inner, beyond(values[-1], values[-2])]


def _check(metric: str) -> None:
    if metric not in _NAMES:
        close = get_close_matches(metric, _NAMES, 1) or ["energy_j"]
        raise UsageError(f"there is no metric `{metric}`", f"write for example `{close[0]}`")


def _known(result: Comparison, column: str) -> list[Any]:
    values = result[column]
    if all(value is None for value in values):
        raise UsageError(f"no policy has `{column}`", "draw another metric")
    return values


def _label(metric: str, unit: str) -> str:
    name = _NAMES[metric][0]
    return f"{name} ({unit})" if unit else name


_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"))


def _unit(metric: str, values: Sequence[float | None]) -> tuple[float, str]:
    """The factor for the values, and their unit after it."""
    _, unit = _NAMES[metric.replace("_mean", "")]
    if unit == "%":
        return 100.0, unit
    if unit in ("", "packets", "segments"):
        return 1.0, unit
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    factor, prefix = next((pair for pair in _PREFIXES if largest >= pair[0]), (1.0, ""))
    if unit == "s" and factor > 1:
        factor, prefix = 1.0, ""
    return 1 / factor, prefix + unit
