"""The tables of docs/joule.md, as Markdown."""

import statistics

import numpy as np

from common import ABLATION, ENOUGH, NAMES, percentiles


def table(head: list[str], rows: list[list[str]]) -> str:
    align = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, align, *rows])


def percent(value: float) -> str:
    return f"{100 * value:.0f}"


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, worst 10 % as in the benchmark, and worst."""
    return statistics.median(values), float(np.quantile(values, 0.1)), min(values)


def median_interval(values: list[float]) -> tuple[float, float]:
    """95 % bootstrap interval of the median, from 2000 resamples."""
    draws = np.random.default_rng(1).choice(values, (2000, len(values)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return float(low), float(high)


def loss_table(results: dict) -> str:
    loss = results["loss"]
    shown = [(i, p) for i, p in enumerate(loss["losses"]) if p >= 1e-3]

    def cell(its: list[float]) -> str:
        mean, least, most = map(percent, its)
        return f"{mean} ({least}–{most})"

    return table(
        ["link use, %", *(f"{100 * p:g} % lost" for _, p in shown)],
        [[NAMES[cc], *(cell(loss["use"][cc][i]) for i, _ in shown)] for cc in NAMES],
    )


def links_table(results: dict) -> str:
    rows = []
    for cc in NAMES:
        link = results["links"][cc]
        (median, tenth, worst), (low, high) = spread(link["use"]), median_interval(link["use"])
        rows.append(
            [
                NAMES[cc],
                f"{percent(median)} ({percent(low)}–{percent(high)})",
                percent(tenth),
                percent(worst),
                f"{statistics.median(link['rtt']):.2f}",
                f"{float(np.quantile(link['rtt'], 0.9)):.2f}",
            ]
        )
    return table(
        ["", "link use, %: median", "worst tenth", "worst", "RTT ÷ least: median", "worst tenth"], rows
    )


def beside_table(results: dict) -> str:
    beside, rows = results["beside"], []
    for cc in NAMES:
        if cc not in beside["kept"]:
            continue
        kept = beside["kept"][cc]
        (median, tenth, worst) = spread(kept)
        harmed = sum(value < ENOUGH for value in kept)
        own = statistics.median(beside["goodput"][cc])
        rows.append(
            [
                NAMES[cc],
                f"{median:.2f}",
                f"{tenth:.2f}",
                f"{worst:.2f}",
                f"{len(kept) - harmed} of {len(kept)}",
                f"{own:.1f}",
            ]
        )
    return table(
        ["", "kept: median", "worst tenth", "worst", "cells ≥ 0.9", "own goodput, × NewReno's"], rows
    )


def bbr_table(results: dict) -> str:
    rows = []
    for kind, its in results["bbr"].items():
        cells = []
        for cc in ("joule", "reno", "cubic"):
            cells.append(f"{statistics.median(its[cc]):.2f} ({min(its[cc]):.2f}–{max(its[cc]):.2f})")
        rows.append([f"one {NAMES[kind]}", *cells])
    return table(["goodput ÷ the competitor's: median (least–most)", "joule", "NewReno", "CUBIC"], rows)


def ablation_table(results: dict) -> str:
    def cell(row: dict, family: str, word: str) -> str:
        median, tenth, _ = row["families"][family][word]
        return f"{percent(median)} / {percent(tenth)}"

    rows = []
    for row in results["ablation"]["rows"]:
        if row["policy"].startswith("single"):
            continue
        name = ABLATION[row["policy"]] + (", warm" if row["start"] == "warm" else "")
        harm = [row["families"][f] for f in ("f4-competitors", "f5-shared", "f7-shallow")]
        rows.append(
            [
                name,
                *(
                    cell(row, family, "tcp_reference")
                    for family in ("f1-bulk", "f2-file", "f3-stream", "f6-mobility")
                ),
                *(f"{its['kept'][1]:.2f}, {percent(its['unharmed'])} %" for its in harm),
            ]
        )
    return table(["", "bulk", "files", "streams", "mobility", "beside others", "shared", "shallow"], rows)


def interval_mbps(estimate: dict) -> str:
    mean, low, high = (estimate[word] / 1e6 for word in ("mean", "lo", "hi"))
    return f"{mean:.2f} ({low:.2f}–{high:.2f})"


def seeds_of_packet(results: dict) -> str:
    more = results.get("packet_seeds", results["seeds"])
    return "" if more == results["seeds"] else f", {more} in the packet engine"


def kernel_table(results: dict) -> str:
    rows, differences = [], []
    for row in results["rows"]:
        packet, kernel = row["packet"]["goodput_bps"], row["kernel"]["goodput_bps"]
        difference = packet["mean"] / kernel["mean"] - 1
        differences.append(abs(difference))
        name = " and ".join(f"{rate}, {delay}, {queue}, {loss}" for rate, delay, queue, loss in row["links"])
        shown = [interval_mbps(engine) for engine in (packet, kernel)]
        rows.append([name, *shown, f"{100 * difference:+.1f} %"])
    says = (
        f"Linux {results['kernel']}, {results['seeds']} seeds{seeds_of_packet(results)}. "
        f"Difference: {100 * statistics.median(differences):.1f} % in the median, "
        f"{100 * max(differences):.1f} % at most; "
        f"{sum(d <= 0.1 for d in differences)} of {len(differences)} within 10 %."
    )
    head = [
        "rate, delay one way, queue in packets, random loss",
        "packet engine, Mbit/s",
        "kernel, Mbit/s",
        "difference",
    ]
    return table(head, rows) + "\n\n" + says


# Goals in random families: name, family, start, metric, goals for median, worst 10 % and worst.
GOALS = [
    ("files, % of TCP ref.", "f2-file", "cold", "tcp_reference", (0.97, 0.88, 0.75)),
    ("bulk, cold, % of TCP ref.", "f1-bulk", "cold", "tcp_reference", (0.95, 0.85, 0.5)),
    ("bulk, warm, % of TCP ref.", "f1-bulk", "warm", "tcp_reference", (0.98, 0.93, 0.85)),
    ("bulk, warm, % of link bound", "f1-bulk", "warm", "link_bound", (0.96, 0.90, 0.85)),
    ("streams, % of TCP ref.", "f3-stream", "cold", "tcp_reference", (0.95, 0.80, None)),
    ("with competitors, warm, % of TCP ref.", "f4-competitors", "warm", "tcp_reference", (0.98, 0.85, None)),
]


def row_of(benchmark: dict, policy: str, start: str) -> dict:
    return next(its for its in benchmark["policies"] if (its["policy"], its["start"]) == (policy, start))


def of_limit(its: dict) -> str:
    """Median with its 95 % interval, worst 10 % and worst, %."""
    shown = [
        f"{percent(value['mean'])} ({percent(value['lo'])}–{percent(value['hi'])})"
        for value in (its["median"], its["worst_10"])
    ]
    return " / ".join([*shown, percent(its["worst"])])


def of_kept(its: dict) -> str:
    kept = its["percentiles"]["kept"]
    return f"{kept[50]:.2f} / {kept[10]:.2f} / {kept[0]:.2f}; ≥ 0.9 in {percent(its['unharmed'])} %"


def goals_table(benchmarks: list[dict]) -> str:
    """One row per goal, one column per run."""

    def each(policy: str, start: str, family: str) -> list[dict]:
        return [row_of(benchmark, policy, start)["families"][family] for benchmark in benchmarks]

    rows = []
    for name, family, start, word, goals in GOALS:
        best = [of_limit(its[word]) for its in each("single:PATH", "cold", family)]
        goal = " / ".join("–" if goal is None else percent(goal) for goal in goals)
        rows.append([name, goal, *(of_limit(its[word]) for its in each("joule", start, family)), best[-1]])
    for name, family in (
        ("beside others (F4)", "f4-competitors"),
        ("shared (F5)", "f5-shared"),
        ("shallow (F7)", "f7-shallow"),
    ):
        for start in ("cold", "warm"):
            rows.append(
                [
                    f"kept, {name}, {start}",
                    "0.95 / – / 0.80; ≥ 0.9 in 95 %",
                    *(of_kept(its) for its in each("joule", start, family)),
                    "",
                ]
            )
    names = [f"{benchmark['random_set']}, {benchmark['commit']}" for benchmark in benchmarks]
    return table(["", "goal", *names, "best path alone, in hindsight, of the last column"], rows)


def source(benchmark: dict) -> str:
    """The scenarios, the commit, and the date if they are sealed."""
    first, count = benchmark.get("first", 1), benchmark["scenarios_of_each"]
    sealed = benchmark["sealed"]
    return (
        f"Scenarios {first} to {first + count - 1} of each family, set {benchmark['random_set']}, "
        f"commit {benchmark['commit']}{', ' + sealed['date'] if sealed else ''}."
    )


def summary(benchmark: dict) -> str:
    """One row per policy: results relative to the limit by family, and harm."""
    families = ("f1-bulk", "f2-file", "f3-stream", "f6-mobility")
    harms = ("f4-competitors", "f5-shared", "f7-shallow")
    rows = []
    for its in benchmark["policies"]:
        is_single = its["policy"] == "single:PATH"
        name = (
            "*best path alone, in hindsight*"
            if is_single
            else its["label"] + (", warm" if its["start"] == "warm" else "")
        )
        cells = [its["families"][family]["tcp_reference"] for family in families]
        rows.append(
            [
                name,
                *(
                    f"{percent(cell['median']['mean'])} / {percent(cell['worst_10']['mean'])}"
                    for cell in cells
                ),
                *(
                    f"{percentiles(its, f, 'kept')[10]:.2f}, {percent(its['families'][f]['unharmed'])} %"
                    for f in harms
                ),
            ]
        )
    return table(["", "bulk", "files", "streams", "mobility", "beside others", "shared", "shallow"], rows)
