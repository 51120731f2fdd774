#!/usr/bin/env python3
"""Fits the power of a 5G radio, by rates and signal, to the bins of results/radios.

    target/python/bin/python scripts/radios.py           # writes the tables and the errors: 25 s
    target/python/bin/python scripts/radios.py --check   # fails if the fit or the error of a bin is not as stored: 2 s
    target/python/bin/python scripts/radios.py --check --left-out   # also cross-validates

The model is P(s, d, u) = D(s, d) + U(s, u): two tables over signal and rate, bilinear between knots, constant in
the signal outside the knots, of constant slope above the last rate. D and U grow with the rate and fall with the
signal, U(s, 0) = 0. A Huber loss on the relative error is minimised over both tables, with a small penalty on
second differences where there are few bins. Cross-validation leaves out each signal bin, and each direction.
"""

import csv
import json
import os
import pathlib
import re
import statistics
import sys

# Threads make these small matrices slower, and many times slower on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINS = ROOT / "results/radios/5g-power-by-signal.csv"
ERRORS = ROOT / "results/radios/fit.json"
TABLES = ROOT / "crates/model/src/energy/radios/tables.rs"

#: Relative residuals beyond this weigh linearly.
HUBER = 0.05
#: Weight of second differences, relative to a bin.
SMOOTH = 0.02

RADIOS = {
    "SA": ("SA only", [-92.5, -87.5, -82.5, -77.5, -72.5, -65, -50], [0, 3, 13, 35, 65, 110], [0, 3, 13, 35, 52]),
    "NSA": ("NSA+LTE", [-92.5, -87.5, -82.5, -77.5, -72.5, -65, -50], [0, 10, 40, 78, 135, 300], [0, 12, 40, 75, 105]),
    "MMWAVE": (
        "mmwave CONNECTED",
        [-117.5, -112.5, -107.5, -102.5, -97.5, -92.5, -87.5, -82.5, -77.5, -72.5, -65],
        [0, 40, 75, 150, 300, 600, 1000, 1400, 2000, 2600],
        [0, 15, 40, 70, 110, 140],
    ),
}


def bins(radio):
    with BINS.open() as file:
        for row in csv.DictReader(file):
            if row["radio"] != radio:
                continue
            low, high = float(row["rsrp_dbm_from"]), float(row["rsrp_dbm_to"])
            signal = {-130: -117.5, -60: -50.0, -70: -65.0}.get(low, (low + high) / 2)
            yield {
                "signal": signal,
                "from_dbm": low,
                "to_dbm": high,
                "down": float(row["mean_down_mbps"]),
                "up": float(row["mean_up_mbps"]),
                "n": int(row["n"]),
                "mw": float(row["median_power_above_baseline_mw"]),
            }


def weights(knots, x, extend):
    """Weight of each knot in the linear interpolation at x; above the last knot on its line or constant."""
    row = np.zeros(len(knots))
    x = max(x, knots[0]) if extend else min(max(x, knots[0]), knots[-1])
    i = min(max(np.searchsorted(knots, x, side="right") - 1, 0), len(knots) - 2)
    share = (x - knots[i]) / (knots[i + 1] - knots[i])
    row[i], row[i + 1] = 1 - share, share
    return row


class Model:
    def __init__(self, signals, downs, ups):
        self.signals, self.downs, self.ups = signals, downs, ups
        self.shape = (len(signals), len(downs), len(ups))

    def row(self, point):
        signal = weights(self.signals, point["signal"], False)
        down = weights(self.downs, point["down"], True)
        up = weights(self.ups, point["up"], True)[1:]
        return np.concatenate([np.outer(signal, down).ravel(), np.outer(signal, up).ravel()])

    def index(self, table, s, r):
        n, d, u = self.shape
        return s * d + r if table == 0 else n * d + s * (u - 1) + (r - 1)

    def rules(self):
        """Pairs (smaller, larger) of parameters, None for zero; and rows of second differences."""
        n, d, u = self.shape
        pairs, bends = [], []
        for table, count in ((0, d), (1, u)):
            at = lambda s, r: None if table == 1 and r == 0 else self.index(table, s, r)
            for s in range(n):
                for r in range(count):
                    if r + 1 < count:
                        pairs.append((at(s, r), at(s, r + 1)))
                    if s + 1 < n:
                        pairs.append((at(s + 1, r), at(s, r)))
                    if 0 < s < n - 1:
                        bends.append((at(s - 1, r), at(s, r), at(s + 1, r)))
                    if 0 < r < count - 1:
                        bends.append((at(s, r - 1), at(s, r), at(s, r + 1)))
        return [p for p in pairs if p != (None, None)], [b for b in bends if b[1] is not None]

    def fit(self, points):
        n, d, u = self.shape
        size = n * d + n * (u - 1)
        mw = np.array([p["mw"] for p in points])
        # Each bin counts by the square root of its seconds: seconds of one bin are not independent.
        weight = np.sqrt([min(p["n"], 400) for p in points])
        weight /= weight.mean()
        rows = np.array([self.row(p) for p in points]) / mw[:, None]
        pairs, bends = self.rules()
        scale = np.median(mw)
        smooth = np.zeros((len(bends), size))
        for i, bend in enumerate(bends):
            for at, factor in zip(bend, (1, -2, 1)):
                if at is not None:
                    smooth[i, at] += factor * SMOOTH / scale
        order = np.zeros((len(pairs), size))
        for i, (small, large) in enumerate(pairs):
            if small is not None:
                order[i, small] = -1 / scale
            order[i, large] = 1 / scale
        x, active = np.full(size, scale), np.zeros(len(pairs), bool)
        for _ in range(300):
            rest = rows @ x - 1
            huber = np.sqrt(weight * np.minimum(1, HUBER / np.maximum(np.abs(rest), 1e-9)))
            a = np.vstack([rows * huber[:, None], smooth, order[active] * 300, np.eye(size) * 1e-7])
            b = np.concatenate([huber, np.zeros(len(smooth) + active.sum() + size)])
            x = np.linalg.lstsq(a, b, rcond=None)[0]
            active = order @ x < 1e-9
        # What the penalty left of a violation is removed exactly.
        down = x[: n * d].reshape(n, d)
        up = np.hstack([np.zeros((n, 1)), x[n * d :].reshape(n, u - 1)])
        tables = []
        for table in (down, up):
            table = np.maximum(table, 0)
            table = np.maximum.accumulate(table, axis=1)
            table = np.maximum.accumulate(table[::-1], axis=0)[::-1]
            tables.append(np.rint(table))
        return tables

    def power(self, tables, point):
        signal = weights(self.signals, point["signal"], False)
        return signal @ tables[0] @ weights(self.downs, point["down"], True) + signal @ tables[1] @ weights(
            self.ups, point["up"], True
        )


def fastest(points, key):
    """The mean rate of the fastest bin at each signal, which no bin at a weaker signal exceeds."""
    best = {}
    for point in points:
        best[point["signal"]] = max(best.get(point["signal"], 0), point[key])
    most, table = 0, []
    for signal in sorted(best):
        most = max(most, best[signal])
        table.append((signal, round(most, 1)))
    return table


def error(model, tables, points):
    return [abs(model.power(tables, p) - p["mw"]) / p["mw"] * 100 for p in points]


def validate(model, points, key):
    found = []
    for value in sorted({key(p) for p in points}):
        left_out = [p for p in points if key(p) == value]
        rest = [p for p in points if key(p) != value]
        found += error(model, model.fit(rest), left_out)
    return found


#: What is left out, and the value that bins of one part share.
LEFT_OUT = {
    "left_out_signal_percent": lambda p: p["signal"],
    "left_out_direction_percent": lambda p: p["up"] > p["down"],
}


def left_out(model, points):
    return {name: quantiles(validate(model, points, key)) for name, key in LEFT_OUT.items()}


def left_out_of(stored):
    return {name: stored[name] for name in LEFT_OUT}


def quantiles(errors):
    errors = sorted(errors)
    return {"median": round(statistics.median(errors), 1), "p90": round(errors[int(len(errors) * 0.9)], 1)}


def rust(name, model, tables, rates):
    def row(values):
        return "[" + ", ".join(f"{value:.1f}" for value in values) + "]"

    def table(values):
        return "&[\n" + "".join(f"        &{row(value)},\n" for value in values) + "    ]"

    def pairs(values):
        return "&[" + ", ".join(f"({signal:.1f}, {rate:.1f})" for signal, rate in values) + "]"

    return (
        f"pub(super) static {name}: RadioTable = RadioTable {{\n"
        f"    signals_dbm: &{row(model.signals)},\n"
        f"    down_mbps: &{row(model.downs)},\n"
        f"    up_mbps: &{row(model.ups)},\n"
        f"    down_mw: {table(tables[0])},\n"
        f"    up_mw: {table(tables[1])},\n"
        f"    fastest_down: {pairs(rates[0])},\n"
        f"    fastest_up: {pairs(rates[1])},\n"
        "};\n"
    )


#: Numbers of other machines' arithmetic may differ by the last digit.
SAME = 1.01


def same(text, stored):
    """Whether two texts differ by the last digit of numbers at most, and by what a formatter changes."""
    number, layout = re.compile(r"-?\d+(?:\.\d+)?"), re.compile(r"[\s,]+")
    words = [layout.sub("", number.sub("#", one)) for one in (text, stored)]
    near = (abs(float(a) - float(b)) < SAME for a, b in zip(number.findall(text), number.findall(stored)))
    return words[0] == words[1] and all(near)


def main():
    checks = "--check" in sys.argv
    validates = not checks or "--left-out" in sys.argv
    stored = {} if validates else json.loads(ERRORS.read_text())
    texts, report = [], {}
    for name, (radio, *knots) in RADIOS.items():
        points, model = list(bins(radio)), Model(*knots)
        tables = model.fit(points)
        errors = error(model, tables, points)
        texts.append(rust(name, model, tables, [fastest(points, "down"), fastest(points, "up")]))
        report[name.lower()] = {
            "bins": len(points),
            "seconds": sum(p["n"] for p in points),
            "fit_percent": quantiles(errors),
            **(left_out(model, points) if validates else left_out_of(stored[name.lower()])),
            "by_bin": [
                {**{k: p[k] for k in ("from_dbm", "to_dbm", "down", "up", "n", "mw")},
                 "model_mw": round(float(model.power(tables, p))), "error_percent": round(e, 1)}
                for p, e in zip(points, errors)
            ],
        }
        print(name, {k: v for k, v in report[name.lower()].items() if k != "by_bin"}, file=sys.stderr)
    head = (
        "//! Power of 5G radios by signal and rates, and the fastest rates seen at each signal. Written by\n"
        "//! `scripts/radios.py` from `results/radios`.\n\n"
        "use super::table::RadioTable;\n\n"
    )
    lines = json.dumps(report, indent=1)
    for path, text in ((TABLES, head + "\n".join(texts)), (ERRORS, lines + "\n")):
        if not checks:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not same(text, path.read_text()):
            sys.exit(f"{path.relative_to(ROOT)} is not what scripts/radios.py writes; run it")


if __name__ == "__main__":
    main()
