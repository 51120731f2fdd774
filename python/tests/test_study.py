from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import joulepath as jp

TOML = """
title = "Loss and rate"
scenario = "quick"
policies = ["mptcp", "single:wifi"]
engines = ["packet", "fluid"]
seeds = 2
set = { duration = "500 ms" }

[[vary]]
key = "path.wifi.loss"
from = "0.1 %"
to = "10 %"
scale = "log"
points = 3

[[vary]]
key = ["path.lte.rate", "path.wifi.rate"]
values = ["5 Mbit/s", "10 Mbit/s"]
"""


def build(**more: Any) -> jp.Study:
    """The same study, from Python; its scenario has the duration."""
    return jp.Study.build(
        jp.Scenario("quick").with_(duration="500 ms"),
        {
            "path.wifi.loss": jp.Range("0.1 %", "10 %", points=3, log=True),
            ("path.lte.rate", "path.wifi.rate"): ["5 Mbit/s", "10 Mbit/s"],
        },
        ["mptcp", "single:wifi"],
        seeds=2,
        engines=["packet", "fluid"],
        title="Loss and rate",
        **more,
    )


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = Path("sweep.toml")
    file.write_text(TOML)
    return file


def header(folder: Path) -> Any:
    """The header of a dataset without the build."""
    read = json.loads((folder / "_study.json").read_text())
    assert read.pop("commit")
    return read


def rows(folder: Path) -> pl.DataFrame:
    read: pl.DataFrame = jp.open(folder).polars().drop("commit").sort("run").collect()
    return read


def test_a_dataset_equals_the_command_lines_byte_for_byte(program: Path, file: Path) -> None:
    subprocess.run([program, "study", file, "--out", "theirs", "--quiet", "--jobs", "1"], check=True)
    ours = jp.Study(file).run(out="ours", jobs=1)
    assert (ours.done, ours.total, ours.partial) == (36, 36, False)
    assert header(Path("ours")) == header(Path("theirs"))
    assert rows(Path("ours")).equals(rows(Path("theirs")))
    # The clock decides where files end. Where both have one file, only the command and the build differ.
    whole = [jp.open(folder).files for folder in ("ours", "theirs")]
    if [len(files) for files in whole] == [1, 1]:
        tables = [pq.read_table(files[0]).drop(["commit"]) for files in whole]
        assert tables[0].equals(tables[1])
        about = [dict(pq.read_metadata(files[0]).metadata) for files in whole]
        for read in about:
            for key in [b"joulepath.command", b"joulepath.commit"]:
                assert read.pop(key)
        assert about[0] == about[1]
        assert whole[0][0].name == whole[1][0].name


def test_a_study_built_in_python_equals_the_files(file: Path) -> None:
    ours, theirs = build(), jp.Study(file)
    assert (ours.points, ours.total, ours.columns) == (theirs.points, theirs.total, theirs.columns)
    assert (
        ours.point(3)
        == theirs.point(3)
        == {
            "path.wifi.loss": "1 %",
            "path.lte.rate": "10 Mbit/s",
            "path.wifi.rate": "10 Mbit/s",
        }
    )
    ours.run(out="one", shard=(1, 2))
    # It resumes in the same folder: it is the same study.
    whole = theirs.run(out="one")
    assert whole.done == 36
    assert [run["run"] for run in rows(Path("one")).to_dicts()] == list(range(36))
    Path("again.toml").write_text(ours.to_toml())
    assert jp.Study("again.toml").run(out="one").done == 36


def test_every_key_of_an_axis_has_its_column(file: Path) -> None:
    dataset = jp.Study(file).run()
    assert dataset.folder == Path("sweep")
    assert dataset.varied == ["path_wifi_loss", "path_lte_rate_bps", "path_wifi_rate_bps"]
    read = rows(Path("sweep"))
    assert read["path_lte_rate_bps"].equals(read["path_wifi_rate_bps"].rename("path_lte_rate_bps"))
    assert sorted(read["path_wifi_loss"].unique()) == [0.001, 0.01, 0.1]


def test_parts_of_a_study_fill_one_folder(file: Path) -> None:
    study = jp.Study(file)
    done = [study.run(out="parts", shard=(i, 3)).done for i in (2, 1, 3)]
    assert done == sorted(done)
    assert done[-1] == 36
    with pytest.raises(jp.UsageError, match="4/3"):
        study.run(out="parts", shard=(4, 3))


def test_tables_are_lazy_and_have_all_runs(file: Path) -> None:
    dataset = jp.Study(file).run()
    assert dataset.arrow().count_rows() == 36
    table = dataset.arrow().to_table(columns=["policy", "energy_j"])
    assert table.column_names == ["policy", "energy_j"]
    lazy = dataset.polars()
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.filter(pl.col("engine") == "fluid").select(pl.len()).collect().item() == 12
    assert dataset.columns == lazy.collect_schema().names()


def test_a_summary_has_the_estimates_of_compare(file: Path) -> None:
    dataset = jp.Study(file).run()
    assert len(dataset.summary()) == 6 * 2 * 2
    at = {"path.wifi.loss": "1 %", "path.lte.rate": "10 Mbit/s", "path.wifi.rate": "10 Mbit/s"}
    point = jp.Scenario("quick").with_(at, duration="500 ms")
    for engine in ("packet", "fluid"):
        compared = jp.compare(point, ["mptcp", "single:wifi"], seeds=2, engine=engine)
        ours = [
            row
            for row in dataset.summary(by=["point", "engine", "policy"])
            if (row["point"], row["engine"]) == (3, engine)
        ]
        for our, their in zip(ours, compared, strict=True):
            names = ["goodput_bps", "power_w", "energy_j", "bits_per_joule"]
            ends = [f"{name}_{end}" for name in names for end in ("mean", "lo", "hi")]
            for name in [*ends, "n", "policy", "ratio", "ratio_lo", "ratio_hi"]:
                assert our[name] == their[name], (engine, name)


def test_a_summary_is_by_any_columns_and_of_any_metric(file: Path) -> None:
    dataset = jp.Study(file).run()
    table = dataset.summary(by="policy", of=["wifi_share"])
    assert table.columns[:6] == ["policy", "n", "failed", "wifi_share_mean", "wifi_share_lo", "wifi_share_hi"]
    assert table["n"] == [18, 18]
    assert table["wifi_share_mean"][1] == 1.0
    mean = dataset.polars().filter(policy="mptcp").select(pl.mean("wifi_share")).collect().item()
    assert table["wifi_share_mean"][0] == pytest.approx(mean, rel=1e-12)
    with pytest.raises(jp.UsageError, match="did you mean `policy`"):
        dataset.summary(by="polcy")
    with pytest.raises(jp.UsageError, match="texts"):
        dataset.summary(of="engine")


def test_failed_runs_cause_a_warning_and_have_rows(tmp_path: Path) -> None:
    study = jp.Study.build("quick", {"duration": ["50 ms", "1 fish"]}, "mptcp,olia", seeds=1)
    with pytest.warns(jp.JoulepathWarning, match=r"2 runs failed; the first: point 1 \(duration = 1 fish\)"):
        dataset = study.run(out=tmp_path / "odd")
    assert dataset.summary(by=["policy"])["failed"] == [1, 1]
    assert dataset.polars().filter(pl.col("error").is_not_null()).collect().height == 2


def test_errors_of_a_study_are_reported_with_the_fix(tmp_path: Path, file: Path) -> None:
    file.write_text(TOML.replace("points = 3", "pionts = 3"))
    with pytest.raises(jp.ScenarioError, match="did you mean `points`"):
        jp.Study(file)
    with pytest.raises(jp.ScenarioError, match="needs the key `points`"):
        build(design="sobol")
    with pytest.raises(jp.UsageError, match="one text"):
        jp.Study.build("quick", {"path.wifi.loss": "1 %"})
    with pytest.raises(jp.UsageError, match="name the folder"):
        jp.open(tmp_path / "nothing")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.tex").touch()
    with pytest.raises(jp.FileError, match=r"thesis\.tex is in it"):
        build().run(out=tmp_path / "full")


def test_a_study_is_pickled_as_its_texts(tmp_path: Path) -> None:
    mine = jp.Scenario.from_toml(jp.Scenario("quick").to_toml(), name="mine")
    study = jp.Study.build(mine, {"path.wifi.loss": ["1 %"]}, ["mptcp"], seeds=range(5, 7))
    again = pickle.loads(pickle.dumps(study))
    assert again.to_toml() == study.to_toml()
    study.run(out=tmp_path / "one", shard=(1, 1))
    assert again.run(out=tmp_path / "one").done == 2
    assert rows(tmp_path / "one")["seed"].to_list() == [5, 6]
