"""The figures of the five papers, with our measurements and the papers' statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from joulepath._errors import UsageError
from joulepath._results import Reproduction
from joulepath._style import (
    COLORS,
    HATCHES,
    MARKERS,
    STYLE,
    TITLE,
    from_zero,
    legend,
    settle,
    style,
    subplots,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paper(result: Reproduction, experiment: str | None = None) -> Figure:
    """Draw the figure of a paper's experiment: our results with 95 % intervals, the paper's dashed.

        plot.paper(jp.reproduce(["002-fig9"])).savefig("fig9.pdf")

    Args:
        result: of :func:`joulepath.reproduce`.
        experiment: its id or a prefix of it, if the result has several.

    Raises:
        UsageError: if the result has no such experiment, several of them, or one without figures.
    """
    drawn: dict[str, list[dict[str, Any]]] = {
        one["id"]: one["figures"] for one in result.to_dict()["experiments"] if one["figures"]
    }
    found = (
        [drawn[experiment]]
        if experiment in drawn
        else [figures for name, figures in drawn.items() if name.startswith(experiment or "")]
    )
    if len(found) != 1:
        asked = "the result" if experiment is None else f"`{experiment}`"
        what = "draws nothing" if not found else "is several experiments"
        raise UsageError(
            f"{asked} {what}", f"there are: {', '.join(drawn)}" if drawn else "reproduce another one"
        )
    [figures] = found
    with style():
        width, height = STYLE["figure.figsize"]
        figure, axes = subplots(len(figures), squeeze=False, figsize=(width, height * len(figures)))
        for ax, one in zip(axes[:, 0], figures, strict=True):
            plotted = one["plot"]
            _PLOTS[plotted["kind"]](ax, plotted)
            ax.set_xlabel(one["x"])
            ax.set_ylabel(one["y"])
            if plotted["kind"] != "boxes":
                from_zero(ax)
            ax.grid(axis="y")
            title = fill(one["title"], TITLE)
            if len(ax.get_legend_handles_labels()[1]) > 1:
                legend(ax, title)
            else:
                ax.set_title(title, loc="left")
        settle(figure)
    return figure


_FEW = 20
"""Lines with fewer points have a mark at each point."""
_MARKS = 8
"""Marks on a line with more points."""


def _lines(ax: Axes, plotted: dict[str, Any]) -> None:
    colors: dict[str, str] = {}
    for index, line in enumerate(plotted["lines"]):
        # The paper's line has our line's colour: "MPTCP", "MPTCP (paper)".
        ours = next((color for name, color in colors.items() if line["name"].startswith(name)), None)
        color = (line["stated"] and ours) or COLORS[index % len(COLORS)]
        colors[line["name"]] = color
        x, y = line["x"], _numbers(line["y"])
        if line["stated"]:
            ax.plot(x, y, color=color, linestyle="--", label=line["name"])
        else:
            # Marks distinguish lines without colours. With few points each has a mark, because between them a
            # line has no data. An earlier line may be below a later one: its marks are larger and hollow.
            few = len(x) < _FEW
            step = 1 if few else len(x) // _MARKS
            ax.plot(
                x,
                y,
                color=color,
                linewidth=1.0 if few else 0.8,
                marker=MARKERS[index % len(MARKERS)],
                markevery=(0 if few else index * step // len(plotted["lines"]), step),
                markersize=max(3.5, 6.5 - 1.5 * index) if few else 3.5,
                markerfacecolor="white" if index % 2 == 0 else color,
                label=line["name"],
            )
        if line.get("interval"):
            low, high = zip(*line["interval"], strict=True)
            known = [one is not None for one in low]
            ax.fill_between(
                x, _numbers(low), _numbers(high), where=known, color=color, alpha=0.15, linewidth=0
            )
    if plotted["log_x"]:
        ax.set_xscale("log")


def _groups(
    ax: Axes, plotted: dict[str, Any], rows: Sequence[Any]
) -> Iterator[tuple[int, Any, list[float], float]]:
    """Each row with its index, its positions in the groups, and its width; sets the groups' names."""
    groups = plotted["groups"]
    width = 0.8 / len(rows)
    for index, row in enumerate(rows):
        yield (
            index,
            row,
            [group + (index - (len(rows) - 1) / 2) * width for group in range(len(groups))],
            width,
        )
    turned = max(map(len, groups)) * len(groups) > _NAMES_IN_A_ROW
    ax.set_xticks(
        range(len(groups)),
        groups,
        rotation=30 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor",
    )


_NAMES_IN_A_ROW = 48
"""Maximum total length of the groups' names in letters, each counted as the longest."""


def _bars(ax: Axes, plotted: dict[str, Any]) -> None:
    stated_is_named = False
    for index, row, places, width in _groups(ax, plotted, plotted["bars"]):
        known = [(x, one) for x, one in zip(places, row["values"], strict=True) if one is not None]
        means = [one["mean"] for _, one in known]
        errors = [
            [one["mean"] - one["lo"] for _, one in known],
            [one["hi"] - one["mean"] for _, one in known],
        ]
        ax.bar(
            [x for x, _ in known],
            means,
            width,
            yerr=errors,
            color=COLORS[index % len(COLORS)],
            hatch=HATCHES[index % len(HATCHES)],
            edgecolor="white",
            error_kw={"linewidth": 0.7},
            label=row["name"],
        )
        for x, stated in zip(places, row.get("stated", []), strict=False):
            if stated is not None:
                label = "_nolegend_" if stated_is_named else "stated"
                ax.hlines(stated, x - width / 2, x + width / 2, colors="black", linestyles="--", label=label)
                stated_is_named = True


def _boxes(ax: Axes, plotted: dict[str, Any]) -> None:
    for index, row, places, width in _groups(ax, plotted, plotted["boxes"]):
        known = [(x, one) for x, one in zip(places, row["values"], strict=True) if one is not None]
        numbers = [
            {
                "whislo": one["min"],
                "q1": one["q1"],
                "med": one["median"],
                "q3": one["q3"],
                "whishi": one["max"],
            }
            for _, one in known
        ]
        color = COLORS[index % len(COLORS)]
        boxes = ax.bxp(
            numbers,
            positions=[x for x, _ in known],
            widths=0.8 * width,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": "white", "edgecolor": color, "hatch": HATCHES[index % len(HATCHES)]},
            medianprops={"color": color, "linewidth": 1.6},
            whiskerprops={"color": color},
            capprops={"color": color},
        )
        if boxes["boxes"]:
            boxes["boxes"][0].set_label(row["name"])


_PLOTS = {"lines": _lines, "bars": _bars, "boxes": _boxes}


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
