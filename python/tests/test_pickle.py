"""Python objects survive pickling: multiprocessing, joblib, copies."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from test_gym import TWO

import joulepath as jp
import joulepath.gym as jg

PATHS = [
    "wifi:rate=20Mbit/s,rtt=20ms,energy=wifi-huang2012",
    "lte:rate=10Mbit/s,rtt=60ms,energy=lte-huang2012",
]


class Half(jp.Controller):
    """Half of NewReno."""

    name = "pickled-half"

    def increase(self, subflow: jp.Subflow) -> float:
        return 0.5 / subflow.cwnd_packets


class Breaks(jp.Controller):
    """Fails in its first hook."""

    name = "pickled-breaks"

    def increase(self, subflow: jp.Subflow) -> float:
        raise ValueError("not today")


def _compared(seed: int) -> jp.Comparison:
    """The return value of a worker."""
    return jp.compare("quick", ["mptcp", "single:wifi"], seeds=range(seed, seed + 2), progress=False)


def _said(result: Any) -> list[Any]:
    """All contents of a result."""
    said: list[Any] = [result.text(100), result.to_json(), result.to_html(), result.rows(), result.columns]
    said += [result.to_csv()] if hasattr(result, "to_csv") else []
    said += [result.details(), result.runs.rows()] if isinstance(result, jp.Comparison) else []
    return said


def _copies(thing: Any) -> list[Any]:
    pickled = [pickle.loads(pickle.dumps(thing, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
    return [*pickled, copy.copy(thing), copy.deepcopy(thing)]


def test_processes_return_comparisons() -> None:
    here = [_compared(1), _compared(3)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(_compared, [1, 3])
    by_joblib = joblib.Parallel(n_jobs=2)(joblib.delayed(_compared)(seed) for seed in (1, 3))
    for one, *others in zip(here, there, by_joblib, strict=True):
        for other in others:
            assert one.rows() == other.rows()
            assert one.runs.rows() == other.runs.rows()
            assert one.references.rows() == other.references.rows()
            assert one.text(100) == other.text(100)


def test_a_comparison_keeps_its_series_costs_and_failures() -> None:
    whole = jp.compare("quick", ["mptcp", Half()], seeds=2, series=True, progress=False)
    for other in _copies(whole):
        assert _said(other) == _said(whole)
        assert other.series.rows() == whole.series.rows()
        assert len(other.series) > 0
        assert other.python_costs == whole.python_costs
        assert other.runs_to_csv() == whole.runs_to_csv()
    with pytest.warns(jp.JoulepathWarning):
        broken = jp.compare("quick", ["mptcp", Breaks()], seeds=1, progress=False)
    [failed] = pickle.loads(pickle.dumps(broken)).failures
    assert failed[:3] == broken.failures[0][:3]
    assert isinstance(failed.cause, ValueError)
    assert str(failed.cause) == "not today"


def test_runs_and_tables_survive_pickling() -> None:
    run = jp.run("quick", "mptcp", seed=1)
    for other in _copies(run):
        assert other.to_dict() == run.to_dict()
        assert other.series.rows() == run.series.rows()
    explained = jp.explain("olia", [{"cwnd": 10, "srtt_us": 50_000}, {"cwnd": 20, "srtt_us": 80_000}])
    for table in [jp.policies(), jp.controllers(), jp.references("quick"), explained]:
        for other in _copies(table):
            assert type(other) is type(table)
            assert other.rows() == table.rows()
            assert other.columns == table.columns
            assert repr(other) == repr(table)
            assert other.to_arrow().schema == table.to_arrow().schema


@pytest.mark.parametrize(
    "make",
    [
        lambda: jp.map(
            "home-wifi-lte",
            x="path.wifi.loss=0.1 %..5 %:3log",
            y="path.lte.rate=5 Mbit/s..40 Mbit/s:2",
            policies=["mptcp", "single:wifi"],
            spot_check=2,
            progress=False,
        ),
        lambda: jp.advise(PATHS, "20 MB", deadline="20 s"),
        lambda: jp.advise(PATHS, "50 kB", every="30 s", tolerance="2 min"),
        lambda: jp.benchmark(["f2-file"], ["mptcp", "joule"], scenarios=1, progress=False),
        lambda: jp.reproduce(["000-fig4"], progress=False),
        lambda: jp.benchmark(["bulk"], quick=True, progress=False),
    ],
    ids=["map", "advice", "advice-waiting", "benchmark-random", "reproduction", "benchmark-ranked"],
)
def test_every_kind_of_result_survives_pickling(make: Any) -> None:
    result = make()
    for other in _copies(result):
        assert type(other) is type(result)
        assert _said(other) == _said(result)


def test_scenarios_studies_and_datasets_survive_pickling(tmp_path: Path) -> None:
    chosen = jp.Scenario("home-wifi-lte").with_variant("1MB").with_({"path.wifi.loss": "2 %"})
    study = jp.Study.build("quick", {"path.wifi.loss": ["1 %", "2 %"]}, ["mptcp"], seeds=1)
    for other in _copies(chosen):
        assert other == chosen
        assert other.variant == "1MB"
    for other in _copies(study):
        assert other.to_toml() == study.to_toml()
    dataset = study.run(out=tmp_path / "runs", progress=False)
    for other in _copies(dataset):
        assert other.summary().rows() == dataset.summary().rows()


def test_a_pickled_header_is_compiled_on_arrival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = jp.Controller.from_c(jp.Controller.new("travels"))
    other = pickle.loads(pickle.dumps(mine))
    assert (other.name, other.title) == (mine.name, mine.title)
    assert copy.deepcopy(mine) is mine


def test_errors_survive_pickling() -> None:
    with pytest.raises(jp.ScenarioError) as wrong:
        jp.Scenario.from_toml("title = 3")
    with pytest.raises(jp.UsageError) as unknown:
        jp.compare("quick", ["nothing"])
    stopped = jp.Interrupted(_compared(1))
    for error in [wrong.value, unknown.value, stopped]:
        other = pickle.loads(pickle.dumps(error))
        assert type(other) is type(error)
        assert str(other) == str(error)
    assert pickle.loads(pickle.dumps(wrong.value)).problems == wrong.value.problems
    assert _said(pickle.loads(pickle.dumps(stopped)).result) == _said(stopped.result)


def _action(env: Any, number: int) -> Any:
    draws = np.random.default_rng(number)
    return draws.uniform(-1, 1, env.action_space.shape).astype(np.float32)


def _rest(env: Any) -> list[Any]:
    """The outputs of the rest of the present episode, and of the next one."""
    told: list[Any] = []
    for _ in range(2):
        over = False
        while not over:
            seen, reward, terminated, truncated, info = env.step(_action(env, len(told)))
            told.append((seen.tobytes(), reward, terminated, truncated, info))
            over = terminated or truncated
        seen, info = env.reset()
        told.append((seen.tobytes(), info))
    return told


@pytest.mark.parametrize("words", [{"scenario": TWO}, {"family": "f2-file", "draws": 3}])
def test_a_pickled_environment_resumes_its_episode(words: dict[str, Any]) -> None:
    env = jg.Rates(**words)
    fresh = pickle.loads(pickle.dumps(env))
    assert fresh.reset(seed=7)[0].tobytes() == env.reset(seed=7)[0].tobytes()
    env.reset()
    for number in range(5):
        env.step(_action(env, number))
    copies = _copies(env)
    summaries = [other.summary() for other in copies]
    expected = (env.summary(), _rest(env))
    assert all((summary, _rest(other)) == expected for summary, other in zip(summaries, copies, strict=True))
    # The episode has ended, in the copy too.
    env.result()
    assert pickle.loads(pickle.dumps(env)).summary() is None


def _steps(env: jg.VectorEnvironment, count: int) -> list[Any]:
    told = []
    for number in range(count):
        seen, rewards, terminated, truncated, infos = env.step(_action(env, number))
        told.append(
            (seen.tobytes(), rewards.tobytes(), terminated.tobytes(), truncated.tobytes(), repr(infos))
        )
    return told


def test_pickled_environments_resume_their_episodes() -> None:
    env = jg.make_vec("joulepath/Windows-v0", 3, scenario=TWO, jobs=2)
    env.reset(seed=3)
    # Some episodes end meanwhile, and new ones start.
    _steps(env, 40)
    other = pickle.loads(pickle.dumps(env))
    assert _steps(other, 40) == _steps(env, 40)


def test_environments_step_in_separate_processes() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        env = jg.Paths(TWO)
        env.reset(seed=1)
        env.step(_action(env, 0))
        [there] = pool.map(_rest, [env])
    assert there == _rest(env)
