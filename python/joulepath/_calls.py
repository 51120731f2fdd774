"""Functions that run something. Each has a command of the same name, and returns the same numbers."""

from __future__ import annotations

import json
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
Policies = str | Part | Iterable[str | Part]
Source = str | os.PathLike[str] | Scenario

MOST_COUNT = (1 << 32) - 1
MOST_SEED = (1 << 64) - 1

_Raw = TypeVar("_Raw")
_Made = TypeVar("_Made")


def compare(
    source: Source,
    policies: Policies | None = None,
    seeds: int | range | None = None,
    *,
    engine: Engine = "packet",
    against: str | None = None,
    duration: str | None = None,
    series: bool = False,
    runs: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Comparison:
    """Run policies on a scenario and compare them.

    Args:
        source: a :class:`Scenario`, a file, or the name of a shipped scenario.
        policies: a list, or one text separated by commas; the scenario's own if None. The others are compared
            with the first. ``"mptcp[cc=olia]"`` replaces a part. It may contain your own parts:
            :class:`Controller`, :class:`Scheduler`, :class:`Selector`, :class:`Allocator`.
        seeds: the number of seeds of each policy, or a range: ``range(11, 21)``; the scenario's number if
            None. Every policy runs with the same seeds.
        engine: ``"packet"`` simulates every segment, ``"fluid"`` solves the differential equations.
        against: compare with this policy, in place of the first.
        duration: simulated time: ``"30 s"``; the scenario's if None.
        series: whether to record time series.
        runs: a file that stores finished runs, which are then not run again. Not with your own parts, which
            the file would identify only by name.
        jobs: concurrent runs; the number of cores if None. The results do not depend on it.
        progress: True shows a bar (tqdm), False shows none; a function is called with runs done, total runs,
            and a sentence or None. None shows a bar in a terminal or notebook.

    Raises:
        UsageError: if a policy, a seed or an option is wrong.
        ScenarioError: if the scenario is wrong.
        UnsupportedError: if the engine cannot run it.
        RunError: if every run failed. If only some failed, a :class:`JoulepathWarning` says so, and the
            result's ``failures`` lists them.
        Interrupted: after Ctrl-C; its ``result`` has the finished runs.
    """
    chosen = scenario(source)
    policies = _once(policies)
    first, count = _seeds(seeds)
    options = {"against": against, "engine": engine, "duration": duration, "series": series}
    call = _call("compare", chosen, policies=_texts(policies), seeds=seeds, **options)
    options |= {"runs": _stored(runs, policies), "jobs": _whole("jobs", jobs)}
    request = _request(policies=_policies(policies), seeds=count, seed=first, **options)
    comparison = _watched(
        lambda tell: _joulepath.compare(chosen._raw, request, tell, call), Comparison, progress
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
    """Run one policy once, with time series unless ``series`` is False.

    Raises:
        UsageError: as in :func:`compare`.
    """
    given = _once(policy)
    seed = _whole("seed", seed, 0, MOST_SEED)
    listed = _policies(given)
    if listed is None:
        raise UsageError("no policy is given", 'write one, such as "mptcp"')
    chosen = scenario(source)
    call = _call("run", chosen, policy=listed, seed=seed, engine=engine)
    request = _request(policies=listed, seeds=1, seed=seed, engine=engine, jobs=1, series=series)
    comparison = _watched(
        lambda tell: _joulepath.compare(chosen._raw, request, tell, call), Comparison, False
    )
    if comparison.failures:
        failed = comparison.failures[0]
        raise RunError(f"`{failed.policy}`, seed {failed.seed}: {failed.error}") from failed.cause
    if len(comparison) != 1:
        raise UsageError(f"`{policy}` is a list of policies", "joulepath.compare runs several")
    return Run(comparison)


def references(source: Source, seeds: int | range | None = None) -> Table:
    """Return the reference efficiencies of a scenario, without running anything.

    ``tcp-reference`` assumes the rates of TCP under the paths' random loss, ``link-bound`` the links'
    full rates. With random rates: means over the rates of runs with these seeds.
    """
    first, count = _seeds(seeds)
    return Table(_joulepath.references(scenario(source)._raw, first, count))


def advise(
    paths: Mapping[str, Mapping[str, str]] | Sequence[str],
    size: str,
    *,
    deadline: str | None = None,
    rate: str | None = None,
    every: str | None = None,
    tolerance: str | None = None,
    device: str | None = None,
    link_rates: bool = False,
    slowest: float | None = None,
    history: str | os.PathLike[str] | None = None,
    preset: str | None = None,
    cc: str | None = None,
) -> Advice:
    """Return the interfaces to use for a transfer, the split, and the cost in joules and seconds.

    Args:
        paths: for each name a dict with ``rate``, ``rtt``, ``energy`` and optionally ``loss`` and ``burst``
            (mean number of packets lost in a row), or texts as on the command line:
            ``"wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi6-2021"``.
        size: size of the download: ``"10 MB"``.
        deadline: time limit, if any: ``"5 s"``.
        rate: rate at which the data is produced or played, if any; not together with ``deadline``.
        every: the time after which data of this size arises again, if it does: ``"30 s"``. The result's
            ``waiting`` says what waiting saves. Only with ``tolerance``, without ``deadline`` and ``rate``.
        tolerance: the longest time that the data may wait, to be sent together: ``"2 min"``.
        device: a device, or its power while any interface is active.
        link_rates: whether to assume the links' full rates, ignoring TCP's reduction by loss.
        slowest: it must arrive within this multiple, at least 1, of the time of the fastest path alone. Not
            with ``rate`` or ``every``.
        history: memory of networks (``joulepath compare --record``, or the daemon's) with the rates, RTTs and
            losses that paths leave out. A path's ``network`` says where the device is.
        preset: balance between energy and time, as in ``joule[preset=…]``: ``"saver"``, ``"balanced"`` or
            ``"fast"``. ``slowest`` replaces its longest time. Not with ``rate`` or ``every``.
        cc: coupling of the congestion control of several paths: ``"uncoupled"`` (the default), ``"lia"`` or
            ``"olia"``.

    Raises:
        UsageError: if an argument is wrong, or no plan meets the demand; its ``help`` says which would.
    """
    if isinstance(paths, Mapping):
        words = [
            f"{name}:" + ",".join(f"{key}={value}" for key, value in path.items())
            for name, path in paths.items()
        ]
    else:
        words = list(paths)
    options = {
        "deadline": deadline,
        "rate": rate,
        "every": every,
        "tolerance": tolerance,
        "device": device,
        "cc": cc,
        "slowest": slowest,
        "preset": preset,
        "link_rates": link_rates or None,
        "history": None if history is None else os.fspath(history),
    }
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    if slowest is not None:
        options["slowest"] = str(slowest)
    request = _request(paths=words, size=size, **options)
    return Advice(_joulepath.advise(request, f"joulepath.advise({words!r}, {size!r}{given})"))


def bill(
    file: str | os.PathLike[str],
    radios: Mapping[str, str] | str,
    *,
    device: str | None = None,
    addresses: Sequence[str] = (),
    waits: Sequence[str] = ("10 s", "1 min", "10 min"),
) -> dict[str, Any]:
    """Return the joules of a recording by radio, host and request, and what would save some.

    Args:
        file: a pcap, pcapng or HAR file.
        radios: the energy model of each interface, a profile or ``"52mW/Mbps+1288mW"``; or one for all.
        device: a device, or its power while any radio is awake.
        addresses: addresses of the device, if it did not open the recorded connections.
        waits: how long transfers may wait for others, to see what that saves.

    Returns:
        What ``joulepath bill --json`` prints. ``interfaces``, ``hosts`` and ``requests`` are lists of dicts
        that `pandas.DataFrame` takes.

    Raises:
        UsageError: if the file cannot be read, or an interface has no radio.
    """
    words = [radios] if isinstance(radios, str) else [f"{name}={radio}" for name, radio in radios.items()]
    request = _request(
        file=os.fspath(file), radios=words, device=device, addresses=list(addresses), waits=list(waits)
    )
    found: dict[str, Any] = json.loads(_joulepath.bill(request))
    return found


def explain(controller: str, subflows: Sequence[Mapping[str, float]], **params: object) -> Explanation:
    """Show what a congestion controller does in a given state, by code and by formula.

    Args:
        controller: its name (``joulepath.controllers()``).
        subflows: a dict for each subflow: ``cwnd`` (packets) and ``srtt_us`` are required; ``base_rtt_us``,
            ``last_rtt_us``, ``acked_since_loss``, ``acked_between_losses`` (packets), ``target_share``,
            ``loss`` (0 to 1), ``energy_cost`` and ``path_price`` are optional.
        params: parameters of the controller.

    Raises:
        UsageError: if the controller or parameter does not exist, or the state is out of range.
        UnsupportedError: if the controller has no per-ACK increase.
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
    metric: str = "bits_per_joule",
    engine: Engine = "fluid",
    spot_check: int = 0,
    seeds: int = 3,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Map:
    """Compute the winning policy at each point of a plane of two scenario keys.

    Args:
        source: as for :func:`compare`.
        x: key and values: ``"path.wifi.loss=0.1 %..10 %:24log"`` has 24 points of equal ratios.
        y: as ``x``.
        policies: as for :func:`compare`.
        metric: the compared metric: ``bits_per_joule``, ``goodput_bps``, ``energy_j``, ``completion_s``, ….
        engine: as for :func:`compare`.
        spot_check: number of points that the packet engine also runs.
        seeds: seeds of the packet engine's runs.
        jobs: as for :func:`compare`.
        progress: as for :func:`compare`.

    Raises:
        UsageError: as in :func:`compare`, and if an axis is wrong.
        Interrupted: after Ctrl-C; its ``result`` is a map with missing values.
    """
    chosen = scenario(source)
    policies = _once(policies)
    options = {"metric": metric, "engine": engine, "seeds": _whole("seeds", seeds)}
    call = _call("map", chosen, x=x, y=y, policies=_texts(policies), **options)
    jobs = _whole("jobs", jobs)
    request = _request(x=x, y=y, policies=_policies(policies), spot_check=spot_check, jobs=jobs, **options)
    return _watched(lambda tell: _joulepath.map(chosen._raw, request, tell, call), Map, progress)


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
    oracle: bool = False,
    search: int | None = None,
    seeds: int | None = None,
    runs: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Benchmark:
    """Run policies on families of scenarios.

    ``joulepath benchmark``, with the same numbers. Ranked families assign policies to tiers; random families
    give median, worst 10 % and worst scenario of each metric.

    Args:
        families: their names, all ranked (``"bulk"``) or all random (``"f1-bulk"``). Default: all ranked
            families, or all random ones with ``random``.
        policies: as for :func:`compare`; the command's own if None. Your own parts are allowed.
        random: random families: ``"train"`` scenarios (if None), for tuning, or ``"check"`` scenarios, for
            measuring a change. Sealed scenarios need the command line, which logs their use.
        warm: random families: policies that also run with a device's history of its networks from an earlier
            visit.
        scenarios: scenarios per family; 12 for ranked and 64 for random families if None.
        first: number of the first scenario of each family; 1 if None.
        seed: ranked families: seed of the scenarios.
        quick: ranked families: one scenario of each and two of the papers', shortened, under eight policies.
        oracle: random families: add the column ``oracle``: each policy relative to the best of a portfolio,
            chosen in hindsight on each scenario.
        search: with ``oracle``: search for better schedules of paths in this many runs per scenario, and add
            the column ``searched``.
        seeds: seeds of each policy on each scenario. If None: 3, 2 if quick, 1 in random families.
        runs: a file that stores finished runs, which are then not run again. Not with your own parts, which
            the file would identify only by name.
        jobs: as for :func:`compare`.
        progress: as for :func:`compare`.

    Raises:
        UsageError: if a family, a policy or a set is wrong.
        Interrupted: after Ctrl-C; its ``result`` has the finished runs.
    """
    policies, warm = _once(policies), _once(warm)
    seeds, jobs = _whole("seeds", seeds), _whole("jobs", jobs)
    seed = _whole("seed", seed, 0, MOST_SEED)
    listed, warmed = _policies(policies), _policies(warm)
    named = _names(families)
    told = {"random": random, "warm": warmed, "scenarios": scenarios, "first": first, "seed": seed}
    told |= {"search": search, "oracle": oracle or None}
    words = "".join(f", {name}={value!r}" for name, value in told.items() if value is not None)
    call = f"joulepath.benchmark({named!r}, {listed!r}{words}, quick={quick!r}, seeds={seeds!r})"
    request = _request(families=named, policies=listed, quick=quick, seeds=seeds, jobs=jobs, **told)
    kept = _stored(runs, policies, warm)
    return _watched(lambda tell: _joulepath.benchmark(request, kept, tell, call), Benchmark, progress)


def reproduce(
    ids: str | Sequence[str] = (),
    *,
    full: bool = False,
    runs: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Reproduction:
    """Check the claims of the five papers: run their experiments, with intervals and verdicts.

    The second measurement, in the kernel's own stack, needs the command line.

    Args:
        ids: prefixes of experiments' ids (:func:`experiments`); all experiments if empty.
        full: whether to follow the papers' rules completely; otherwise the quick part.
        runs: a file that stores finished runs, which are then not run again.
        jobs: as for :func:`compare`.
        progress: as for :func:`compare`.

    Raises:
        UsageError: if the experiment does not exist.
        Interrupted: after Ctrl-C; its ``result`` has the finished runs.
    """
    named = _names(ids)
    call = f"joulepath.reproduce({named!r}, full={full!r})"
    kept = _stored(runs)
    return _watched(
        lambda tell: _joulepath.reproduce(named, full, kept, jobs, tell, call), Reproduction, progress
    )


def experiments(ids: Sequence[str] = ()) -> Table:
    """Return the papers' experiments with an id that starts with one of ``ids``; all if it is empty."""
    return Table(_joulepath.experiments(_names(ids)))


def _names(names: str | Sequence[str]) -> list[str]:
    """A list of names; a single text is one name."""
    return [names] if isinstance(names, str) else list(names)


def _watched(
    work: Callable[[Progress | None], _Raw],
    made: Callable[[_Raw], _Made],
    progress: bool | Progress | None,
) -> _Made:
    """Do ``work`` with a progress bar; Ctrl-C converts the partial result."""
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
    """The first seed, and the number of seeds."""
    if seeds is None:
        return 1, None
    if not isinstance(seeds, range):
        try:
            return 1, _whole("seeds", seeds)
        except TypeError:
            mend = "write how many, such as 5, or a range: range(11, 21)"
            raise TypeError(f"{seeds!r} are no seeds: {mend}") from None
    if seeds.step != 1 or seeds.stop <= seeds.start or seeds.start < 0:
        raise UsageError(
            f"{seeds!r} is no range of seeds", "write for example range(1, 31): 30 seeds from 1 on"
        )
    _whole("the first seed", seeds.start, 0, MOST_SEED)
    return seeds.start, _whole("seeds", seeds.stop - seeds.start)


def _whole(name: str, value: Any, least: int = 1, most: int = MOST_COUNT) -> Any:
    """A whole number of these limits, also one of NumPy; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, not a whole number")
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, not a whole number") from None
    if not least <= number <= most:
        unless = "; without it, all cores are used" if name == "jobs" else ""
        raise UsageError(f"{name} is {number}", f"write a number from {least} to {most}{unless}")
    return number


def _stored(runs: str | os.PathLike[str] | None, *policies: Policies | None) -> str | None:
    """The file of finished runs, if it can identify these policies."""
    if runs is not None and any(_parts(given) for given in policies):
        raise UsageError(
            "a file of runs would identify your own parts only by name", "leave `runs` out, or the parts"
        )
    return None if runs is None else os.fspath(runs)


def _once(policies: Policies | None) -> Policies | None:
    """A list in place of what can be read only once, such as a generator."""
    if isinstance(policies, str | Part) or not isinstance(policies, Iterable):
        return policies
    return list(policies)


def _policies(policies: Policies | None) -> str | None:
    """The policies as a list for the command line."""
    texts = _texts(policies)
    return ",".join(texts) if isinstance(texts, list) else texts


def _texts(policies: Policies | None) -> str | list[str] | None:
    """The policies by name; this registers your own parts."""
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
    """The policies one by one."""
    if policies is None or isinstance(policies, str):
        return [] if policies is None else [policies]
    listed = list(policies) if isinstance(policies, Iterable) else [policies]
    for entry in listed:
        if isinstance(entry, type) and issubclass(entry, Part):
            raise UsageError(f"`{entry.__name__}` is a class", f"write `{entry.__name__}()`: an object of it")
        if not isinstance(entry, str | Part):
            raise UsageError(f"{entry!r} is no policy", "write a name, or an object of a class of yours")
    return listed


def _request(**options: Any) -> str:
    """A request as the other faces make it: the options that are given."""
    return _json({name: value for name, value in options.items() if value is not None})


def _call(name: str, chosen: Scenario, **arguments: Any) -> str:
    """The call that a result stores in place of a command line."""
    given = "".join(f", {key}={value!r}" for key, value in arguments.items() if value is not None)
    source = chosen.name if chosen.variant is None else f"{chosen.name}#{chosen.variant}"
    changes = f".with_({dict(chosen._raw.overrides)!r})" if chosen._raw.overrides else ""
    return f"joulepath.{name}({source!r}{changes}{given})"
