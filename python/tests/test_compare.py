from __future__ import annotations

import csv
import io
import json
import pickle
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, CommandLine

import joulepath as jp
from joulepath import _joulepath


def without_command(text: str) -> Any:
    """A result without the request, a call here and a command there, and without the build."""
    result = json.loads(text)
    assert result["manifest"].pop("command")
    assert result["manifest"].pop("commit")
    return result


def test_every_metric_is_a_column_of_policies_and_runs() -> None:
    result = jp.compare("quick", policies="mptcp", seeds=1)
    for name, _, _ in _joulepath.metrics():
        assert [len(result[f"{name}_{end}"]) for end in ("mean", "lo", "hi")] == [1, 1, 1]
        assert len(result.runs[name]) == 1


CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"source": "quick"}, ["quick"]),
    ({"source": "quick", "seeds": range(7, 9), "jobs": 1}, ["quick", "--seed", "7", "--seeds", "2"]),
    ({"source": "quick", "against": "olia"}, ["quick", "--against", "olia"]),
    (
        {"source": "quick", "engine": "fluid", "policies": "mptcp"},
        ["quick", "--engine", "fluid", "-p", "mptcp"],
    ),
    (
        {
            "source": jp.Scenario("home-wifi-lte").with_variant("1MB").with_({"path.wifi.loss": "2 %"}),
            "policies": ["single:wifi", "mptcp[cc=ewtcp,a=0.5]", "joule"],
            "seeds": 3,
        },
        shlex.split(
            "home-wifi-lte --variant 1MB --set 'path.wifi.loss=2 %' -n 3 "
            "-p 'single:wifi,mptcp[cc=ewtcp,a=0.5],joule'"
        ),
    ),
]


@pytest.mark.parametrize(("asked", "words"), CASES)
def test_the_numbers_are_those_of_the_command_line_to_the_last_bit(
    command_line: CommandLine, tmp_path: Path, asked: dict[str, Any], words: list[str]
) -> None:
    runs = tmp_path / "runs.csv"
    printed = command_line("compare", *words, "--json", "-q", "--runs-csv", str(runs))
    result = jp.compare(**asked)
    assert without_command(result.to_json()) == without_command(printed)
    assert result.runs_to_csv() == runs.read_text()
    assert result.to_csv() == command_line("compare", *words, "--csv", "-", "-q")
    # The table has the same numbers: floats parsed from text are equal to the last bit.
    for column, row in zip(result, json.loads(printed)["rows"], strict=True):
        for metric in ["goodput_bps", "energy_j", "bits_per_joule", "power_w"]:
            assert [column[f"{metric}_{end}"] for end in ["mean", "lo", "hi"]] == [
                row[metric][end] for end in ["mean", "lo", "hi"]
            ]
        assert (column["policy"], column["n"]) == (row["policy"], row["n"])


def test_the_table_is_that_of_the_terminal(command_line: CommandLine) -> None:
    printed = command_line("compare", "quick", "--wide", "-q")
    assert jp.compare("quick").text() == printed
    narrow = jp.compare("quick").text(width=60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert "text(width=None)" in narrow


def test_every_run_is_a_row_and_csv_has_the_same_columns() -> None:
    result = jp.compare("quick", ["mptcp", "olia"], seeds=2)
    assert result.runs["policy"] == ["mptcp", "mptcp", "olia", "olia"]
    assert result.runs["seed"] == [1, 2, 1, 2]
    lines = list(csv.DictReader(io.StringIO(result.runs_to_csv())))
    assert list(lines[0]) == result.runs.columns
    for line, row in zip(lines, result.runs, strict=True):
        read = {name: float(text) if isinstance(row[name], float) else text for name, text in line.items()}
        assert {
            name: value if isinstance(value, float) else "" if value is None else str(value)
            for name, value in row.items()
        } == read
    means = [sum(result.runs["goodput_bps"][i : i + 2]) / 2 for i in (0, 2)]
    assert result["goodput_bps_mean"] == pytest.approx(means, rel=1e-12)


def test_series_have_a_row_for_each_policy_seed_path_and_instant() -> None:
    result = jp.compare("quick", ["mptcp", "single:lte"], seeds=2, series=True)
    series = result.series
    instants = len(set(series["time_s"]))
    assert len(series) == 2 * 2 * 2 * instants
    assert series["policy"] == ["mptcp"] * (4 * instants) + ["single:lte"] * (4 * instants)
    # The mean goodput over all instants is the run's, because there is no warm-up.
    wifi = [row for row in series if (row["policy"], row["seed"], row["path"]) == ("mptcp", 1, "wifi")]
    mean = sum(row["goodput_bps"] for row in wifi) / len(wifi)
    [run] = [row for row in result.runs if (row["policy"], row["seed"]) == ("mptcp", 1)]
    assert mean == pytest.approx(run["wifi_goodput_bps"], rel=0.02)
    # No RTT before the first sample.
    assert wifi[0]["rtt_s"] is None or wifi[0]["rtt_s"] > 0.01
    assert all(
        row["rtt_s"] is None for row in series if (row["policy"], row["path"]) == ("single:lte", "wifi")
    )
    assert len(jp.compare("quick", "mptcp", seeds=1).series) == 0


def test_a_run_equals_the_run_of_a_comparison() -> None:
    run = jp.run("quick", "olia", seed=5)
    [row] = jp.compare("quick", "olia", seeds=range(5, 6)).runs
    assert (run.policy, run.seed, run.goodput_bps, run.energy_j) == (
        "olia",
        5,
        row["goodput_bps"],
        row["energy_j"],
    )
    assert len(run.series) > 0
    assert [path["name"] for path in run.paths] == ["wifi", "lte"]
    assert "olia, seed 5" in repr(run)
    with pytest.raises(jp.UsageError, match="is a list"):
        jp.run("quick", "olia,lia")


def test_limits_are_those_of_the_comparison() -> None:
    result = jp.compare("home-wifi-lte", "mptcp", seeds=1)
    assert jp.references("home-wifi-lte").rows() == result.references.rows()
    assert [limit["kind"] for limit in result.references] == ["tcp-reference", "link-bound"]


def test_results_do_not_depend_on_the_number_of_cores() -> None:
    one = jp.compare("quick", seeds=4, jobs=1)
    assert one.rows() == jp.compare("quick", seeds=4, jobs=7).rows()


def test_stored_runs_are_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    first = jp.compare("quick", "mptcp,olia", seeds=2, runs=file)
    stored = file.read_text()
    assert len(stored.splitlines()) == 4
    assert jp.compare("quick", "mptcp,olia", seeds=2, runs=file).rows() == first.rows()
    assert file.read_text() == stored


def test_a_notebook_shows_a_table_without_scripts() -> None:
    html = jp.compare(jp.Scenario("quick").with_(title="<script>alert(1)</script>"))._repr_html_()
    assert "<table>" in html
    assert "uncoupled" in html
    assert "<script" not in html
    assert "&lt;script&gt;" in html or "&#60;script&#62;" in html


def test_a_result_is_saved_in_the_format_of_the_suffix(tmp_path: Path) -> None:
    result = jp.compare("quick", seeds=1)
    assert result.save(tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert json.loads(result.save(tmp_path / "a.json").read_text()) == result.to_dict()
    assert result.save(tmp_path / "a.csv").read_text() == result.to_csv()
    with pytest.raises(ValueError, match="is written as"):
        result.save(tmp_path / "a.xlsx")


def test_a_map_is_that_of_the_command_line(command_line: CommandLine) -> None:
    axes = ["path.wifi.loss=0.1 %..10 %:3log", "path.lte.delay=5 ms..50 ms:2"]
    drawn = jp.map("quick", *axes)
    words = ["map", "quick", "--x", axes[0], "--y", axes[1], "-q"]
    assert without_command(drawn.to_json()) == without_command(command_line(*words, "--json"))
    assert drawn.to_csv() == command_line(*words, "--csv", "-")
    assert len(drawn) == 3 * 2 * 2
    assert drawn.x == jp.Axis("path.wifi.loss", "%", [0.1, 1.0, 10.0], True)
    lines = list(csv.reader(io.StringIO(drawn.to_csv())))[1:]
    assert [[row["x"], row["y"], row["bits_per_joule"]] for row in drawn] == [
        [float(x), float(y), float(value)] for x, y, _, value, _, _ in lines
    ]


def test_advice_is_that_of_the_command_line(command_line: CommandLine) -> None:
    paths = {
        "wifi": {"rate": "20Mbit/s", "rtt": "30ms", "loss": "0.5%", "energy": "wifi-huang2012"},
        "lte": {"rate": "10Mbit/s", "rtt": "60ms", "energy": "lte-huang2012"},
    }
    advice = jp.advise(paths, "10 MB", deadline="12 s")
    words = ["--path", "wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012"]
    words += [
        "--path",
        "lte:rate=10Mbit/s,rtt=60ms,energy=lte-huang2012",
        "--size",
        "10 MB",
        "--deadline",
        "12 s",
    ]
    assert advice.to_json() == command_line("advise", *words, "--json")
    assert advice.text(80) == command_line("advise", *words)
    best = json.loads(advice.to_json())["best"]
    assert (advice.energy_j, advice.seconds) == (best["energy_j"], best["seconds"])
    assert advice["path"] == [part["name"] for part in best["paths"]]
    assert max(advice.front["plan"]) == len(advice.to_dict()["front"]) - 1
    with pytest.raises(jp.UsageError, match="cannot be met"):
        jp.advise(paths, "10 GB", deadline="1 s")


def test_advice_takes_at_most_a_multiple_of_the_fastest_path(command_line: CommandLine) -> None:
    paths = ["wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012"]
    paths.append("lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012")
    advice = jp.advise(paths, "10 MB", slowest=2)
    words = ["--path", paths[0], "--path", paths[1], "--size", "10 MB", "--slowest", "2", "--json"]
    text = advice.to_json()
    assert text == command_line("advise", *words)
    assert pickle.loads(pickle.dumps(advice)).to_json() == text
    assert list(advice["path"]) == ["lte"]
    with pytest.raises(jp.UsageError, match="no fastest time"):
        jp.advise(paths, "10 MB", slowest=2, rate="1 Mbit/s")


def test_advice_takes_the_balance_of_a_preset(command_line: CommandLine) -> None:
    paths = ["wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012"]
    paths.append("lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012")
    advice = jp.advise(paths, "10 MB", preset="fast")
    words = ["--path", paths[0], "--path", paths[1], "--size", "10 MB", "--preset", "fast", "--json"]
    text = advice.to_json()
    assert text == command_line("advise", *words)
    assert pickle.loads(pickle.dumps(advice)).to_json() == text
    assert list(jp.advise(paths, "10 MB", preset="saver")["path"]) == ["wifi"]
    with pytest.raises(jp.UsageError, match="has no price"):
        jp.advise(paths, "10 MB", preset="fast", rate="1 Mbit/s")
    with pytest.raises(jp.UsageError, match="no preset `quick`"):
        jp.advise(paths, "10 MB", preset="quick")


def test_advice_reads_a_memory_of_networks_and_outlives_it(command_line: CommandLine, tmp_path: Path) -> None:
    def known(interface: str, rate: float) -> dict[str, object]:
        values = {"rate_bps": rate, "rtt_s": 0.03, "loss": 0.0123456}
        estimates = {key: {"median": value, "spread": 1.5} for key, value in values.items()}
        return {"interface": interface, "seen": 5, "visits": 3} | estimates

    history = tmp_path / "history.json"
    history.write_text(json.dumps({"version": 1, "networks": [known("wifi", 20e6), known("lte", 40e6)]}))
    paths = {"wifi": {"energy": "wifi-huang2012"}, "lte": {"energy": "lte-huang2012", "loss": "0 %"}}
    advice = jp.advise(paths, "10 MB", history=history)
    words = ["--path", "wifi:energy=wifi-huang2012", "--path", "lte:energy=lte-huang2012,loss=0 %"]
    words += ["--history", str(history), "--size", "10 MB", "--json"]
    text = advice.to_json()
    assert text == command_line("advise", *words)
    history.unlink()
    assert pickle.loads(pickle.dumps(advice)).to_json() == text
    with pytest.raises(jp.UsageError, match=r'paths\["wifi"\] has no rate'):
        jp.advise(paths, "10 MB")


def test_advice_for_data_that_may_wait_is_that_of_the_command_line(command_line: CommandLine) -> None:
    path = "lte:rate=20Mbit/s,rtt=50ms,energy=lte-huang2012"
    advice = jp.advise([path], "50 kB", every="30 s", tolerance="2 min")
    words = ["advise", "--path", path, "--size", "50 kB", "--every", "30 s", "--tolerance", "2 min"]
    assert advice.to_json() == command_line(*words, "--json")
    assert advice.text(80) == command_line(*words)
    # One message, and those of the two minutes after it.
    assert advice.waiting is not None
    assert advice.waiting["together"]["messages"] == 1 + 120 // 30
    assert "Waiting saves" in advice.to_html()
    assert jp.advise([path], "50 kB").waiting is None


def test_an_explanation_is_that_of_the_command_line(command_line: CommandLine, tmp_path: Path) -> None:
    subflows = [{"cwnd": 12, "srtt_us": 50000}, {"cwnd": 30, "srtt_us": 80000}]
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"subflows": subflows}))
    said = json.loads(command_line("explain", "lia", "--state", str(state), "--json"))
    explained = jp.explain("lia", subflows)
    assert explained["increase"] == said["increase"]
    assert explained["formula_increase"] == said["formula"]
    assert explained["window_after_loss"] == said["window_after_loss"]
    assert explained["formula_window_after_loss"] == said["formula_window_after_loss"]
    assert said["formula_text"] in repr(explained)
    assert jp.explain("ewtcp", subflows, a=0.5)["increase"] != jp.explain("ewtcp", subflows)["increase"]


def test_papers_claims_have_the_command_lines_verdicts(command_line: CommandLine, tmp_path: Path) -> None:
    ids = jp.experiments(["000-fig4"])["id"]
    assert ids == ["000-fig4"]
    command_line("reproduce", "000-fig4", "--no-kernel", "-q", "--out", str(tmp_path))
    said = json.loads((tmp_path / "quick.json").read_text())
    ours = jp.reproduce(ids, runs=tmp_path / "runs.jsonl", progress=False)
    assert ours.to_dict()["experiments"] == said["experiments"]
    assert ours["verdict"][0] == said["experiments"][0]["verdict"].replace("-", " ")
    # The stored run is reused.
    assert (
        jp.reproduce(ids, runs=tmp_path / "runs.jsonl", progress=False).to_dict()["experiments"]
        == said["experiments"]
    )


def test_the_lists_of_names_are_complete() -> None:
    assert "lia" in jp.controllers()["controller"]
    assert "mptcp" in jp.policies()["policy"]
    assert (ROOT / "scenarios/quick.toml").exists() is ("quick" in jp.scenarios())
