"""Clones schedules found by a search into decision trees, and compares them with the selector `joule`."""

import json
import math
import re
import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import joulepath as jp
from common import RESULTS, ROOT, joulepath, quotient, rounded, runs, say, write_json

FAMILIES = {"f2-file": "files", "f3-stream": "streams"}
TRAIN = CHECK = 48
"""Scenarios of each family."""
SEARCH = 128
"""Schedules that the search tries in each scenario."""
SEED = 1
"""The benchmark's first seed."""
JUDGED = {"train": 24, "check": CHECK}
"""Scenarios of each family in which the trees run."""
VERSIONS = {
    "depth 3": (3, False, False),
    "depth 6": (6, False, False),
    "depth 6, blind": (6, True, False),
    "depth 6, corrected": (6, True, True),
}
"""Each tree's depth; whether it is blind to what is open; whether it learns from its own states, too."""
LEAST_STATES = 0.004
"""A leaf has at least this part of the training set's weight."""
HOLD_S = 2.0
"""The trees keep a set at least as long as `joule` does."""
UNKNOWN_BPS = 10e6
"""Assumed capacity of a path without a measurement."""
MOST_STATES = 150
"""States of a training scenario; more are thinned out evenly."""
FIRST_DECISION = 0.3
"""Part of a scenario's weight that its first decision has."""

FEATURES = (
    "first path of the list",
    "open",
    "capacity known",
    "capacity (log2 Mbit/s)",
    "smoothed RTT (s)",
    "loss",
    "slope (µJ/bit)",
    "sunk power (W)",
    "promotion and tail (J)",
    "energy per bit ÷ that of the best other path (log2)",
    "capacity ÷ that of all other open paths (log2)",
    "waiting data (log2 Mbit)",
    "time to deliver it over the open paths (log2 s)",
    "promotion and tail ÷ energy of the waiting data on the best path (log2)",
    "time since the start (log2 s)",
    "open paths",
)

OF_STATE = [FEATURES.index(name) for name in FEATURES if "open" in name or "known" in name]
"""Columns that tell the present set. A tree that sees them mostly repeats it."""

UNIT = {"W": 1.0, "mW": 1e-3, "s": 1.0, "ms": 1e-3, "µs": 1e-6}


def quantity(text: str) -> float:
    number, unit = text.split()
    return float(number) * UNIT[unit]


def wake_and_tail_j() -> dict[str, float]:
    """Energy of a profile's promotion and tail."""
    found = {}
    for profile in json.loads(joulepath("list", "energy", "--json")):
        model = profile["model"]
        stages = [model["promotion"], *model["tail"]] if model.get("model") == "rrc" else []
        found[profile["name"]] = sum(quantity(s["power"]) * quantity(s["duration"]) for s in stages)
    return found


# ---- the state of a connection ----------------------------------------------------------------------------


def log2(x: float, least: float = 1e-6) -> float:
    return math.log2(max(x, least))


def features(
    paths: Sequence[jp.PathSnapshot], demand: jp.Demand, since_s: float, wake_j: list[float]
) -> np.ndarray:
    """What the tree sees: a row for each path, with the columns of FEATURES."""
    is_open = [path.state in ("open", "opening") for path in paths]
    capacity = [path.capacity_bps or UNKNOWN_BPS for path in paths]
    price = [path.joules_per_bit for path in paths]
    waiting = 8 * (demand.waiting_bytes or 0)
    total = sum(bps for bps, used in zip(capacity, is_open, strict=True) if used)
    rows = []
    for i, path in enumerate(paths):
        others = total - capacity[i] * is_open[i]
        rows.append(
            [
                i == 0,
                is_open[i],
                path.capacity_bps is not None,
                log2(capacity[i] / 1e6),
                path.srtt_s or 0,
                path.loss,
                path.slope_joules_per_bit * 1e6,
                path.sunk_w,
                wake_j[i],
                log2(price[i] / min(price[:i] + price[i + 1 :], default=price[i])),
                log2(capacity[i] / others) if others else 9,
                log2(waiting / 1e6),
                log2(waiting / (total or UNKNOWN_BPS)),
                log2(wake_j[i] / max(waiting * min(price), 1e-6)),
                log2(demand.now_s - since_s, 0.1),
                sum(is_open),
            ]
        )
    return np.array(rows, float)


# ---- the tree ---------------------------------------------------------------------------------------------


@dataclass
class Tree:
    """A node of a binary tree that says how likely a path carries data: below `at` left, else right."""

    value: float
    column: int = -1
    at: float = 0.0
    below: "Tree | None" = None
    above: "Tree | None" = None

    def of(self, row: np.ndarray) -> float:
        """Return the value of the leaf of a row."""
        node = self
        while node.below is not None:
            node = node.below if row[node.column] < node.at else node.above
        return node.value

    def leaves(self) -> int:
        """Return the number of leaves."""
        return 1 if self.below is None else self.below.leaves() + self.above.leaves()


def grown(
    rows: np.ndarray, used: np.ndarray, weights: np.ndarray, depth: int, without: Sequence[int] = ()
) -> Tree:
    """A tree that minimises the Gini impurity (Breiman et al. 1984, CART), `without` some columns."""
    total = weights.sum()
    value = float(weights @ used / total)
    node = Tree(value)
    best = (1e-9, -1, 0.0)
    if depth and 0 < value < 1:
        for column in set(range(rows.shape[1])).difference(without):
            order = np.argsort(rows[:, column], kind="stable")
            x, left = rows[order, column], np.cumsum(weights[order])
            ones = np.cumsum((weights * used)[order])
            cuts = np.flatnonzero(
                (x[1:] > x[:-1]) & (left[:-1] >= LEAST_STATES) & (total - left[:-1] >= LEAST_STATES)
            )
            if not len(cuts):
                continue
            n, k = left[cuts], ones[cuts]
            impurity = k * (n - k) / n + (ones[-1] - k) * (total - n - ones[-1] + k) / (total - n)
            gain = value * (1 - value) * total - impurity
            at = int(np.argmax(gain))
            if gain[at] > best[0]:
                best = (float(gain[at]), column, float((x[cuts[at]] + x[cuts[at] + 1]) / 2))
    if best[1] >= 0:
        is_below = rows[:, best[1]] < best[2]
        node.column, node.at = best[1], best[2]
        node.below, node.above = (
            grown(rows[part], used[part], weights[part], depth - 1, without) for part in (is_below, ~is_below)
        )
    return node


# ---- selectors --------------------------------------------------------------------------------------------


@dataclass
class Diary:
    """What a selector saw and chose in a run. Copies of a selector share it."""

    times_s: list[float] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    changes: list[tuple[float, str]] = field(default_factory=list)

    def __deepcopy__(self, _: dict) -> "Diary":
        return self


Plan = list[tuple[float, set[str]]]
"""Times after the first decision, s, each with the paths from then on."""


def set_at(plan: Plan, elapsed_s: float) -> set[str]:
    return [names for start_s, names in plan if start_s <= elapsed_s][-1]


class Teacher(jp.Selector):
    """Follows a schedule, and notes the state at each decision."""

    name = "teacher"

    def __init__(self, plan: Plan, wake_j: list[float], diary: Diary) -> None:
        self.plan, self.wake_j, self.diary, self.since_s = plan, wake_j, diary, None

    def want(self, paths: Sequence[jp.PathSnapshot], demand: jp.Demand) -> list[str]:
        """Return the schedule's set."""
        self.since_s = demand.now_s if self.since_s is None else self.since_s
        elapsed_s = demand.now_s - self.since_s
        self.diary.times_s.append(elapsed_s)
        self.diary.rows.append(features(paths, demand, self.since_s, self.wake_j))
        chosen = set_at(self.plan, elapsed_s)
        return ["regular" if path.name in chosen else "closed" for path in paths]


class Clone(jp.Selector):
    """Chooses the paths that a tree names, and notes states and changes."""

    name = "clone"

    def __init__(self, tree: Tree, wake_j: list[float], diary: Diary) -> None:
        self.tree, self.wake_j, self.diary = tree, wake_j, diary
        self.since_s = self.changed_s = None
        self.used: list[bool] = []

    def want(self, paths: Sequence[jp.PathSnapshot], demand: jp.Demand) -> list[str]:
        """Return the paths above one half, or the most likely one."""
        self.since_s = demand.now_s if self.since_s is None else self.since_s
        rows = features(paths, demand, self.since_s, self.wake_j)
        self.diary.times_s.append(demand.now_s - self.since_s)
        self.diary.rows.append(rows)
        if self.changed_s is None or demand.now_s - self.changed_s >= HOLD_S:
            votes = [self.tree.of(row) for row in rows]
            best = votes.index(max(votes))
            used = [vote > 0.5 or i == best for i, vote in enumerate(votes)]
            if used != self.used:
                self.used, self.changed_s = used, demand.now_s
                names = "+".join(path.name for path, its in zip(paths, used, strict=True) if its)
                self.diary.changes.append((demand.now_s - self.since_s, names))
        return ["regular" if its else "closed" for its in self.used]


def run(file: Path, selector: jp.Selector) -> None:
    """Runs the controller joule under a selector."""
    policy = selector.policy.replace("mptcp[", "mptcp[cc=joule,")
    done = jp.compare(file, [policy], seeds=range(SEED, SEED + 1), jobs=1, progress=False)
    if done.failures:
        raise SystemExit(f"joule: {file.name}: {done.failures[0]}")


# ---- scenarios --------------------------------------------------------------------------------------------


def names_of(file: Path) -> tuple[list[str], list[float]]:
    """The paths of a scenario, and the energy of their promotion and tail."""
    paths = tomllib.loads(file.read_text())["path"]
    return [path["name"] for path in paths], [
        WAKE.get(path["energy"], 0.0) if isinstance(path["energy"], str) else 0.0 for path in paths
    ]


WAKE: dict[str, float] = {}
"""Energy of each profile's promotion and tail."""
Data = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States of paths, whether each carries data then, and weights: the same for each scenario."""


def plan_of(policy: str, names: list[str]) -> Plan | None:
    """The schedule that a policy of the portfolio or the search follows; None if it decides by itself."""
    if policy.startswith("single:"):
        return [(0.0, {policy.removeprefix("single:")})]
    if policy in ("mptcp", "uncoupled"):
        return [(0.0, set(names))]
    if found := re.fullmatch(r"\w+\[selector=only,paths=(.*)\]", policy):
        return [(0.0, set(found[1].split("+")))]
    if found := re.fullmatch(r"\w+\[selector=schedule,plan=(.*)\]", policy):
        parts = (part.split(":") for part in found[1].split(";"))
        return [(float(start), set(paths.split("+"))) for start, paths in parts]
    return None


def scenario_files(which: str, count: int) -> Path:
    folder = ROOT / runs() / f"learning-{which}"
    joulepath("benchmark", *of_set(which, count), "--write", str(folder), "--quiet")
    return folder


def of_set(which: str, count: int, families: str = ",".join(FAMILIES), first: int = 1) -> list[str]:
    numbers = ["--first", str(first), "--scenarios", str(count)]
    return ["--family", families, "--random", which, *numbers]


def kept_json(name: str, *arguments: str) -> dict:
    """The JSON of a benchmark, kept for the next call."""
    file = ROOT / runs() / f"{name}.json"
    if not file.exists():
        file.write_text(joulepath("benchmark", *arguments, "--json", "--quiet"))
    return json.loads(file.read_text())


def taught(family: str, found: dict, folder: Path, trees: Sequence[Tree] = ()) -> tuple[Data, dict]:
    """States with what the schedules do then: those of the schedules' runs, and of runs of `trees`."""
    rows, used, weights, counts = [], [], [], {"scenarios": 0, "changing": 0, "left_out": 0}
    for scenario in found["scenarios"]:
        if scenario["family"] != family:
            continue
        file = folder / f"{scenario['name']}.toml"
        names, wake_j = names_of(file)
        plan = plan_of(scenario["oracle"]["searched"]["policy"], names)
        if plan is None:
            counts["left_out"] += 1
            continue
        counts["scenarios"] += 1
        counts["changing"] += len(plan) > 1
        for tree in (None, *trees):
            diary = Diary()
            run(file, Clone(tree, wake_j, diary) if tree else Teacher(plan, wake_j, diary))
            kept = np.unique(np.linspace(0, len(diary.rows) - 1, MOST_STATES).astype(int))
            weight = np.where(kept == 0, FIRST_DECISION, (1 - FIRST_DECISION) / max(len(kept) - 1, 1))
            for index, its in zip(kept, weight, strict=True):
                chosen = set_at(plan, diary.times_s[index])
                rows.append(diary.rows[index])
                used.append([name in chosen for name in names])
                weights.append(np.full(len(names), its / len(names)))
    weight = np.concatenate(weights)
    counts["states"] = len(weight)
    return (np.concatenate(rows), np.concatenate(used).astype(float), weight / weight.sum()), counts


def cloned(family: str, found: dict, folder: Path) -> tuple[dict[str, Tree], dict]:
    """All versions of the tree."""
    data, counts = taught(family, found, folder)
    trees: dict[str, Tree] = {}
    for name, (depth, is_blind, is_corrected) in VERSIONS.items():
        without = OF_STATE if is_blind else []
        # Ross et al. 2011 (DAgger), one round.
        more = taught(family, found, folder, [grown(*data, depth, without)])[0] if is_corrected else data
        trees[name] = grown(*more, depth, without)
    return trees, counts


def judged(which: str, family: str, known: dict, folder: Path, trees: dict[str, Tree]) -> dict:
    """Numbers of `joule` and of each tree in the scenarios of a set, relative to the oracle and to MPTCP."""
    of = {its["policy"]: its["scenarios"] for its in known["policies"] if its["start"] == "cold"}
    scenarios = [scenario for scenario in known["scenarios"] if scenario["family"] == family]
    table: dict[str, list[dict]] = {"joule": [], **{tree: [] for tree in trees}}
    for number, scenario in enumerate(scenarios[: JUDGED[which]], start=1):
        name, best = scenario["name"], scenario["oracle"]["best"]["tcp_reference"]
        theirs = of.get("mptcp", {}).get(name, {})
        file = folder / f"{name}.toml"
        plans = {}
        for version, tree in trees.items():
            diary = Diary()
            run(file, Clone(tree, names_of(file)[1], diary))
            plan = ";".join(f"{start_s:g}:{names}" for start_s, names in diary.changes)
            plans[version] = f"mptcp[cc=joule,selector=schedule,plan={plan}]"
        # The benchmark judges the same runs: its `schedule` decides at the same instants.
        policies = ",".join(dict.fromkeys(plans.values()))
        told = joulepath(
            "benchmark", *of_set(which, 1, family, number), "--policies", policies, "--json", "--quiet"
        )
        found = {its["policy"]: its["scenarios"][name] for its in json.loads(told)["policies"]}
        cells = {"joule": (of["joule"][name], None)}
        cells |= {version: (found[policy], policy.count(";")) for version, policy in plans.items()}
        for policy, (cell, changes) in cells.items():
            table[policy].append(
                {
                    "oracle": quotient(cell.get("tcp_reference"), best),
                    "energy": quotient(theirs.get("tcp_reference"), cell.get("tcp_reference")),
                    "time": quotient(cell.get("time"), theirs.get("time")),
                    "changes": changes,
                }
            )
    return {
        policy: {
            word: [None if row[word] is None else rounded(row[word]) for row in rows]
            for word in ("oracle", "energy", "time", "changes")
        }
        for policy, rows in table.items()
    }


def shown_tree(tree: Tree) -> object:
    """The tree as nested lists: column, threshold, below, above; or the part of a leaf."""
    if tree.below is None:
        return round(tree.value, 3)
    return [FEATURES[tree.column], rounded(tree.at), shown_tree(tree.below), shown_tree(tree.above)]


def learn() -> None:
    """Search on train, clone, judge on train and check, write results/joule-learning.json."""
    WAKE.update(wake_and_tail_j())
    searched = kept_json(
        "learning-train",
        *of_set("train", TRAIN),
        *("--policies", "joule", "--oracle", "--search", str(SEARCH)),
    )
    checked = kept_json("learning-check", *of_set("check", CHECK), "--policies", "joule,mptcp", "--oracle")
    folders = {which: scenario_files(which, count) for which, count in (("train", TRAIN), ("check", CHECK))}
    families = {}
    for family, name in FAMILIES.items():
        say(f"learning: {name}")
        trees, counts = cloned(family, searched, folders["train"])
        headroom = [
            quotient(its["oracle"]["searched"]["tcp_reference"], its["oracle"]["best"]["tcp_reference"])
            for its in searched["scenarios"]
            if its["family"] == family
        ]
        families[family] = {
            "taught": counts,
            "searched_to_oracle": rounded(statistics.fmean(headroom)),
            "leaves": {version: tree.leaves() for version, tree in trees.items()},
            "smallest": shown_tree(next(iter(trees.values()))),
            "sets": {
                which: judged(which, family, known, folders[which], trees)
                for which, known in (("train", searched), ("check", checked))
            },
        }
    write_json(
        RESULTS / "joule-learning.json",
        {
            "program": joulepath("--version").strip(),
            "scenarios": {"train": TRAIN, "check": CHECK, "judged": JUDGED},
            "search": SEARCH,
            "order": ["joule", *VERSIONS],
            "seed": SEED,
            "families": families,
        },
    )
