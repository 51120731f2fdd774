"""Environments under stable-baselines3: its own check, and its PPO. ``scripts/sb3.sh`` runs it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import joulepath as jp
import joulepath.gym as jg

pytest.importorskip("stable_baselines3", reason="scripts/sb3.sh runs it, where PyTorch is to be had")

import stable_baselines3 as sb3
import torch
from stable_baselines3.common.env_checker import check_env

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

STEPS = 256


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _logs_go_with_the_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise stable-baselines3 leaves a folder in the system's temporary folder."""
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))


@pytest.mark.parametrize("id", IDS)
def test_the_check_of_stable_baselines3_passes(id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check_env(gymnasium.make(id, scenario=TWO).unwrapped)
        check_env(gymnasium.make(id, family="f2-file").unwrapped)


def test_the_check_of_stable_baselines3_finds_errors() -> None:
    class Wrong(jg.Rates):
        def step(self, action: Any) -> Any:
            seen, *others = super().step(action)
            return (seen.astype(np.float64), *others)

    with pytest.raises(AssertionError, match=r"dtype|observation"):
        check_env(Wrong(TWO))


def trained(id: str) -> tuple[Any, list[float]]:
    """A PPO after a few hundred steps, and the returns of its episodes."""
    env = gymnasium.make(id, scenario=TWO, interval="100 ms")
    model = sb3.PPO("MlpPolicy", env, n_steps=STEPS // 2, batch_size=32, n_epochs=2, seed=1, device="cpu")
    before = [weights.clone() for weights in model.policy.parameters()]
    model.learn(STEPS)
    assert model.num_timesteps == STEPS
    after = list(model.policy.parameters())
    assert any(not torch.equal(one, other) for one, other in zip(before, after, strict=True))
    return model, [episode["r"] for episode in model.ep_info_buffer]


@pytest.mark.parametrize("id", IDS)
def test_ppo_of_stable_baselines3_learns_a_few_hundred_steps_reproducibly(id: str) -> None:
    model, returns = trained(id)
    again, others = trained(id)
    assert len(returns) >= 10
    assert returns == others
    seen, _ = gymnasium.make(id, scenario=TWO).reset(seed=1)
    actions = [one.predict(seen, deterministic=True)[0] for one in (model, again)]
    assert np.array_equal(*actions)
    assert np.all(np.abs(actions[0]) <= 1)


def test_a_policy_of_stable_baselines3_becomes_a_header_as_in_the_guide(tmp_path: Path) -> None:
    id = "joulepath/Windows-v0"
    env = gymnasium.make(id, scenario=TWO, interval="100 ms")
    shape = {"net_arch": [16]}
    model = sb3.PPO("MlpPolicy", env, n_steps=64, policy_kwargs=shape, seed=1, device="cpu").learn(64)
    linear = [model.policy.mlp_extractor.policy_net[0], model.policy.action_net]
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]
    told = {"power": 0.3, "left": 1, "time": 0}
    agent = jp.Controller.from_c(jg.export(tmp_path / "sb3agent.h", layers, id, paths=2, fixed=told))
    assert jp.run(jp.Scenario.from_toml(TWO), agent).goodput_bps > 1e5
