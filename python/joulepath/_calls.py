"""What is run. Every function here has a command of the same name, and yields the same numbers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, Literal, TypeVar

from joulepath import _joulepath, _progress
from joulepath._errors import Interrupted, JoulepathWarning, RunError, UsageError
from joulepath._parts import Part
from joulepath._progress import Progress
from joulepath._results import Advice, Benchmark, Comparison, Explanation, Map, Reproduction, Run
from joulepath._scenario import Scenario, _json, scenario
from joulepath._table import Table

Engine = Literal["packet", "fluid"]
Metric = Literal["bits_per_joule", "goodput_bps", "energy_j", "completion_s"]
Policies = str | Part | Sequence[str | Part]
Source = str | os.PathLike[str] | Scenario

_Raw = TypeVar("_Raw")
_Made = TypeVar("_Made")


def compare(
    source: Source,
    policies: Policies | None = None,
    seeds: int | range | None = None,
    *,
    engine: Engine = "packet",
    series: bool = False,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Comparison:
    """Run policies on a scenario and set them side by side.

    Args:
        source: a :class:`Scenario`, a file, or the name of a shipped scenario.
        policies: a list, or one text separated by commas; those of the scenario if None. The first is what
            the others are compared with. ``"mptcp[cc=olia]"`` replaces a part. A controller, scheduler,
            selector or allocator of your own may stand there: :class:`Controller`, :class:`Scheduler`,
            :class:`Selector`, :class:`Allocator`.
        seeds: how many seeds of each policy, or which: ``range(11, 21)``; as many as the scenario says if
            None. Every policy runs with the same ones.
        engine: ``"packet"`` simulates every segment, ``"fluid"`` solves the differential equations.
        series: whether time series are recorded.
        jobs: runs at a time; as many as there are cores if None. The results do not depend on it.
        progress: True shows a bar (tqdm), False none; a function is called with runs done, runs in all, and
            a sentence or None. None shows a bar where somebody looks.

    Raises:
        UsageError: if a policy, a seed or an option is wrong.
        ScenarioError: if the scenario is.
        UnsupportedError: if the engine cannot run it.
        RunError: if every run failed. If only some did, a :class:`JoulepathWarning` says so, and the
            result's ``failures`` which.
        Interrupted: after Ctrl-C; its ``result`` has the runs that had finished.
    """
    chosen = scenario(source)
    first, count = _seeds(seeds)
    listed = _policies(policies)
    call = _call("compare", chosen, policies=_texts(policies), seeds=seeds, engine=engine, series=series)
    comparison = _watched(
        lambda tell: _joulepath.compare(chosen._raw, listed, count, first, engine, jobs, series, tell, call),
        Comparison,
        progress,
    )
    failures = comparison.failures
    if failures:
        what = f"{len(failures)} runs failed; the first: `{failures[0].policy}`, seed {failures[0].seed}: "
        if len(comparison) == 0:
            raise RunError(what + failures[0].error) from failures[0].cause
        warnings.warn(what + failures[0].error, JoulepathWarning, stacklevel=2)
    return comparison


def run(
    source: Source,
    policy: str | Part,
    seed: int = 1,
    *,
    engine: Engine = "packet",
    series: bool = True,
) -> Run:
    """Run one policy once; with its time series unless ``series`` is False.

    Raises:
        UsageError: as :func:`compare` raises it.
    """
    listed = _policies(policy)
    if listed is None:
        raise UsageError("no policy is named", 'write one, such as "mptcp"')
    chosen = scenario(source)
    call = _call("run", chosen, policy=listed, seed=seed, engine=engine)
    comparison = _watched(
        lambda tell: _joulepath.compare(chosen._raw, listed, 1, seed, engine, 1, series, tell, call),
        Comparison,
        False,
    )
    if comparison.failures:
        failed = comparison.failures[0]
        raise RunError(f"`{failed.policy}`, seed {failed.seed}: {failed.error}") from failed.cause
    if len(comparison) != 1:
        raise UsageError(f"`{policy}` is a list of policies", "joulepath.compare runs several")
    return Run(comparison)


def limits(source: Source, seeds: int | range | None = None) -> Table:
    """Return the best that any rates could reach on a scenario, without running anything.

    ``tcp-friendly`` counts on the rates that TCP would get under the paths' random loss, ``link`` on all that
    the links carry. With random rates, means over those that runs with these seeds meet.
    """
    first, count = _seeds(seeds)
    return Table(_joulepath.limits(scenario(source)._raw, first, count))


def advise(
    paths: Mapping[str, Mapping[str, str]] | Sequence[str],
    size: str,
    *,
    deadline: str | None = None,
    rate: str | None = None,
    device: str | None = None,
    link_rates: bool = False,
) -> Advice:
    """Say which interfaces to use for a transfer, with which split, at how many joules and seconds.

    Args:
        paths: by name a dict with ``rate``, ``rtt``, ``energy`` and perhaps ``loss``, or texts as on the
            command line: ``"wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012"``.
        size: how much is downloaded: ``"10 MB"``.
        deadline: when it must be there, if that matters: ``"5 s"``.
        rate: at which rate it is made or played, if it is; not together with ``deadline``.
        device: a device, or a power, that burns while any interface is active.
        link_rates: whether to count on the rates of the links, whatever their loss would leave to TCP.

    Raises:
        UsageError: if an argument is wrong, or nothing meets the demand; its ``help`` says what would.
    """
    if deadline is not None and rate is not None:
        raise UsageError("a transfer has a deadline or a rate", "leave one of them out")
    if isinstance(paths, Mapping):
        words = [
            f"{name}:" + ",".join(f"{key}={value}" for key, value in path.items())
            for name, path in paths.items()
        ]
    else:
        words = list(paths)
    call = f"joulepath.advise({words!r}, {size!r}, deadline={deadline!r}, rate={rate!r}, device={device!r})"
    return Advice(_joulepath.advise(words, size, deadline, rate, device, link_rates, call))


def explain(controller: str, subflows: Sequence[Mapping[str, float]], **params: object) -> Explanation:
    """Show what a congestion controller does in a given state: the code beside the formula.

    Args:
        controller: its name (``joulepath.controllers()``).
        subflows: a dict for each: ``cwnd`` (packets) and ``srtt_us`` are required; ``base_rtt_us``,
            ``last_rtt_us``, ``acked_since_loss``, ``acked_between_losses`` (packets), ``target_share``,
            ``loss`` (0 to 1), ``energy_cost`` and ``path_price`` are optional.
        params: parameters of the controller.

    Raises:
        UsageError: if there is no such controller or parameter, or the state is out of range.
        UnsupportedError: if the controller has no increase for each ACK.
    """
    state = _json({"subflows": [dict(subflow) for subflow in subflows]})
    values = [(name, str(value)) for name, value in params.items()]
    return Explanation(_joulepath.explain(controller, state, values))


def map(
    source: Source,
    x: str,
    y: str,
    policies: Policies | None = None,
    *,
    metric: Metric = "bits_per_joule",
    engine: Engine = "fluid",
    spot_check: int = 0,
    seeds: int = 3,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Map:
    """Draw which policy wins where, over two keys of a scenario.

    Args:
        source: as for :func:`compare`.
        x: key and values: ``"path.wifi.loss=0.1 %..10 %:24log"`` has 24 points of equal ratios.
        y: as ``x``.
        policies: as for :func:`compare`.
        metric: what they are compared by.
        engine: as for :func:`compare`.
        spot_check: so many of the points are run by the packet engine, too.
        seeds: of each run of the packet engine.
        jobs: as for :func:`compare`.
        progress: as for :func:`compare`.

    Raises:
        UsageError: as :func:`compare` raises it, and if an axis is wrong.
        Interrupted: after Ctrl-C; its ``result`` is a map in which values are missing.
    """
    chosen = scenario(source)
    listed = _policies(policies)
    call = _call(
        "map", chosen, x=x, y=y, policies=_texts(policies), metric=metric, engine=engine, seeds=seeds
    )
    return _watched(
        lambda tell: _joulepath.map(
            chosen._raw, x, y, listed, metric, engine, spot_check, seeds, jobs, tell, call
        ),
        Map,
        progress,
    )


def benchmark(
    families: str | Sequence[str] = (),
    policies: Policies | None = None,
    *,
    random: Literal["train", "check"] | None = None,
    warm: Policies | None = None,
    scenarios: int | None = None,
    first: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    seeds: int | None = None,
    runs: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Benchmark:
    """Run policies on families of scenarios.

    ``joulepath benchmark``, with the same numbers. Ranked families put policies into tiers; random families
    have median, worst 10 % and worst scenario of each metric.

    Args:
        families: their names, all ranked (``"bulk"``) or all random (``"f1-bulk"``); if none, all ranked,
            or all random ones with ``random``.
        policies: as for :func:`compare`; the command's own if None. Parts of your own may be among them.
        random: random families: scenarios of ``"train"`` (if None), to tune on, or of ``"check"``, to
            measure a change. Sealed scenarios are run by the command line, which keeps a log of them.
        warm: random families: policies that run once more with what a device knows of its networks from an
            earlier visit.
        scenarios: of each family; 12 of ranked ones and 64 of random ones if None.
        first: number of the first scenario of each family; 1 if None.
        seed: ranked families: another one makes other scenarios.
        quick: ranked families: one scenario of each and two of the papers', cut short, under eight policies.
        seeds: of each policy on each scenario; 3, 2 if quick, 1 in random families if None.
        runs: a file that keeps finished runs: they are not run again. Not with parts of your own, which the
            file would know by name only.
        jobs: as for :func:`compare`.
        progress: as for :func:`compare`.

    Raises:
        UsageError: if a family, a policy or a set is wrong.
        Interrupted: after Ctrl-C; its ``result`` has what had finished.
    """
    own = [part for given in (policies, warm) for part in _parts(given)]
    if own and runs is not None:
        raise UsageError("a file of runs knows your own parts by name only", "leave `runs` out, or the parts")
    listed, warmed = _policies(policies), _policies(warm)
    named = _names(families)
    told = {"random": random, "warm": warmed, "scenarios": scenarios, "first": first, "seed": seed}
    words = "".join(f", {name}={value!r}" for name, value in told.items() if value is not None)
    call = f"joulepath.benchmark({named!r}, {listed!r}{words}, quick={quick!r}, seeds={seeds!r})"
    kept = None if runs is None else os.fspath(runs)
    return _watched(
        lambda tell: _joulepath.benchmark(
            named,
            listed,
            warmed,
            random,
            scenarios,
            first,
            seed,
            quick,
            seeds,
            kept,
            jobs,
            tell,
            call,
        ),
        Benchmark,
        progress,
    )


def reproduce(
    ids: str | Sequence[str] = (),
    *,
    full: bool = False,
    runs: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Reproduction:
    """Say which claims of the five papers hold: run their experiments, with intervals and verdicts.

    The second measurement, in the kernel's own stack, is the command line's alone.

    Args:
        ids: beginnings of experiments' ids (:func:`experiments`); all if none.
        full: as the papers' rules ask; otherwise the quick part.
        runs: a file that keeps finished runs: they are not run again.
        jobs: as for :func:`compare`.
        progress: as for :func:`compare`.

    Raises:
        UsageError: if there is no such experiment.
        Interrupted: after Ctrl-C; its ``result`` has what had finished.
    """
    named = _names(ids)
    call = f"joulepath.reproduce({named!r}, full={full!r})"
    kept = None if runs is None else os.fspath(runs)
    return _watched(
        lambda tell: _joulepath.reproduce(named, full, kept, jobs, tell, call), Reproduction, progress
    )


def experiments(ids: Sequence[str] = ()) -> Table:
    """Return the papers' experiments whose id begins with one of ``ids``; all if there are none."""
    return Table(_joulepath.experiments(_names(ids)))


def _names(names: str | Sequence[str]) -> list[str]:
    """A list of names; one text is one name."""
    return [names] if isinstance(names, str) else list(names)


def _watched(
    work: Callable[[Progress | None], _Raw],
    made: Callable[[_Raw], _Made],
    progress: bool | Progress | None,
) -> _Made:
    """Do ``work`` with a bar; what had finished before Ctrl-C becomes a result, too."""
    tell = _progress.chosen(progress)
    try:
        return made(work(tell))
    except Interrupted as stop:
        if stop.result is not None:
            stop.result = made(stop.result)
        raise
    finally:
        _progress.finish(tell)


def _seeds(seeds: int | range | None) -> tuple[int, int | None]:
    """The first seed, and how many."""
    if seeds is None:
        return 1, None
    if not isinstance(seeds, range):
        try:
            count = index(seeds)
        except TypeError:
            mend = "write how many, such as 5, or a range: range(11, 21)"
            raise TypeError(f"{seeds!r} are no seeds: {mend}") from None
        if not 0 < count < 1 << 32:
            raise UsageError(f"{seeds} seeds", "ask for at least one")
        return 1, count
    if seeds.step != 1 or len(seeds) == 0 or seeds.start < 0:
        raise UsageError(
            f"{seeds!r} is no range of seeds", "write for example range(1, 31): 30 seeds from 1 on"
        )
    return seeds.start, len(seeds)


def _policies(policies: Policies | None) -> str | None:
    """The policies as a list of the command line."""
    texts = _texts(policies)
    return ",".join(texts) if isinstance(texts, list) else texts


def _texts(policies: Policies | None) -> str | list[str] | None:
    """The policies by their names; parts of one's own are known by theirs from now on."""
    if policies is None or isinstance(policies, str):
        return policies
    parts = _parts(policies)
    for place, part in enumerate(parts):
        for other in parts[:place]:
            if other is not part and other.policy == part.policy:
                raise UsageError(f"two parts are called `{part.policy}`", "give one of them another `name`")
    return [entry.policy if isinstance(entry, Part) else entry for entry in _listed(policies)]


def _parts(policies: Policies | None) -> list[Part]:
    """The objects among the policies."""
    return [part for part in _listed(policies) if isinstance(part, Part)]


def _listed(policies: Policies | None) -> Sequence[str | Part]:
    """Each policy by itself."""
    if policies is None or isinstance(policies, str):
        return [] if policies is None else [policies]
    listed = list(policies) if isinstance(policies, Iterable) else [policies]
    for entry in listed:
        if isinstance(entry, type) and issubclass(entry, Part):
            raise UsageError(f"`{entry.__name__}` is a class", f"write `{entry.__name__}()`: an object of it")
        if not isinstance(entry, str | Part):
            raise UsageError(f"{entry!r} is no policy", "write a name, or an object of a class of yours")
    return listed


def _call(name: str, chosen: Scenario, **arguments: Any) -> str:
    """What stands for the command line in a result."""
    given = "".join(f", {key}={value!r}" for key, value in arguments.items() if value is not None)
    source = chosen.name if chosen.variant is None else f"{chosen.name}#{chosen.variant}"
    changes = f".with_({dict(chosen._raw.overrides)!r})" if chosen._raw.overrides else ""
    return f"joulepath.{name}({source!r}{changes}{given})"
