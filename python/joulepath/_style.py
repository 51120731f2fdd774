"""Style of figures: for a two-column paper, in print and without colours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from textwrap import fill
from typing import TYPE_CHECKING, Any

try:
    import matplotlib as mpl
    from matplotlib.pyplot import subplots, switch_backend
except ImportError as error:  # pragma: no cover - the tests have it
    raise ImportError("joulepath.plot needs matplotlib: pip install 'joulepath[plot]'") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLORS", "COLUMN_IN", "HATCHES", "LINES", "MARKERS", "PAGE_IN", "STYLE", "TITLE"]
__all__ += ["axes", "from_zero", "legend", "settle", "style", "subplots"]

COLUMN_IN = 3.45
"""Width of a column of a two-column paper, in."""
PAGE_IN = 7.16
"""Width of both columns, in."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")
"""Okabe and Ito, Color Universal Design, 2008; grey instead of black, and without the pale yellow."""
MARKERS = "osD^vPX*"
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "++++", "oooo")

STYLE: dict[str, Any] = {
    "figure.figsize": (COLUMN_IN, 2.2),
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "0.85",
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "patch.linewidth": 0.5,
    "hatch.linewidth": 0.4,
    "errorbar.capsize": 2,
    "pdf.fonttype": 42,  # TrueType, embedded: publishers refuse Type 3
    "ps.fonttype": 42,
    "svg.fonttype": "path",
}
"""For ``matplotlib.rc_context``; the functions of :mod:`joulepath.plot` use it themselves."""


@cache
def _load_backend() -> None:
    """Load matplotlib's backend before the style starts: settings made by loading would end with the style.

    The first figure loads Jupyter's backend, which enables the display of figures.
    """
    # A backend that cannot be loaded reports it when the first figure is created.
    with suppress(ImportError):
        switch_backend(mpl.get_backend())


@contextmanager
def style(**changes: Any) -> Iterator[None]:
    """Use the style of a paper, with changes: ``with plot.style(**{"font.size": 9}): …``."""
    _load_backend()
    # matplotlib's own annotation lists every key.
    parameters: Any = {**STYLE, **changes}
    with mpl.rc_context(parameters):
        yield


TITLE = 56
"""Maximum characters of a title in a column."""


@contextmanager
def axes(ax: Axes | None) -> Iterator[Axes]:
    """The axes to draw into, in the style of a paper."""
    with style():
        drawn = subplots()[1] if ax is None else ax
        yield drawn
        if ax is None:
            settle(drawn.get_figure(root=True))


_LEAST_IN = 1.3
"""Minimum height of axes below a tall legend, in."""


def settle(figure: Figure | None) -> None:
    """Lay out one of our figures, and make it higher if legends leave too little room for its axes.

    Ticks widen once the layout has given axes their size, so this draws once before the user does.
    """
    if figure is None:
        return
    figure.draw_without_rendering()
    height = figure.get_figheight()
    missing = _LEAST_IN - min(ax.get_position().height for ax in figure.axes) * height
    if missing > 0:
        figure.set_figheight(height + missing * len(figure.axes))
        figure.draw_without_rendering()


_LETTER_IN = 0.052
"""Mean width of a legend's letter, in."""
_KEY_IN = 0.5
"""Width of a legend entry besides its letters, in."""


def legend(ax: Axes, title: str | None = None) -> None:
    """Draw a legend above the axes, with as many columns as its longest name permits."""
    handles, names = ax.get_legend_handles_labels()
    names = [fill(name, TITLE - 8) for name in names]
    longest = max(len(line) for name in names for line in name.splitlines())
    room_in = COLUMN_IN - 0.5
    ax.legend(
        handles,
        names,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=max(1, min(4, len(names), int(room_in / (_KEY_IN + _LETTER_IN * longest)))),
        columnspacing=1.2,
        borderaxespad=0,
        title=title,
        alignment="left",
    )


def from_zero(ax: Axes) -> None:
    """Let the axis start at 0 or below, and end above the data."""
    low, high = ax.get_ylim()
    bottom = min(0.0, low)
    ax.set_ylim(bottom, high + 0.05 * (high - bottom))
