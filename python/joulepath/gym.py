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
"""What an observation holds: the features of each path, path after path, then those of the connection."""

_SCENARIO = "home-wifi-lte"
"""Where episodes happen if nothing else is said."""

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
    """What all episodes of an environment have in common; :class:`Environment` says what the words mean."""
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
    """Return the scenario that a user names, by its text, too."""
    if isinstance(scenario, str) and "\n" in scenario:
        return Scenario.from_toml(scenario)
    return _opened(_SCENARIO if scenario is None else scenario)


def _spaces(spec: _joulepath.GymSpec) -> tuple[gymnasium.Space[Numbers], gymnasium.Space[Numbers]]:
    """Observations and actions."""
    seen: Any = gymnasium.spaces.Box(0.0, 1.0, (spec.observation_len,), np.float32)
    action: Any = gymnasium.spaces.Box(-1.0, 1.0, (spec.action_len,), np.float32)
    return seen, action


def _numbers(action: ArrayLike) -> Numbers:
    return np.ascontiguousarray(action, dtype=np.float32)


class Environment(gymnasium.Env[Numbers, Numbers]):
    """One connection that an agent steers: the base of :class:`Rates`, :class:`Windows` and :class:`Paths`.

    Args:
        scenario: a :class:`joulepath.Scenario`, a file, the name of a shipped scenario, or a text in TOML;
            ``home-wifi-lte`` if neither this nor ``family`` is given. It has one connection.
        family: a random family of the benchmark (docs/benchmark.md), such as ``"f2-file"``: each episode has
            another scenario of it.
        range: which scenarios: ``"train"`` to learn on, ``"check"`` to try what was learnt. Sealed ones are
            refused.
        draws: how many there are; 4096 if None.
        action: ``"relative"``: a rate or a window is multiplied by 2 to the power of the action;
            ``"absolute"``: it is chosen between the least and the most, on a logarithmic scale.
        policy: what is not steered: its packet scheduler and, in :class:`Paths`, its congestion control.
        interval: length of a step, such as ``"20 ms"``; the longest RTT of an open path if None, within
            10 ms and 1 s.
        price: what a delivered megabit is worth, J; twice what it costs at the scenario's exact limit if
            None.
        deadline: when the work shall be done, such as ``"12 s"``.
        lateness: what each second after that costs, J; 1 if None.
        unfinished: what each megabit of a file costs that is missing at the end, J; its price if None.

    ``reset`` takes a seed, and the same seed and actions yield the same bytes. Its ``options`` may name an
    episode: ``{"draw": 7, "run_seed": 3}`` is draw 7 with the seed 3 that ``joulepath.compare`` would have.
    An episode is terminated when a file has arrived, and truncated at the end of the scenario; then
    ``info["summary"]`` says what it came to.

    Raises:
        UsageError: if something is wrong or does not go together.
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
        # An episode under way is simulated again with the same actions.
        self.__dict__.update(state)
        self._spec = _spec(self._steers, **self._words)
        self._raw = _joulepath.GymEnvironment(self._spec)
        self._raw.restore(state["_raw"])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin an episode: what is seen, and where it is."""
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
        """Act, and let the connection go on for one interval.

        Raises:
            UsageError: if a number of the action is not within −1 to 1, or there is no episode to step.
            JoulepathError: if the engine fails, with the simulated time and the seed.
        """
        seen = np.empty(self._len, np.float32)
        reward, terminated, truncated = self._raw.step(_numbers(action), seen)
        info = {"summary": self._raw.summary()} if terminated or truncated else {}
        return seen, reward, terminated, truncated, info

    def summary(self) -> dict[str, Any] | None:
        """Return what the present episode has come to, or None before the first one.

        ``return_j`` is the sum of the rewards, ``share_of_limit`` the efficiency as a share of what the links
        allow.
        """
        return self._raw.summary()

    def result(self) -> dict[str, Any]:
        """Return all that the engine says of the run, as :meth:`joulepath.Run.to_dict`.

        What is left of the episode is simulated without further actions, and the episode is gone: ``reset``
        begins the next one.

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
    """``joulepath/Paths-v0``: a path carries data where its action is above 0.

    Where none is, the one with the greatest action does.
    """

    _steers = "paths"


_ENVIRONMENTS: dict[str, type[Environment]] = {
    "joulepath/Rates-v0": Rates,
    "joulepath/Windows-v0": Windows,
    "joulepath/Paths-v0": Paths,
}


class VectorEnvironment(VectorEnv[Numbers, Numbers, NDArray[Any]]):
    """Many connections that are stepped by one call, on all cores.

    ``autoreset_mode`` is ``NEXT_STEP``: the step after the end of an episode begins the next one; it takes no
    action and earns nothing. Environment ``i`` is what :class:`Environment` is with the seed ``seed + i``.

    Args:
        steers: ``"rates"``, ``"windows"`` or ``"paths"``.
        num_envs: how many.
        jobs: threads; as many as there are cores if None. The results do not depend on it.
        scenario: as of :class:`Environment`, and so are all ``words``.
        words: see there.
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
        # Episodes under way are simulated again with the same actions.
        self.__dict__.update(state)
        self._raw = _joulepath.GymFleet(_spec(**self._words), self.num_envs, self._jobs)
        self._raw.restore(state["_raw"])

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin episodes, of all environments or of those in ``options["reset_mask"]``."""
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
        """Act in all environments, and let them go on for one interval each."""
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
    """Return ``num_envs`` environments that are stepped by one call, on all cores.

    Args:
        id: ``"joulepath/Rates-v0"``, ``"joulepath/Windows-v0"`` or ``"joulepath/Paths-v0"``.
        num_envs: how many.
        jobs: threads; as many as there are cores if None. The results do not depend on it.
        words: as of :class:`Environment`.
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
    """Return what policies reach by the reward that agents learn from: one row for each episode.

    Args:
        policies: a list, or one text separated by commas.
        scenario: as of :class:`Environment`.
        family: as of :class:`Environment`.
        range: as of :class:`Environment`.
        draws: of a family, how many from the first one on, or which.
        seeds: of the runs in each draw.
        jobs: episodes at a time; as many as there are cores if None. The results do not depend on it.
        progress: as of :func:`joulepath.compare`.
        words: terms of the reward, as of :class:`Environment`.
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
        raise UsageError(f"{draws!r} draws", "they count from 1; ask for at least one")
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
