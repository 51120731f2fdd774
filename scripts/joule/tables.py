"""The tables of docs/joule.md, as Markdown."""

import statistics

import numpy as np

from common import ENOUGH, NAMES, PRESETS, percentiles


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


def interval_mbps(estimate: dict) -> str:
    mean, low, high = (estimate[word] / 1e6 for word in ("mean", "lo", "hi"))
    return f"{mean:.2f} ({low:.2f}–{high:.2f})"


def seeds_of_packet(results: dict) -> str:
    more = results.get("packet_seeds", results["seeds"])
    return "" if more == results["seeds"] else f", {more} in the packet engine"


def kernel_table(results: dict) -> str:
    rows, differences = [], {"goodput_bps": [], "bits_per_joule": []}
    for row in results["rows"]:
        packet, kernel = row["packet"], row["kernel"]
        cells = []
        for key, these in differences.items():
            these.append(kernel[key]["mean"] / packet[key]["mean"] - 1)
            cells.append(f"{100 * these[-1]:+.1f} %")
        name = "; ".join(
            f"{radio}: {rate}, {delay}, {queue}, {loss}"
            for radio, (rate, delay, queue, loss) in zip(row["radios"], row["links"], strict=True)
        )
        shown = [interval_mbps(engine["goodput_bps"]) for engine in (packet, kernel)]
        second = " / ".join(f"{100 * engine['cellular']:.0f}" for engine in (packet, kernel))
        rows.append([name, *shown, *cells, second])

    def told(key: str) -> str:
        sizes = [abs(difference) for difference in differences[key]]
        return f"{100 * statistics.median(sizes):.1f} % in the median, {100 * max(sizes):.1f} % at most"

    says = (
        f"Linux {results['kernel']}, {results['seeds']} seeds{seeds_of_packet(results)}. "
        f"Difference of goodput: {told('goodput_bps')}; of bits per joule: {told('bits_per_joule')}."
    )
    head = [
        "paths: rate, delay one way, queue in packets, random loss",
        "packet engine, Mbit/s",
        "kernel, Mbit/s",
        "difference",
        "of bits per joule",
        "over the second path, %",
    ]
    return table(head, rows) + "\n\n" + says


FAMILIES = [
    ("files", "f2-file"),
    ("streams", "f3-stream"),
    ("bulk", "f1-bulk"),
    ("mobility", "f6-mobility"),
    ("a radio by its signal", "f10-signal"),
]
WITH_COMPETITORS = [
    ("beside others", "f4-competitors"),
    ("shared", "f5-shared"),
    ("shallow", "f7-shallow"),
]
OTHERS = [("several connections", "f8-within"), ("adverse", "f9-adverse"), ("equal links", "f11-alike")]


def row_of(benchmark: dict, policy: str, start: str) -> dict:
    return next(its for its in benchmark["policies"] if (its["policy"], its["start"]) == (policy, start))


def with_interval(value: dict, scale: float = 100, digits: int = 0) -> str:
    shown = [f"{scale * value[word]:.{digits}f}" for word in ("mean", "lo", "hi")]
    return f"{shown[0]} ({shown[1]}–{shown[2]})"


def goals_table(benchmark: dict) -> str:
    """Sealed scenarios, cold and warm: gains over the better baseline, then one row per other quantity."""
    of_policy = [row_of(benchmark, "joule", start) for start in ("cold", "warm")]
    starts = [its["families"] for its in of_policy]
    gains, rows = [], []
    for name, family in (*FAMILIES, *WITH_COMPETITORS, *OTHERS):
        found = [its["versus"][family] for its in of_policy]
        shown = [f"{with_interval(its['mean'], 1, 2)}; {percent(its['worse'])} %" for its in found]
        baseline = "single best" if "best" in found[0]["baseline"] else "first path"
        gains.append([f"{name}: × {baseline}", *shown])
    for name, family in FAMILIES:
        cells = [families[family]["oracle"] for families in starts]
        shown = [f"{with_interval(cell['median'])} / {with_interval(cell['worst_10'])}" for cell in cells]
        rows.append([f"{name}: % of the oracle", *shown])
    for name, family, word in (
        ("files: time ÷ the fastest path's", "f2-file", "time"),
        ("streams: p95 delay ÷ MPTCP's", "f3-stream", "time_to_mptcp"),
        ("files: energy ÷ MPTCP's", "f2-file", "energy_to_mptcp"),
    ):
        found = [families[family]["percentiles"][word] for families in starts]
        rows.append([name, *(f"{its[50]:.2f} / {its[90]:.2f}" for its in found)])
    over = [percent(families["f2-file"]["over_3_times"]) for families in starts]
    rows.append(["files over three times the fastest path's time", *(f"{value} %" for value in over)])
    for name, family in WITH_COMPETITORS:
        shown = [
            f"{percent(families[family]['unharmed'])} %; {families[family]['percentiles']['kept'][0]:.2f}"
            for families in starts
        ]
        rows.append([f"{name}: kept ≥ 0.9; worst", *shown])
    head = ["", "cold", "warm"]
    return table(head, gains) + "\n\n" + table(head, rows)


def presets_table(benchmark: dict) -> str:
    """Energy and time of files and streams with each balance: median and 90th percentile."""

    def cell(families: dict, family: str, word: str) -> str:
        found = families[family]["percentiles"][word]
        return f"{found[50]:.2f} / {found[90]:.2f}"

    rows = [
        [
            name + (", warm" if start == "warm" else ""),
            cell(families, "f2-file", "energy_to_mptcp"),
            cell(families, "f2-file", "time"),
            cell(families, "f3-stream", "energy_to_mptcp"),
            cell(families, "f3-stream", "time_to_mptcp"),
        ]
        for policy, name in PRESETS.items()
        for start in ("cold", "warm")
        for families in [row_of(benchmark, policy, start)["families"]]
    ]
    return table(
        [
            "median / worst tenth",
            "files: energy ÷ MPTCP's",
            "time ÷ the fastest path's",
            "streams: energy ÷ MPTCP's",
            "p95 delay ÷ MPTCP's",
        ],
        rows,
    )


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


def learning_table(results: dict) -> str:
    def of(values: list[float | None], worst: float) -> str:
        known = [value for value in values if value is not None]
        return f"{statistics.median(known):.2f} / {np.quantile(known, worst):.2f}"

    rows = []
    for name, family in {"files": "f2-file", "streams": "f3-stream"}.items():
        its = results["families"][family]
        train, check = its["sets"]["train"], its["sets"]["check"]
        for policy in results["order"]:
            pairs = list(zip(check[policy]["oracle"], check["joule"]["oracle"], strict=True))
            better, worse = (sum(sign * (a - b) > 0.02 * b for a, b in pairs) for sign in (1, -1))
            is_ours = policy == "joule"
            rows.append(
                [
                    f"{name}, `joule`" if is_ours else f"{name}, {policy}: {its['leaves'][policy]} leaves",
                    of(train[policy]["oracle"], 0.1),
                    of(check[policy]["oracle"], 0.1),
                    "" if is_ours else f"{better} / {worse}",
                    of(check[policy]["energy"], 0.9),
                    of(check[policy]["time"], 0.9),
                ]
            )
    return table(
        [
            "median / worst tenth",
            "train: × oracle",
            "check: × oracle",
            "2 % better / worse than `joule`",
            "energy ÷ MPTCP's",
            "time ÷ MPTCP's",
        ],
        rows,
    )
