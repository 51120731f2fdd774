"""Environments for reinforcement learning, against gymnasium's rules and the command line's numbers."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from conftest import ROOT
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import joulepath as jp
import joulepath.gym as jg

IDS = ["joulepath/Rates-v0", "joulepath/Windows-v0", "joulepath/Paths-v0"]

TWO = """
title = "two paths"
duration = "2 s"
[[path]]
name = "wifi"
rate = "8 Mbit/s"
delay = "15 ms"
loss = "0.5 %"
queue = "40 packets"
energy = "wifi-huang2012"
[[path]]
name = "lte"
rate = "4 Mbit/s"
delay = "35 ms"
queue = "60 packets"
energy = "lte-huang2012"
"""


def _episode(env: Any, seed: int | None, options: dict[str, Any] | None = None) -> list[Any]:
    """All outputs of an episode under actions of a separate generator."""
    actions = np.random.default_rng(0)
    seen, info = env.reset(seed=seed, options=options)
    told: list[Any] = [seen.tobytes(), info]
    over = False
    while not over:
        action = actions.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        seen, reward, terminated, truncated, info = env.step(action)
        told.append((seen.tobytes(), reward, terminated, truncated, info))
        over = terminated or truncated
    return told


@pytest.mark.parametrize("id", IDS)
def test_gymnasiums_check_passes(id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(id, scenario=TWO).unwrapped)
        check_env(gymnasium.make(id, family="f2-file").unwrapped)


@pytest.mark.parametrize("id", IDS)
def test_the_same_seed_and_actions_yield_the_same_bytes(id: str) -> None:
    env, other = (gymnasium.make(id, scenario=TWO) for _ in range(2))
    first, second = _episode(env, 7), _episode(env, None)
    assert first != second
    assert [first, second] == [_episode(other, 7), _episode(other, None)]
    assert first[-1][-1]["summary"]["steps"] == len(first) - 2


def test_a_selected_episode_has_the_seed_of_the_command_line() -> None:
    scenario = jp.Scenario.from_toml(TWO)
    result = jp.compare(scenario, ["mptcp"], seeds=range(3, 4))
    row = jg.score(["mptcp"], scenario, seeds=[3], price=2.0).rows()[0]
    run = result.runs.rows()[0]
    assert row["bits_per_joule"] == pytest.approx(run["bits_per_joule"], rel=1e-12)
    limit = result.references.rows()[-1]["bits_per_joule"]
    assert row["link_bound_bits_per_joule"] == limit
    assert row["return_j"] == pytest.approx(2.0 * row["bits"] / 1e6 - row["energy_j"])
    env = jg.Paths(scenario)
    _, info = env.reset(options={"run_seed": 3})
    assert info == {"scenario": "scenario", "draw": None, "seed": 3}


def test_the_return_follows_from_the_runs_result() -> None:
    env = jg.Windows(TWO, price=2.0)
    told = _episode(env, 4)
    summary, result = told[-1][-1]["summary"], env.result()
    bits = result["goodput_bps"] * result["measured_s"]
    assert summary["return_j"] == pytest.approx(2.0 * bits / 1e6 - result["energy_j"])
    assert summary["return_j"] == pytest.approx(sum(step[1] for step in told[2:]))
    assert result["policy"] == "mptcp (steered)"
    with pytest.raises(jp.UsageError, match="reset"):
        env.result()


def test_an_unused_path_is_not_opened() -> None:
    env = jg.Paths(TWO)
    seen, _ = env.reset(seed=1)
    names = [*jg.PATH_FEATURES]
    for _ in range(15):
        seen, *_ = env.step([1.0, -1.0])
    wifi, lte = seen[:-3].reshape(2, len(names))
    of = {name: (float(wifi[i]), float(lte[i])) for i, name in enumerate(names)}
    assert of["there"] == (1.0, 1.0)
    assert of["open"] == (1.0, 0.0)
    assert of["rate"][0] > 0.4
    assert of["rate"][1] == 0.0
    assert len(jg.CONNECTION_FEATURES) == 3


def test_train_and_check_draws_differ_and_sealed_ones_are_refused() -> None:
    for range_, name in [("train", "f1-bulk-train-0007"), ("check", "f1-bulk-check-0007")]:
        env = gymnasium.make("joulepath/Rates-v0", family="f1-bulk", range=range_)
        _, info = env.reset(options={"draw": 7, "run_seed": 2})
        assert (info["scenario"], info["draw"], info["seed"]) == (name, 7, 2)
    env = gymnasium.make("joulepath/Rates-v0", family="f1-bulk", draws=5)
    drawn = {env.reset(seed=seed)[1]["draw"] for seed in range(20)}
    assert drawn == {1, 2, 3, 4, 5}
    with pytest.raises(jp.UsageError, match="sealed"):
        jg.Rates(family="f1-bulk", range="sealed")  # type: ignore[arg-type]


def test_many_environments_equal_single_ones() -> None:
    env = jg.make_vec("joulepath/Windows-v0", 3, jobs=2, scenario=TWO, interval="100 ms")
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    seen, _ = env.reset(seed=11)
    alone = [jg.Windows(TWO, interval="100 ms") for _ in range(3)]
    single = [one.reset(seed=11 + i)[0] for i, one in enumerate(alone)]
    over = [False] * 3
    rng = np.random.default_rng(1)
    ends = 0
    for _ in range(50):
        assert np.array_equal(seen, np.stack(single))
        actions = rng.uniform(-1, 1, env.action_space.shape or ()).astype(np.float32)
        seen, rewards, terminated, truncated, infos = env.step(actions)
        for i, one in enumerate(alone):
            if over[i]:
                single[i], over[i] = one.reset()[0], False
                assert (rewards[i], terminated[i], truncated[i]) == (0.0, False, False)
                continue
            single[i], reward, done, cut, info = one.step(actions[i])
            assert (reward, done, cut) == (rewards[i], terminated[i], truncated[i])
            if done or cut:
                over[i] = True
                ends += 1
                assert infos["_summary"][i]
                assert infos["summary"]["return_j"][i] == info["summary"]["return_j"]
    assert ends == 6
    mask = np.array([False, True, False])
    again, _ = env.reset(seed=[0, 5, 0], options={"reset_mask": mask})
    assert np.array_equal(again[0], seen[0])
    assert np.array_equal(again[1], alone[1].reset(seed=5)[0])
    env.close()


def test_gymnasium_makes_environments_by_name() -> None:
    vector = gymnasium.make_vec(
        "joulepath/Rates-v0", num_envs=2, vectorization_mode="vector_entry_point", scenario=TWO
    )
    seen, _ = vector.reset(seed=1)
    assert seen.shape == (2, 2 * 9 + 3)
    assert vector.unwrapped.__class__ is jg.VectorEnvironment
    vector.close()


def test_errors_are_reported_with_the_fix() -> None:
    env = jg.Rates(TWO)
    with pytest.raises(jp.UsageError, match="reset"):
        env.step([0.0, 0.0])
    env.reset(seed=1)
    with pytest.raises(jp.UsageError, match=r"seed \d+, at 0 s: .* not within"):
        env.step([0.0, 2.0])
    with pytest.raises(jp.UsageError, match="no option 'seed'"):
        env.reset(options={"seed": 3})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"family": "bulk"}, "f1-bulk"),
        ({"interval": "5 fish"}, "fish"),
        ({"policy": "joule"}, "chooses paths"),
        ({"action": "log"}, "relative"),
        ({"lateness": 2.0}, "deadline"),
    ]
    for words, said in wrong:
        with pytest.raises(jp.UsageError, match=said):
            jg.Rates(None if "family" in words else TWO, **words)
    with pytest.raises(jp.UsageError, match="one connection"):
        jg.Rates(TWO + '[[connection]]\nname = "many"\ncount = 2\n').reset(seed=1)
    with pytest.raises(jp.UsageError, match="Paths-v0"):
        jg.make_vec("joulepath/Path-v0", 2)


def test_lateness_costs_the_given_price() -> None:
    file = TWO + '[workload]\nkind = "file"\nsize = "500 kB"\n'
    rows = jg.score("single:wifi", file, seeds=range(1, 4)).rows()
    late = jg.score("single:wifi", file, seeds=range(1, 4), deadline="200 ms", lateness=3.0).rows()
    for row, other in zip(rows, late, strict=True):
        assert row["done"]
        assert row["return_j"] - other["return_j"] == pytest.approx(3.0 * (row["time_s"] - 0.2))


def test_the_guides_scores_are_the_examples_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example = importlib.import_module("gym_scores")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    page = importlib.import_module("pages").stored("gym-scores")
    draws = list(range(1, 17))
    for policy in ["mptcp", "single-best"]:
        episodes = jg.score(policy, family="f2-file", draws=draws).rows()
        assert example.row(f"`{policy}`", episodes)[1] in page
    agent = "joulepath/Paths-v0"
    assert example.row(f"random agent, {agent}", example.random_agent(agent, "f2-file", draws))[1] in page
