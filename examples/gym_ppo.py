"""A PPO agent that learns which paths of a connection carry data, with NumPy alone.

    python examples/gym_ppo.py                         # trains, prints a curve, saves gym_ppo.npz
    python examples/gym_ppo.py --play gym_ppo.npz      # plays the held-out draws again

Proximal policy optimisation with a clipped objective and generalised advantage estimation (Schulman et al.,
2017 and 2016). Actor and critic are separate networks with two layers of 64; the action is normal with a
learnt standard deviation. Rewards are divided by a running deviation of returns, because files have 10 kB
to 200 MB. It learns on draws of `train` and is evaluated, without noise, on draws of `check`.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import joulepath.gym as jg

Array = NDArray[np.float64]

ENVS, STEPS, EPOCHS, BATCHES = 32, 128, 6, 8
GAMMA, LAMBDA, CLIP = 0.995, 0.95, 0.2
LEARNING_RATE, ENTROPY, MOST_NORM = 3e-4, 5e-3, 0.5
HIDDEN = 64
INTERVAL = "500 ms"
"""Opening and closing a path takes several RTTs, so a decision per RTT would be too frequent."""


class Network:
    """Two hidden layers of tanh, a linear output, and Adam."""

    def __init__(self, sizes: tuple[int, int], gain: float, rng: np.random.Generator) -> None:
        widths = [sizes[0], HIDDEN, HIDDEN, sizes[1]]
        self.weights: list[Array] = []
        for i, (inputs, outputs) in enumerate(pairwise(widths)):
            scale = gain if i == 2 else 1.0
            self.weights += [rng.normal(0, scale / np.sqrt(inputs), (inputs, outputs)), np.zeros(outputs)]

    def forward(self, x: Array) -> list[Array]:
        """Return the input, both hidden layers and the output."""
        w = self.weights
        first = np.tanh(x @ w[0] + w[1])
        second = np.tanh(first @ w[2] + w[3])
        return [x, first, second, second @ w[4] + w[5]]

    def backward(self, layers: list[Array], error: Array) -> list[Array]:
        """Return the gradients for an error of the output."""
        x, first, second, _ = layers
        of_second = (error @ self.weights[4].T) * (1 - second**2)
        of_first = (of_second @ self.weights[2].T) * (1 - first**2)
        pairs = [(x, of_first), (first, of_second), (second, error)]
        return [part for layer, delta in pairs for part in (layer.T @ delta, delta.sum(0))]


class Adam:
    """Adam (Kingma and Ba, 2015) on a list of arrays, with a bound on the norm of the gradient."""

    def __init__(self, parameters: list[Array]) -> None:
        self._parameters = parameters
        self._mean = [np.zeros_like(p) for p in parameters]
        self._square = [np.zeros_like(p) for p in parameters]
        self._steps = 0

    def step(self, gradients: list[Array], rate: float) -> None:
        """Go down the gradients."""
        norm = float(np.sqrt(sum(float((g**2).sum()) for g in gradients)))
        shrink = min(1.0, MOST_NORM / (norm + 1e-8))
        self._steps += 1
        for p, g, m, v in zip(self._parameters, gradients, self._mean, self._square, strict=True):
            m += 0.1 * (shrink * g - m)
            v += 0.001 * ((shrink * g) ** 2 - v)
            unbiased = m / (1 - 0.9**self._steps)
            p -= rate * unbiased / (np.sqrt(v / (1 - 0.999**self._steps)) + 1e-8)


class Agent:
    """A normal policy and a value function."""

    def __init__(self, seen: int, actions: int, rng: np.random.Generator) -> None:
        self.actor = Network((seen, actions), 0.01, rng)
        self.critic = Network((seen, 1), 1.0, rng)
        self.log_std = np.zeros(actions)
        self._rng = rng
        self._adam = Adam([*self.actor.weights, self.log_std, *self.critic.weights])

    def sample(self, seen: Array) -> tuple[Array, Array, Array]:
        """Return actions with their log densities, and values."""
        mean = self.actor.forward(seen)[-1]
        action = mean + np.exp(self.log_std) * self._rng.normal(size=mean.shape)
        return action, self.density(action, mean), self.value(seen)

    def value(self, seen: Array) -> Array:
        """Return the estimated rest of the return."""
        return self.critic.forward(seen)[-1][:, 0]

    def density(self, action: Array, mean: Array) -> Array:
        """Return the log density of actions."""
        z = (action - mean) / np.exp(self.log_std)
        return np.asarray((-0.5 * z**2 - self.log_std - 0.5 * np.log(2 * np.pi)).sum(-1))

    def best(self, seen: Array) -> NDArray[np.float32]:
        """Return the noiseless action."""
        mean = self.actor.forward(seen[None])[-1][0]
        return np.asarray(np.clip(mean, -1, 1), np.float32)

    def learn(
        self, seen: Array, action: Array, density: Array, advantage: Array, target: Array, rate: float
    ) -> None:
        """Take one step on a batch."""
        count = len(seen)
        layers = self.actor.forward(seen)
        std = np.exp(self.log_std)
        z = (action - layers[-1]) / std
        ratio = np.exp(self.density(action, layers[-1]) - density)
        clipped = ((advantage > 0) & (ratio > 1 + CLIP)) | ((advantage < 0) & (ratio < 1 - CLIP))
        weight = np.where(clipped, 0.0, -advantage * ratio)[:, None] / count
        of_actor = self.actor.backward(layers, weight * z / std)
        of_std = (weight * (z**2 - 1)).sum(0) - ENTROPY
        layers = self.critic.forward(seen)
        of_critic = self.critic.backward(layers, (layers[-1] - target[:, None]) / count)
        self._adam.step([*of_actor, of_std, *of_critic], rate)

    def save(self, file: Path) -> None:
        """Write all weights."""
        np.savez(file, *self.actor.weights)

    def load(self, file: Path) -> None:
        """Read the weights of the policy."""
        with np.load(file) as arrays:
            self.actor.weights = [arrays[name] for name in arrays.files]


def tried(agent: Agent, family: str, draws: int) -> list[dict[str, Any]]:
    """Play the held-out draws without noise."""
    env = jg.Paths(family=family, range="check", draws=draws, interval=INTERVAL)
    episodes = []
    for draw in range(1, draws + 1):
        seen, _ = env.reset(options={"draw": draw, "run_seed": 1})
        over = False
        while not over:
            seen, _, terminated, truncated, info = env.step(agent.best(seen.astype(np.float64)))
            over = terminated or truncated
        episodes.append(info["summary"])
    return episodes


def told(episodes: list[dict[str, Any]]) -> str:
    """Return a one-line summary of episodes."""
    earned = fmean(episode["return_j"] for episode in episodes)
    energy = fmean(episode["energy_j"] for episode in episodes)
    share = fmean(episode["link_bound_share"] or 0.0 for episode in episodes)
    done = sum(episode["done"] for episode in episodes)
    return (
        f"{earned:9.1f} J  {energy:7.1f} J  {100 * share:3.0f} % of link bound  {done}/{len(episodes)} done"
    )


def train(family: str, steps: int, draws: int, seed: int) -> Agent:
    """Learn, and print a curve."""
    rng = np.random.default_rng(seed)
    envs = jg.make_vec("joulepath/Paths-v0", ENVS, family=family, range="train", interval=INTERVAL)
    first, _ = envs.reset(seed=seed * 1000)
    seen = first.astype(np.float64)
    agent = Agent(seen.shape[1], 4, rng)
    updates = max(1, steps // (ENVS * STEPS))
    running, count, square = np.zeros(ENVS), 1e-4, 1.0
    resets = np.zeros(ENVS, np.bool_)
    begin = time.perf_counter()
    print(f"{0:8} steps  {0.0:5.1f} min  {told(tried(agent, family, draws))}", flush=True)
    for update in range(updates):
        batch: dict[str, list[Array]] = {
            key: [] for key in ("seen", "action", "density", "value", "reward", "over", "counts")
        }
        for _ in range(STEPS):
            action, density, value = agent.sample(seen)
            after, rewards, terminated, truncated, _ = envs.step(np.clip(action, -1, 1))
            over = terminated | truncated
            running = np.where(resets, 0.0, running * GAMMA + rewards)
            square = (square * count + float((running**2).mean())) / (count + 1)
            count += 1
            scaled = np.clip(rewards / np.sqrt(square + 1e-8), -50, 50)
            now = (seen, action, density, value, scaled, over, ~resets)
            for key, part in zip(batch, now, strict=True):
                batch[key].append(part)
            running = np.where(over, 0.0, running)
            seen, resets = after.astype(np.float64), over
        value, advantage = agent.value(seen), np.zeros(ENVS)
        advantages = []
        for t in reversed(range(STEPS)):
            goes_on = 1.0 - batch["over"][t]
            error = batch["reward"][t] + GAMMA * value * goes_on - batch["value"][t]
            advantage = error + GAMMA * LAMBDA * goes_on * advantage
            value = batch["value"][t]
            advantages.append(advantage)
        # The step that starts an episode takes no action.
        counts = np.concatenate(batch["counts"]).astype(bool)
        flat = {key: np.concatenate(batch[key])[counts] for key in ("seen", "action", "density", "value")}
        gained = np.concatenate(advantages[::-1])[counts]
        target = gained + flat["value"]
        gained = (gained - gained.mean()) / (gained.std() + 1e-8)
        for _ in range(EPOCHS):
            for part in np.array_split(rng.permutation(len(gained)), BATCHES):
                agent.learn(
                    flat["seen"][part],
                    flat["action"][part],
                    flat["density"][part],
                    gained[part],
                    target[part],
                    LEARNING_RATE * (1 - update / updates),
                )
        if (update + 1) % max(1, updates // 10) == 0:
            minutes = (time.perf_counter() - begin) / 60
            line = told(tried(agent, family, draws))
            print(f"{(update + 1) * ENVS * STEPS:8} steps  {minutes:5.1f} min  {line}", flush=True)
    envs.close()
    return agent


def main() -> None:
    """Train, or play."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", default="f2-file")
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--draws", type=int, default=16, help="held-out draws that it is tried on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, default=Path("gym_ppo.npz"))
    parser.add_argument("--play", type=Path)
    given = parser.parse_args()
    if given.play is not None:
        spaces = jg.Paths(family=given.family)
        assert spaces.observation_space.shape is not None
        agent = Agent(spaces.observation_space.shape[0], 4, np.random.default_rng(0))
        agent.load(given.play)
        print(told(tried(agent, given.family, given.draws)))
        return
    train(given.family, given.steps, given.draws, given.seed).save(given.save)


if __name__ == "__main__":
    main()
