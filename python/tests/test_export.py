"""An exported network as a C header gives numpy's numbers, within the integers' resolution."""

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joulepath as jp
import joulepath.gym as jg
from joulepath._export import _body

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "crates/joulepath/tests/kernel/cc/exported_head.h"
Layers = list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]


def network(paths: int, units: int, seed: int = 1, unseen: bool = True) -> Layers:
    """Random weights, with sums about as large as a trained network's."""
    rng = np.random.default_rng(seed)
    w1 = rng.normal(size=(units, 9 * paths + 3)) / 2
    if unseen:
        w1[:, [*range(8, 9 * paths, 9), 9 * paths + 1, 9 * paths + 2]] = 0
    return [(w1, rng.normal(size=units)), (rng.normal(size=(paths, units)) / 4, rng.normal(size=paths) / 4)]


def compiled(header: Path) -> ctypes.CDLL:
    """The functions inside the header, to be called."""
    name, upper = header.stem, header.stem.upper()
    shim = header.with_suffix(".c")
    shim.write_text(
        f"""
        #include "mpcc_run.h"
        #include "{header}"
        s32 act(const s32 *x, u32 self);
        s32 act(const s32 *x, u32 self)
        {{
            struct {name}_input input;
            for (u32 i = 0; i < {upper}_INPUTS; i++) input.x[i] = x[i];
            return {name}_act(&input, self);
        }}
        void see(const u32 (*subs)[7], u32 n, u32 interval_us, s32 *x);
        void see(const u32 (*subs)[7], u32 n, u32 interval_us, s32 *x)
        {{
            struct mpcc_conn conn = {{ .n = n }};
            struct {name}_input input;
            for (u32 k = 0; k < n; k++) {{
                struct mpcc_subflow *sub = &conn.sub[k];
                sub->flags = subs[k][0] ? MPCC_ESTABLISHED : 0;
                sub->own.word[{upper}_RATE] = subs[k][1];
                sub->srtt_us = subs[k][2];
                sub->own.base_rtt_us = subs[k][3];
                sub->own.word[{upper}_LOSS] = subs[k][4];
                sub->own.word[{upper}_IN_FLIGHT] = subs[k][5];
                sub->cwnd = subs[k][6];
            }}
            {name}_see(&conn, &input, interval_us);
            for (u32 i = 0; i < {upper}_INPUTS; i++) x[i] = input.x[i];
        }}
        u64 steer(u64 target, s32 action);
        u64 steer(u64 target, s32 action) {{ return {name}_steer(target, action); }}
        """,
        encoding="utf-8",
    )
    library = header.with_suffix(".so")
    command = [
        os.environ.get("CC") or "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-I",
        str(ROOT / "cc"),
        "-o",
        str(library),
        str(shim),
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize(
    ("paths", "units", "activation"), [(1, 1, "tanh"), (2, 32, "tanh"), (3, 20, "relu"), (4, 64, "tanh")]
)
def test_header_and_network_agree_on_random_observations(
    tmp_path: Path, paths: int, units: int, activation: str
) -> None:
    layers = network(paths, units)
    (w1, b1), (w2, b2) = layers
    words: Any = {"paths": paths, "activation": activation}
    act = compiled(jg.export(tmp_path / "agree.h", layers, "joulepath/Windows-v0", **words)).act
    # Inputs are rounded to 2^-14, weights to 2^-16; the tables are linear within 1/32, where tanh'' < 0.77.
    sums = np.abs(w1).sum(axis=1) * 2**-15 + (w1.shape[1] + 1) * 2**-17 + 2**-15
    hidden = sums + 2**-14 + 0.77 / 8 / 32**2
    largest = 1 if activation == "tanh" else np.abs(w1).sum(axis=1).max() + np.abs(b1).max()
    most = np.abs(w2) @ hidden + units * largest * 2**-17 + 2**-15
    assert np.all(most < 0.02)
    rng = np.random.default_rng(2)
    actions = []
    for _ in range(300):
        seen = rng.random(w1.shape[1])
        inputs = (ctypes.c_int32 * len(seen))(*np.rint(seen * 2**14).astype(int))
        units_of = w1 @ seen + b1
        units_of = np.tanh(units_of) if activation == "tanh" else np.maximum(units_of, 0)
        wanted = np.clip(w2 @ units_of + b2, -1, 1)
        found = np.array([act(inputs, path) for path in range(paths)]) / 2**16
        assert np.all(np.abs(found - wanted) <= most), (found, wanted)
        actions.append(wanted)
    assert np.std(actions) > 0.01


def test_the_header_has_the_environments_observations(tmp_path: Path) -> None:
    see = compiled(jg.export(tmp_path / "sees.h", network(3, 4), "joulepath/Windows-v0", paths=3)).see
    rng = np.random.default_rng(3)
    for _ in range(200):
        magnitude = 10 ** rng.uniform(0, [1, 9.4, 7, 7, 4, 5, 6], (2, 7))
        subs = np.ascontiguousarray(magnitude * rng.integers(0, 4, (2, 7)).clip(0, 1), np.uint32)
        interval_us = int(10 ** rng.uniform(0, 7))
        found = (ctypes.c_int32 * 30)()
        see(subs.ctypes.data_as(ctypes.c_void_p), 2, interval_us, found)

        def scaled(x: float, unit: float, octaves: float) -> float:
            return min(float(np.log2(1 + x / unit)) / octaves, 1.0)

        wanted: list[float] = []
        for opened, rate, srtt, least, loss, in_flight, window in subs.tolist():
            wanted += [1, opened > 0, scaled(rate, 10e3, 17), scaled(srtt, 1e3, 13), scaled(least, 1e3, 13)]
            wanted += [loss / 2**14, scaled(in_flight, 1, 14), scaled(window, 1, 14), 0]
        wanted += [0] * 9 + [scaled(interval_us, 1e3, 13), 0, 0]
        assert np.array(found) / 2**14 == pytest.approx(np.array(wanted), abs=1.5e-4)


@pytest.mark.parametrize(
    ("environment", "least", "most"), [("Windows-v0", 1.0, 16384.0), ("Rates-v0", 8e3, 125e6)]
)
def test_actions_have_the_same_effect_as_in_the_environment(
    tmp_path: Path, environment: str, least: float, most: float
) -> None:
    for action in ("relative", "absolute"):
        words: Any = {"paths": 2, "action": action}
        header = jg.export(tmp_path / f"{action[:3]}.h", network(2, 4), f"joulepath/{environment}", **words)
        steer = compiled(header).steer
        steer.argtypes, steer.restype = [ctypes.c_uint64, ctypes.c_int32], ctypes.c_uint64
        for a in np.linspace(-1, 1, 41):
            for now in np.geomspace(least, most, 7):
                wanted = now * 2**a if action == "relative" else least * (most / least) ** ((a + 1) / 2)
                found = steer(round(now * 2**16), round(a * 2**16)) / 2**16
                assert found == pytest.approx(np.clip(wanted, least, most), rel=5e-4)


def test_an_exported_policy_passes_every_check_and_runs(tmp_path: Path) -> None:
    for environment in ("joulepath/Windows-v0", "joulepath/Rates-v0"):
        name = f"pol{environment[10:14].lower()}"
        header = jg.export(tmp_path / f"{name}.h", network(2, 16), environment, paths=2)
        assert [finding for finding in jp.Controller.from_c(header).check() if finding.trouble] == []
    # Only a bias of 0: the middle between 1 and 16384 packets, 128.
    layers = network(2, 4)
    layers[1] = (np.zeros((2, 4)), np.zeros(2))
    header = jg.export(tmp_path / "middle.h", layers, "joulepath/Windows-v0", paths=2, action="absolute")
    jp.Controller.from_c(header)
    windows = jp.run("quick", "middle", seed=1).series.to_polars()["cwnd_packets"].to_list()
    assert windows.count(128) > len(windows) / 2


def test_networks_that_cannot_be_exported_are_refused(tmp_path: Path) -> None:
    def refused(says: str, layers: Layers, environment: str = "joulepath/Windows-v0", **words: Any) -> None:
        file = tmp_path / words.pop("file", "no.h")
        with pytest.raises(jp.UsageError, match=says):
            jg.export(file, layers, environment, **{"paths": 2, **words})
        assert not file.exists()

    good = network(2, 4)
    refused("the network uses 'power'", network(2, 4, unseen=False))
    refused("the network uses 'left'", network(2, 4, unseen=False), fixed={"power": 0})
    refused("are fixed, from 0 to 1", good, fixed={"power": 2})
    refused("are fixed, from 0 to 1", good, fixed={"rtt": 0.5})
    refused("w1 has the shape", network(3, 4))
    refused("w1 has numbers beyond", [(good[0][0] * 1e6, good[0][1]), good[1]])
    refused("w1 has numbers beyond", [(good[0][0] * np.nan, good[0][1]), good[1]])
    refused("1 to 64", network(2, 65))
    refused("one hidden layer", good[:1])
    refused("use 1 to 4", network(5, 4), paths=5)
    refused("policies of 'joulepath/Paths-v0'", good, "joulepath/Paths-v0")
    refused("is 'relative' or 'absolute'", good, action="both")
    refused("not a controller name", good, file="My policy.h")


def test_the_kernel_tests_header_is_the_exported_one(tmp_path: Path) -> None:
    """JOULEPATH_BLESS=1 rewrites it."""
    inputs = np.arange(16 * 21).reshape(16, 21)
    w1 = (inputs * 7 % 33 - 16) / 16
    w2 = (np.arange(32).reshape(2, 16) * 5 % 17 - 8) / 16
    fixed = {"power": 0.5, "left": 1, "time": 0}
    layers = [(w1, np.arange(16) / 16), (w2, np.array([0.25, -0.25]))]
    header = jg.export(tmp_path / "exported.h", layers, "joulepath/Rates-v0", paths=2, fixed=fixed)
    body = _body("exported")
    if os.environ.get("JOULEPATH_BLESS"):
        FIXTURE.write_text(header.read_text().removesuffix(body))
    assert header.read_bytes() == (FIXTURE.read_text() + body).encode()
