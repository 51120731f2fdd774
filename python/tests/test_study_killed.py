"""A study of 10,000 points is killed twice, as at the time limit of a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import duckdb
import pytest

import joulepath as jp

POINTS = 10_000
PATIENCE_S = 120

TOML = f"""
title = "Loss and delay"
scenario = "quick"
policies = ["mptcp"]
seeds = 1
design = "sobol"
points = {POINTS}

[[vary]]
key = "path.wifi.loss"
from = "0.1 %"
to = "10 %"
scale = "log"

[[vary]]
key = ["path.wifi.delay", "path.lte.delay"]
from = "5 ms"
to = "50 ms"
"""

PACKAGE = "import joulepath as jp; jp.Study('sweep.toml').run(out='sweep', jobs=1, progress=False)"


def written() -> dict[str, int]:
    """The files of the dataset, and when each was written."""
    return {file.name: file.stat().st_mtime_ns for file in Path("sweep").glob("part-*.parquet")}


def killed(command: list[str | Path], after_s: float) -> int:
    """Start it, kill it this long after it has stored a file, and return the number of stored runs."""
    before = len(written())
    since = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(written()) <= before:
        assert time.monotonic() - since < PATIENCE_S, "no file was stored"
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.01)
    time.sleep(after_s)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it ended by itself"
    dataset = jp.open("sweep")
    assert dataset.partial
    return dataset.done


def test_a_study_of_10000_points_killed_twice_is_complete_without_duplicates(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(TOML)
    # A file is stored every second: the kill happens between two of them.
    moments = [Random().uniform(0, 0.5) for _ in range(2)]
    stored = [
        killed([program, "study", "sweep.toml", "--jobs", "1"], moments[0]),
        killed([sys.executable, "-c", PACKAGE], moments[1]),
    ]
    assert 0 < stored[0] < stored[1] < POINTS, (stored, moments)
    files = written()
    dataset = jp.Study("sweep.toml").run(out="sweep", progress=False)
    assert (dataset.done, dataset.total, dataset.partial) == (POINTS, POINTS, False)
    # Stored files do not change.
    assert files.items() < written().items()
    # Counted by another program, in all files.
    count = (
        "SELECT count(*), count(DISTINCT run), count(DISTINCT point), min(run), max(run), count(error) FROM "
    )
    counted = duckdb.execute(count + "'sweep/*.parquet'").fetchone()
    assert counted == (POINTS, POINTS, POINTS, 0, POINTS - 1, 0), (stored, moments)
    whole = jp.Study("sweep.toml").run(out="whole", progress=False)
    ours, undisturbed = (data.polars().drop("commit").sort("run").collect() for data in (dataset, whole))
    assert ours.equals(undisturbed), (stored, moments)
