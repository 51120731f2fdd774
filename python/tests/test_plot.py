from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.text import Text

import joulepath as jp
from joulepath import plot

mpl.use("agg")


@pytest.fixture(scope="module")
def result() -> jp.Comparison:
    scenario = jp.Scenario("home-wifi-lte").with_variant("1MB")
    return jp.compare(scenario, ["single:wifi", "mptcp", "mptcp[cc=olia]"], seeds=4, series=True)


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> object:
    yield
    plt.close("all")


def xy(ax: Axes, line: int) -> tuple[list[float], list[float]]:
    """The points of a line."""
    x, y = ax.lines[line].get_data()
    return np.asarray(x, dtype=float).tolist(), np.asarray(y, dtype=float).tolist()


def heights(ax: Axes) -> list[float]:
    bars = [box for box in ax.containers if isinstance(box, BarContainer)]
    return [patch.get_height() for bar in bars for patch in bar.patches]


def test_bars_have_the_means_as_heights_and_their_intervals(result: jp.Comparison) -> None:
    ax = plot.bars(result)
    # bit/J of some millions are shown as Mbit/J.
    assert ax.get_ylabel() == "efficiency (Mbit/J)"
    assert heights(ax) == pytest.approx([mean / 1e6 for mean in result["bits_per_joule_mean"]])
    assert [label.get_text() for label in ax.get_xticklabels()] == result["label"]
    bars = [box for box in ax.containers if isinstance(box, BarContainer)]
    for bar, low, high in zip(bars, result["bits_per_joule_lo"], result["bits_per_joule_hi"], strict=True):
        error = bar.errorbar
        assert error is not None
        [segment] = error.lines[2][0].get_segments()
        assert list(segment[:, 1]) == pytest.approx([low / 1e6, high / 1e6])
    assert plot.bars(result, "energy_j").get_ylabel() == "energy (J)"
    with pytest.raises(jp.UsageError, match="tcp_share"):
        plot.bars(result, "tcp_share")


def test_shares_add_up_to_100_percent(result: jp.Comparison) -> None:
    ax = plot.shares(result)
    parts = heights(ax)
    assert [parts[row] + parts[3 + row] for row in range(3)] == pytest.approx([100.0] * 3)
    # A single path carries everything.
    assert parts[0] == 100.0


def test_a_run_over_time_has_a_line_for_each_path(result: jp.Comparison) -> None:
    run = jp.run("quick", "mptcp")
    ax = plot.over_time(run, "cwnd_packets")
    assert [line.get_label() for line in ax.lines] == ["wifi", "lte"]
    drawn = [row["cwnd_packets"] for row in run.series if row["path"] == "wifi"]
    assert xy(ax, 0)[1] == drawn
    # Means over bins of equal length have the same mean.
    goodput = [row["goodput_bps"] for row in run.series if row["path"] == "wifi"]
    _, smooth = xy(plot.over_time(run, smooth_s=0.1), 0)
    assert len(smooth) == 10
    assert sum(smooth) / len(smooth) == pytest.approx(sum(goodput) / len(goodput) / 1e6, rel=1e-9)
    assert len(plot.over_time(run, "receive_buffer_segments").lines) == 1
    assert plot.over_time(result, policy="mptcp", seed=2).get_xlabel() == "time (s)"
    with pytest.raises(jp.UsageError, match="no time series of `dts`"):
        plot.over_time(result, policy="dts")
    with pytest.raises(jp.UsageError, match="no time series"):
        plot.over_time(jp.compare("quick", seeds=1))


def test_a_front_shows_energy_per_bit_over_goodput(result: jp.Comparison) -> None:
    ax = plot.front(result)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("goodput (Mbit/s)", "energy (nJ/bit)")
    [x], [y] = xy(ax, 0)
    assert x == pytest.approx(result["goodput_bps_mean"][0] / 1e6)
    assert y == pytest.approx(1e9 / result["bits_per_joule_mean"][0])
    paths = {
        "wifi": {"rate": "20Mbit/s", "rtt": "30ms", "loss": "0.5%", "energy": "wifi-huang2012"},
        "lte": {"rate": "10Mbit/s", "rtt": "60ms", "energy": "lte-huang2012"},
    }
    advice = jp.advise(paths, "10 MB")
    ax = plot.front(advice)
    named = [child.get_text() for child in ax.texts if isinstance(child, Text)]
    assert named == ["wifi + lte", "wifi"]
    assert xy(ax, 1)[0] == [advice.seconds]


def test_a_distribution_rises_from_0_to_1_at_the_values_of_the_runs(result: jp.Comparison) -> None:
    ax = plot.cdf(result, "completion_s")
    assert len(ax.lines) == 3
    runs = [row["completion_s"] for row in result.runs if row["policy"] == "mptcp"]
    scale = 1e3 if "ms" in ax.get_xlabel() else 1.0
    assert sorted(xy(ax, 1)[0][1:]) == pytest.approx([value * scale for value in sorted(runs)])
    assert xy(ax, 1)[1] == [0.0, 0.25, 0.5, 0.75, 1.0]
    with pytest.raises(jp.UsageError, match="no run has"):
        plot.cdf(result, "delay_s")


def test_a_map_shows_the_winner_of_each_point() -> None:
    drawn = jp.map(
        jp.Scenario("home-wifi-lte").with_variant("radios2012"),
        "path.wifi.loss=0.01 %..10 %:4log",
        "path.lte.rate=2 Mbit/s..80 Mbit/s:3",
        ["single:wifi", "single:lte", "mptcp"],
        progress=False,
    )
    ax = plot.regions(drawn)
    [mesh] = ax.collections
    winners = [drawn.policies[round(float(value))] for value in np.asarray(mesh.get_array()).flatten()]
    assert winners == [row["policy"] for row in drawn if row["best"]]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert ax.get_xlabel() == "path.wifi.loss (%)"
    legend = ax.get_legend()
    assert legend is not None
    assert any("nowhere" in text.get_text() for text in legend.get_texts())


def test_fonts_are_embedded_and_the_users_style_stays(result: jp.Comparison, tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    figure = plot.bars(result).get_figure(root=True)
    assert figure is not None
    assert dict(mpl.rcParams) == before
    assert figure.get_size_inches()[0] == pytest.approx(plot.COLUMN_IN)
    with plot.style(**{"pdf.compression": 0}):
        figure.savefig(tmp_path / "bars.pdf")
    pdf = (tmp_path / "bars.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert not re.search(rb"/Subtype\s*/Image", pdf)


def test_policies_look_different_without_colour() -> None:
    many = range(40)
    looks = {(plot.COLORS[i % len(plot.COLORS)], plot.LINES[i % len(plot.LINES)]) for i in many}
    assert len(looks) == len(many)


def test_a_function_draws_into_the_users_own_figure(result: jp.Comparison) -> None:
    _, axes = plt.subplots(1, 2)
    assert plot.bars(result, ax=axes[1]) is axes[1]
    assert not axes[0].has_data()


def test_a_papers_figure_has_our_lines_and_the_papers() -> None:
    result = jp.reproduce(["000-fig4", "001-fig2a"], progress=False)
    [drawn] = [one["figures"] for one in result.to_dict()["experiments"] if one["id"] == "000-fig4"]
    lines = drawn[0]["plot"]["lines"]
    [ax] = plot.paper(result, "000-fig4").axes
    assert [line.get_label() for line in ax.lines] == [line["name"] for line in lines]
    for index, line in enumerate(lines):
        assert xy(ax, index)[0] == pytest.approx(line["x"])
        assert (ax.lines[index].get_linestyle() == "--") == line["stated"]
    assert any(line["stated"] for line in lines)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (drawn[0]["x"], drawn[0]["y"])
    # The prefix of an id suffices if it is unique.
    above = plot.paper(result, "001").axes[0].get_legend()
    assert above is not None
    assert above.get_title().get_text()
    with pytest.raises(jp.UsageError, match="several"):
        plot.paper(result)
    with pytest.raises(jp.UsageError, match="draws nothing"):
        plot.paper(result, "002-fig9")


def test_nothing_of_a_papers_figure_overlaps_or_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    result = jp.reproduce(["001-fig2a"], progress=False)
    estimate = {"mean": 3.0, "lo": 2.0, "hi": 5.0}
    groups = ["802.11b, IP relays", "802.11b, TCP relays", "802.11g, IP relays", "802.11g, TCP relays"]
    names = ["MPTCP", "CWA", "a bound whose name leaves no room beside it", "another one", "and one more"]
    bars = {
        "kind": "bars",
        "groups": groups,
        "bars": [{"name": name, "values": [estimate] * 4} for name in names],
    }
    level = [{"name": name, "x": [1, 2], "y": [9.9, 10.0], "stated": False} for name in names]
    lines = {"kind": "lines", "lines": level, "log_x": False}
    figures = [{"title": "Goodput of each block", "x": "s", "y": "J", "plot": one} for one in (bars, lines)]
    monkeypatch.setattr(result, "to_dict", lambda: {"experiments": [{"id": "9-fig1", "figures": figures}]})
    figure = plot.paper(result)
    figure.draw_without_rendering()
    page = figure.bbox
    for ax in figure.axes:
        legend = ax.get_legend()
        assert legend is not None
        labels = [label.get_window_extent() for label in [*ax.get_xticklabels(), *ax.get_yticklabels()]]
        assert not any(legend.get_window_extent().overlaps(label) for label in labels)
        for box in [legend.get_window_extent(), ax.yaxis.label.get_window_extent(), ax.get_window_extent()]:
            assert page.x0 <= box.x0
            assert box.x1 <= page.x1
            assert page.y0 <= box.y0
            assert box.y1 <= page.y1
        assert ax.get_window_extent().height >= 1.29 * figure.dpi
    # The lines end below the top of their axes, and names of groups do not overlap.
    assert figure.axes[1].get_ylim()[1] > 10.2
    assert {label.get_rotation() for label in figure.axes[0].get_xticklabels()} == {30.0}


def test_bars_and_boxes_of_a_papers_figure_show_the_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    result = jp.reproduce(["001-fig2a"], progress=False)
    estimate = {"mean": 3.0, "lo": 2.0, "hi": 5.0}
    box = {"min": 1.0, "q1": 2.0, "median": 3.0, "q3": 4.0, "max": 6.0}
    bars = {
        "kind": "bars",
        "groups": ["a", "b"],
        "bars": [{"name": "m", "values": [estimate, None], "stated": [4.0]}],
    }
    boxes = {"kind": "boxes", "groups": ["a", "b"], "boxes": [{"name": "m", "values": [None, box]}]}
    figures = [{"title": "t", "x": "", "y": "J", "plot": one} for one in (bars, boxes)]
    monkeypatch.setattr(result, "to_dict", lambda: {"experiments": [{"id": "9-fig1", "figures": figures}]})
    above, below = plot.paper(result).axes
    assert heights(above) == [3.0]
    [stated] = [one for one in above.collections if one.get_label() == "stated"]
    assert np.asarray(stated.get_paths()[0].vertices)[:, 1].tolist() == [4.0, 4.0]
    assert [label.get_text() for label in below.get_xticklabels()] == ["a", "b"]
    medians = [xy(below, line)[1] for line in range(len(below.lines))]
    assert [3.0, 3.0] in medians
