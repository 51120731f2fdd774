"""Studies on a cluster: two processes of this machine, with one thread each, as workers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import joulepath as jp

pytest.importorskip("distributed", reason="dask is not installed: pip install 'joulepath[dask]'")

from distributed import Client, LocalCluster, WorkerPlugin

# They have no types.
cluster_of: Any = LocalCluster
client_of: Any = Client

PATIENCE_S = 120
POINTS = 1200


class Log(WorkerPlugin):
    """Writes a line for each task that a worker starts or ends, with its process."""

    def __init__(self, file: str) -> None:
        self.file = file

    def transition(self, key: Any, start: Any, finish: Any, **_: Any) -> None:
        if finish in ("executing", "memory"):
            with open(self.file, "a") as file:
                file.write(f"{key} {finish} {os.getpid()}\n")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with (
        cluster_of(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(tmp_path / "dask"),
        ) as cluster,
        client_of(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE_S)
        yield client


@pytest.fixture
def study() -> jp.Study:
    """A study of several seconds of work."""
    scenario = jp.Scenario.from_toml(jp.Scenario("quick").to_toml(), name="mine").with_(duration="5 s")
    vary = {
        "path.wifi.loss": jp.Range("0.1 %", "10 %", log=True),
        "path.lte.delay": jp.Range("5 ms", "50 ms"),
    }
    return jp.Study.build(scenario, vary, "mptcp", seeds=2, design="latin-hypercube", points=POINTS)


def rows(dataset: jp.Dataset) -> pl.DataFrame:
    read: pl.DataFrame = dataset.polars().sort("run").collect()
    return read


def begun(log: Path) -> list[tuple[str, str]]:
    """Batches and processes, in the order of their starts."""
    return [(key, pid) for key, what, pid in lines(log) if what == "executing"]


def lines(log: Path) -> list[tuple[str, str, str]]:
    if not log.exists():
        return []
    words = (line.split(" ") for line in log.read_text().splitlines())
    return [(key, what, pid) for key, what, pid in words if key.startswith("_batch")]


def test_a_killed_worker_loses_nothing_and_repeats_only_its_own_batch(
    client: Any, study: jp.Study, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    client.register_plugin(Log(str(log)))
    victims: list[int] = []

    def kill_the_third_batch() -> None:
        since = time.monotonic()
        while len(begun(log)) < 3 and time.monotonic() - since < PATIENCE_S:
            time.sleep(0.01)
        victims.append(int(begun(log)[-1][1]))
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_the_third_batch)
    killer.start()
    told: list[tuple[int, int, str | None]] = []
    dataset = study.run(client, tmp_path / "dask-study", progress=lambda *news: told.append(news))
    killer.join()
    assert (dataset.done, dataset.total) == (2 * POINTS, 2 * POINTS)
    assert told[-1] == (2 * POINTS, 2 * POINTS, None)
    # No run is in two files.
    assert dataset.arrow().count_rows() == 2 * POINTS
    victim = str(victims[0])
    # A batch whose reply died with the worker is handed out again. Its file exists, so none of its runs runs
    # again.
    answered = {key for key, what, pid in lines(log) if (what, pid) == ("memory", victim)}
    times = Counter(key for key, _ in begun(log))
    again = {key for key, number in times.items() if number > 1}
    of_victim = [key for key, pid in begun(log) if pid == victim]
    assert again, "it was killed in the middle of something"
    assert again - answered <= set(of_victim[-1:]), "a worker of one thread does one batch at a time"
    # The rows equal those of a run in one process, to the last bit.
    whole = study.run(out=tmp_path / "here")
    assert rows(dataset).equals(rows(whole))


def test_ctrl_c_keeps_finished_runs_and_the_next_call_resumes(
    client: Any, study: jp.Study, tmp_path: Path
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = tmp_path / "study"
    sent: list[int] = []

    def press(done: int, runs: int, note: str | None) -> None:
        # Wait for a worker's first batch.
        if done > runs / 20 and not sent:
            sent.append(done)
            os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(jp.Interrupted) as caught:
            study.run(client, folder, progress=press)
    finally:
        signal.signal(signal.SIGINT, before)
    result = caught.value.result
    assert isinstance(result, jp.Dataset)
    assert result.partial
    assert result.done > 0
    # Workers finish their batches meanwhile; those do not run again.
    dataset = study.run(client, folder)
    assert dataset.done == dataset.arrow().count_rows() == 2 * POINTS


CLIENT = """
import pickle, sys
from distributed import Client
if __name__ == "__main__":
    study = pickle.loads(bytes.fromhex(sys.argv[2]))
    study.run(Client(sys.argv[1]), "study", progress=False)
"""


def test_a_killed_client_loses_and_repeats_nothing(
    client: Any, study: jp.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.py").write_text(CLIENT)
    arguments = [client.scheduler.address, pickle.dumps(study).hex()]
    process = subprocess.Popen([sys.executable, "client.py", *arguments])
    since = time.monotonic()
    # The client's own first runs are in one file; the other files are workers'.
    while len(list(tmp_path.glob("study/part-*.parquet"))) < 2:
        assert time.monotonic() - since < PATIENCE_S
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert jp.open("study").partial
    dataset = study.run(client, "study")
    assert dataset.done == dataset.arrow().count_rows() == 2 * POINTS


def test_a_folder_that_workers_cannot_see_is_reported(tmp_path: Path, study: jp.Study) -> None:
    from joulepath import _dask
    from joulepath._study import _parts

    with pytest.raises(jp.FileError, match="this process finds no study in it"):
        _dask._batch(_parts(study._raw), tmp_path, None, "a call", "0-9")


def test_a_finished_batch_does_not_run_again(tmp_path: Path, study: jp.Study) -> None:
    from joulepath import _dask, _joulepath
    from joulepath._study import _parts

    batches = _joulepath.Batches(study._raw, tmp_path / "study", None, None, "a call")
    runs = batches.next(20)
    assert runs == "0-19"
    _dask._batch(_parts(study._raw), tmp_path / "study", None, "a call", runs)
    [file] = jp.open(tmp_path / "study").files
    written = file.stat().st_mtime_ns
    # The worker was killed after it had renamed its file, before it could reply.
    assert _dask._batch(_parts(study._raw), tmp_path / "study", None, "a call", runs)[0] == 20
    [again] = jp.open(tmp_path / "study").files
    assert (again, again.stat().st_mtime_ns) == (file, written)
    # The part is locked until it is closed.
    with pytest.raises(jp.FileError, match="the same part"):
        study.run(out=tmp_path / "study")
    batches.close()
    assert study.run(out=tmp_path / "study").done == 2 * POINTS
