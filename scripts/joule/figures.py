"""The figures of docs/joule.md."""

import matplotlib.pyplot as plt
import numpy as np

from common import ENOUGH, IMAGES, NAMES, PERCENTILES, percentiles
from joulepath import plot

TEXT = {"svg.fonttype": "none"}
"""Text instead of outlines, because browsers have fonts: a third of the size."""


def save(figure: plt.Figure, name: str) -> None:
    # No date, and the same identifiers in every run.
    with plt.rc_context({"svg.hashsalt": "joulepath"}):
        figure.savefig(IMAGES / name, metadata={"Date": None})
    plt.close(figure)


def look(index: int) -> dict:
    return {"color": plot.COLORS[index % len(plot.COLORS)], "linestyle": plot.LINES[index % len(plot.LINES)]}


def draw_alone(results: dict) -> None:
    with plot.style(**TEXT):
        figure, (left, right) = plt.subplots(1, 2, figsize=(plot.PAGE_IN, 2.6))
        losses = [100 * p for p in results["loss"]["losses"]]
        for index, (cc, name) in enumerate(NAMES.items()):
            width = 2 if cc == "joule" else 1
            use = [100 * mean for mean, _, _ in results["loss"]["use"][cc]]
            left.plot(losses, use, marker=plot.MARKERS[index], linewidth=width, label=name, **look(index))
            right.ecdf([100 * use for use in results["links"][cc]["use"]], linewidth=width, **look(index))
        left.set(xscale="log", xlabel="random loss (%)", ylabel="link use (%)", ylim=(0, 100))
        right.set(xlabel="link use (%)", ylabel="part of 128 links", xlim=(0, 100), ylim=(0, 1))
        for axes in (left, right):
            axes.grid()
        figure.legend(loc="outside upper center", ncols=8)
        save(figure, "joule-alone.svg")


def draw_beside(results: dict) -> None:
    beside = results["beside"]
    kinds, queues, losses = (sorted({cell[i] for cell in beside["cells"]}) for i in range(3))
    with plot.style(**TEXT):
        figure, (left, right) = plt.subplots(1, 2, figsize=(plot.PAGE_IN, 2.6), width_ratios=(3, 2))
        kept = dict(zip(map(tuple, beside["cells"]), beside["kept"]["joule"], strict=True))
        grid = [[kept[kind, queue, loss] for queue in queues for loss in losses] for kind in kinds]
        image = left.imshow(grid, cmap="cividis", vmin=0.5, vmax=1.1, aspect="auto")
        for (y, x), value in np.ndenumerate(np.array(grid)):
            left.text(
                x,
                y,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=6,
                color="white" if value < 0.8 else "black",
            )
        left.set_yticks(range(len(kinds)), kinds)
        left.set_xticks(
            range(len(queues) * len(losses)), [f"{100 * loss:g}" for _ in queues for loss in losses]
        )
        left.set_xlabel("random loss (%), for queues of 17, 67 and 268 packets (0.25, 1, 4 BDP)")
        for edge in range(1, len(queues)):
            left.axvline(edge * len(losses) - 0.5, color="white", linewidth=1.5)
        figure.colorbar(image, ax=left, label="kept beside joule", shrink=0.9)
        for index, (cc, name) in enumerate(NAMES.items()):
            if cc in beside["kept"] and cc != "reno":
                right.ecdf(beside["kept"][cc], linewidth=2 if cc == "joule" else 1, label=name, **look(index))
        right.set(xlabel="kept", ylabel="part of 48 cells", xlim=(0.1, 1.6), ylim=(0, 1))
        right.axvline(ENOUGH, color="0.35", linewidth=0.8)
        right.grid()
        right.legend(loc="upper left")
        save(figure, "joule-beside.svg")


def draw_random(benchmark: dict) -> None:
    families = {"f1-bulk": "bulk", "f2-file": "files", "f3-stream": "streams"}
    with plot.style(**TEXT):
        figure, panels = plt.subplots(1, 3, figsize=(plot.PAGE_IN, 2.4), sharey=True)
        part = [percentile / 100 for percentile in PERCENTILES]
        ours_first = sorted(benchmark["policies"], key=lambda its: its["policy"] != "joule")
        for axes, (family, name) in zip(panels, families.items(), strict=True):
            for index, its in enumerate(ours_first):
                label = "best path alone" if its["policy"] == "single:PATH" else its["label"]
                label += ", warm" if its["start"] == "warm" else ""
                limit = [100 * value for value in percentiles(its, family, "tcp_reference")]
                axes.plot(
                    limit, part, linewidth=2 if its["policy"] == "joule" else 1, label=label, **look(index)
                )
            axes.set(xlabel=f"{name}: % of TCP ref.", xlim=(0, 130), ylim=(0, 1))
            axes.grid()
        panels[0].set_ylabel("part of the scenarios")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5)
        save(figure, "joule-random.svg")
