"""Environments for reinforcement learning: an agent steers an MPTCP connection, simulated packet by packet.

    import gymnasium
    import joulepath.gym

    env = gymnasium.make("joulepath/Paths-v0", family="f2-file")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Importing this module registers ``joulepath/Rates-v0`` (the pacing rate of each path),
``joulepath/Windows-v0`` (its congestion window) and ``joulepath/Paths-v0`` (whether it carries data).
docs/gym.md is the guide.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

try:
    import gymnasium
    import numpy as np
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
    from numpy.typing import ArrayLike, NDArray
except ImportError as error:
    raise ImportError(
        "joulepath.gym needs gymnasium: pip install 'joulepath[gym]'", name="gymnasium"
    ) from error

from joulepath import _joulepath
from joulepath._calls import Policies, Source, _policies, _watched
from joulepath._errors import UsageError
from joulepath._export import export
from joulepath._progress import Progress
from joulepath._scenario import Scenario
from joulepath._scenario import scenario as _opened
from joulepath._table import Table

__all__ = [
    "CONNECTION_FEATURES",
    "PATH_FEATURES",
    "Environment",
    "Paths",
    "Rates",
    "VectorEnvironment",
    "Windows",
    "export",
    "make_vec",
    "score",
]

Numbers = NDArray[np.float32]
Action = Literal["relative", "absolute"]
Range = Literal["train", "check"]

PATH_FEATURES, CONNECTION_FEATURES = (dict(pairs) for pairs in _joulepath.gym_features())
"""The observation: the features of each path, path after path, then those of the connection."""

_SCENARIO = "home-wifi-lte"
"""Default scenario of episodes."""

_OPTIONS = {"draw", "run_seed"}


def _spec(
    steers: str,
    scenario: Source | None = None,
    *,
    family: str | None = None,
    range: Range = "train",
    draws: int | None = None,
    action: Action = "relative",
    policy: str = "mptcp",
    interval: str | None = None,
    price: float | None = None,
    deadline: str | None = None,
    lateness: float | None = None,
    unfinished: float | None = None,
) -> _joulepath.GymSpec:
    """Settings of all episodes of an environment; :class:`Environment` documents the words."""
    if scenario is not None and family is not None:
        raise UsageError("both a scenario and a family are named", "leave one of them out")
    place = None if family is not None else _place(scenario)._raw
    return _joulepath.GymSpec(
        place,
        family,
        range,
        draws,
        steers,
        action,
        policy,
        interval,
        price,
        deadline,
        lateness,
        unfinished,
    )


def _place(scenario: Source | None) -> Scenario:
    """Return the scenario of a user's argument, which may also be a TOML text."""
    if isinstance(scenario, str) and "\n" in scenario:
        return Scenario.from_toml(scenario)
    return _opened(_SCENARIO if scenario is None else scenario)


def _spaces(spec: _joulepath.GymSpec) -> tuple[gymnasium.Space[Numbers], gymnasium.Space[Numbers]]:
    """Return the spaces of observations and actions."""
    seen: Any = gymnasium.spaces.Box(0.0, 1.0, (spec.observation_len,), np.float32)
    action: Any = gymnasium.spaces.Box(-1.0, 1.0, (spec.action_len,), np.float32)
    return seen, action


def _numbers(action: ArrayLike) -> Numbers:
    return np.ascontiguousarray(action, dtype=np.float32)


class Environment(gymnasium.Env[Numbers, Numbers]):
    """One connection steered by an agent: the base of :class:`Rates`, :class:`Windows` and :class:`Paths`.

    Args:
        scenario: a :class:`joulepath.Scenario`, a file, the name of a shipped scenario, or a TOML text, with
            one connection; ``home-wifi-lte`` if neither this nor ``family`` is given.
        family: a random family of the benchmark (docs/benchmark.md), such as ``"f2-file"``: each episode has
            a different scenario of the family.
        range: the scenarios: ``"train"`` for training, ``"check"`` for evaluation. Sealed scenarios are
            refused.
        draws: number of scenarios; 4096 if None.
        action: ``"relative"``: the action's power of 2 multiplies a rate or a window; ``"absolute"``: the
            action chooses it between minimum and maximum, on a logarithmic scale.
        policy: the parts that are not steered: packet scheduler and, in :class:`Paths`, congestion control.
        interval: length of a step, such as ``"20 ms"``. If None: the longest RTT of an open path, within 10
            ms and 1 s.
        price: value of a delivered megabit, J. If None: twice its cost at the scenario's exact limit.
        deadline: time limit of the work, such as ``"12 s"``.
        lateness: cost of each second after the deadline, J; 1 if None.
        unfinished: cost of each megabit of a file missing at the end, J; its price if None.

    ``reset`` takes a seed; equal seeds and actions give equal bytes. Its ``options`` may select an episode:
    ``{"draw": 7, "run_seed": 3}`` is scenario 7 with the seed 3 of ``joulepath.compare``. An episode is
    terminated when a file has arrived, and truncated at the end of the scenario; then ``info["summary"]`` has
    its result.

    Raises:
        UsageError: if an argument is wrong or does not match another.
        ScenarioError: if the scenario is wrong.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - the base class has it so
    _steers: ClassVar[str]

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        family: str | None = None,
        range: Range = "train",
        draws: int | None = None,
        action: Action = "relative",
        policy: str = "mptcp",
        interval: str | None = None,
        price: float | None = None,
        deadline: str | None = None,
        lateness: float | None = None,
        unfinished: float | None = None,
    ) -> None:
        self._words: dict[str, Any] = {
            "scenario": _place(scenario) if family is None else scenario,
            "family": family,
            "range": range,
            "draws": draws,
            "action": action,
            "policy": policy,
            "interval": interval,
            "price": price,
            "deadline": deadline,
            "lateness": lateness,
            "unfinished": unfinished,
        }
        self._spec = _spec(self._steers, **self._words)
        self._raw = _joulepath.GymEnvironment(self._spec)
        self.observation_space, self.action_space = _spaces(self._spec)
        self._len = self._spec.observation_len
        self._is_seeded = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_spec": None, "_raw": self._raw.past()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Simulates the episode again with the same actions.
        self.__dict__.update(state)
        self._spec = _spec(self._steers, **self._words)
        self._raw = _joulepath.GymEnvironment(self._spec)
        self._raw.restore(state["_raw"])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Start an episode; return the observation, and the episode's scenario, draw and seed."""
        super().reset(seed=seed)
        named = options or {}
        if unknown := named.keys() - _OPTIONS:
            raise UsageError(
                f"there is no option {sorted(unknown)[0]!r} of reset", "the options are draw and run_seed"
            )
        if seed is None and not self._is_seeded and not named:
            seed = int(self.np_random.integers(1 << 63))
        self._is_seeded = self._is_seeded or seed is not None
        seen = np.empty(self._len, np.float32)
        self._raw.reset(seed, named.get("draw"), named.get("run_seed"), seen)
        summary = self._raw.summary() or {}
        return seen, {key: summary[key] for key in ("scenario", "draw", "seed")}

    def step(self, action: ArrayLike) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Act, and advance the connection by one interval.

        Raises:
            UsageError: if a number of the action is outside −1 to 1, or there is no episode.
            JoulepathError: if the engine fails, with the simulated time and the seed.
        """
        seen = np.empty(self._len, np.float32)
        reward, terminated, truncated = self._raw.step(_numbers(action), seen)
        info = {"summary": self._raw.summary()} if terminated or truncated else {}
        return seen, reward, terminated, truncated, info

    def summary(self) -> dict[str, Any] | None:
        """Return the present episode's result so far, or None before the first one.

        ``return_j`` is the sum of the rewards, ``share_of_limit`` the efficiency relative to the links'
        limit.
        """
        return self._raw.summary()

    def result(self) -> dict[str, Any]:
        """Return the engine's full result of the run, as :meth:`joulepath.Run.to_dict`.

        It simulates the rest of the episode without further actions, and ends the episode; ``reset`` starts
        the next one.

        Raises:
            UsageError: if there is no episode.
        """
        found: dict[str, Any] = json.loads(self._raw.result())
        return found


class Rates(Environment):
    """``joulepath/Rates-v0``: the action is the pacing rate of each path, 64 kbit/s to 1 Gbit/s."""

    _steers = "rates"


class Windows(Environment):
    """``joulepath/Windows-v0``: the action is the congestion window of each path, 1 to 16384 packets."""

    _steers = "windows"


class Paths(Environment):
    """``joulepath/Paths-v0``: a path carries data if its action is above 0.

    If none is above 0, the path with the greatest action carries data.
    """

    _steers = "paths"


_ENVIRONMENTS: dict[str, type[Environment]] = {
    "joulepath/Rates-v0": Rates,
    "joulepath/Windows-v0": Windows,
    "joulepath/Paths-v0": Paths,
}


class VectorEnvironment(VectorEnv[Numbers, Numbers, NDArray[Any]]):
    """Many connections stepped by one call, on all cores.

    ``autoreset_mode`` is ``NEXT_STEP``: the step after the end of an episode starts the next one; it takes no
    action and has no reward. Environment ``i`` equals an :class:`Environment` with the seed ``seed + i``.

    Args:
        steers: ``"rates"``, ``"windows"`` or ``"paths"``.
        num_envs: number of environments.
        jobs: threads; the number of cores if None. The results do not depend on it.
        scenario: as for :class:`Environment`.
        words: as for :class:`Environment`.
    """

    def __init__(
        self,
        steers: str,
        num_envs: int = 1,
        *,
        jobs: int | None = None,
        scenario: Source | None = None,
        **words: Any,
    ) -> None:
        place = scenario if words.get("family") is not None else _place(scenario)
        self._words: dict[str, Any] = {"steers": steers, "scenario": place, **words}
        self._jobs = jobs
        spec = _spec(**self._words)
        self._raw = _joulepath.GymFleet(spec, num_envs, jobs)
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = _spaces(spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seen = np.zeros((num_envs, spec.observation_len), np.float32)
        self._is_seeded = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_raw": self._raw.past()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Simulates the episodes again with the same actions.
        self.__dict__.update(state)
        self._raw = _joulepath.GymFleet(_spec(**self._words), self.num_envs, self._jobs)
        self._raw.restore(state["_raw"])

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Numbers, dict[str, Any]]:
        """Start episodes, of all environments or of the ones in ``options["reset_mask"]``."""
        mask = (options or {}).get("reset_mask")
        which = [True] * self.num_envs if mask is None else [bool(begins) for begins in mask]
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(1 << 62))
        if isinstance(seed, int):
            seed = [seed + i for i in range(self.num_envs)]
        self._is_seeded = True
        seeds: list[int | None] = [None] * self.num_envs if seed is None else list(seed)
        self._raw.reset(which, seeds, self._seen)
        return self._seen.copy(), {}

    def step(
        self, actions: ArrayLike
    ) -> tuple[Numbers, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Act in all environments, and advance each by one interval."""
        rewards = np.empty(self.num_envs, np.float64)
        terminated = np.empty(self.num_envs, np.bool_)
        truncated = np.empty(self.num_envs, np.bool_)
        ended = self._raw.step(
            _numbers(actions), self._seen, rewards, terminated.view(np.uint8), truncated.view(np.uint8)
        )
        infos: dict[str, Any] = {}
        for i, summary in ended:
            infos = self._add_info(infos, {"summary": summary}, i)
        return self._seen.copy(), rewards, terminated, truncated, infos


def make_vec(id: str, num_envs: int, *, jobs: int | None = None, **words: Any) -> VectorEnvironment:
    """Return ``num_envs`` environments stepped by one call, on all cores.

    Args:
        id: ``"joulepath/Rates-v0"``, ``"joulepath/Windows-v0"`` or ``"joulepath/Paths-v0"``.
        num_envs: number of environments.
        jobs: threads; the number of cores if None. The results do not depend on it.
        words: as for :class:`Environment`.
    """
    if id not in _ENVIRONMENTS:
        raise UsageError(f"there is no environment {id!r}", f"there are {', '.join(_ENVIRONMENTS)}")
    return VectorEnvironment(_ENVIRONMENTS[id]._steers, num_envs, jobs=jobs, **words)


def score(
    policies: Policies,
    scenario: Source | None = None,
    *,
    family: str | None = None,
    range: Range = "check",
    draws: int | Sequence[int] = 16,
    seeds: Sequence[int] = (1,),
    jobs: int | None = None,
    progress: bool | Progress | None = None,
    **words: Any,
) -> Table:
    """Return the results of policies in the agents' environments and rewards: one row per episode.

    Args:
        policies: a list, or one text separated by commas.
        scenario: as for :class:`Environment`.
        family: as for :class:`Environment`.
        range: as for :class:`Environment`.
        draws: scenarios of a family: how many from the first one on, or a list of numbers.
        seeds: seeds of the runs in each scenario.
        jobs: concurrent episodes; the number of cores if None. The results do not depend on it.
        progress: as for :func:`joulepath.compare`.
        words: terms of the reward, as for :class:`Environment`.
    """
    chosen = _joulepath.split_policies(_policies(policies) or "")
    which = _draws(draws) if family is not None else [None]
    most = max(draw for draw in which if draw is not None) if family is not None else None
    tasks = [
        (policy, spec, draw, seed)
        for policy in chosen
        for spec in [
            _spec("nothing", scenario, family=family, range=range, draws=most, policy=policy, **words)
        ]
        for draw in which
        for seed in seeds
    ]
    return _watched(lambda tell: _joulepath.gym_score(tasks, jobs, tell), Table, progress)


def _draws(draws: int | Sequence[int]) -> list[int | None]:
    listed = list(draws) if not isinstance(draws, int) else [1 + i for i in range(draws)]
    if not listed or min(listed) < 1:
        raise UsageError(f"{draws!r} draws", "draws count from 1; use at least one")
    return list(listed)


def _register() -> None:
    for id, environment in _ENVIRONMENTS.items():
        if id not in gymnasium.registry:
            gymnasium.register(
                id=id,
                entry_point=f"joulepath.gym:{environment.__name__}",
                vector_entry_point=f"joulepath.gym:_vector_of_{environment._steers}",
            )


def _vector_of_rates(num_envs: int = 1, **words: Any) -> VectorEnvironment:
    return VectorEnvironment("rates", num_envs, **words)


def _vector_of_windows(num_envs: int = 1, **words: Any) -> VectorEnvironment:
    return VectorEnvironment("windows", num_envs, **words)


def _vector_of_paths(num_envs: int = 1, **words: Any) -> VectorEnvironment:
    return VectorEnvironment("paths", num_envs, **words)


_register()
