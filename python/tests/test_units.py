from __future__ import annotations

import json

import numpy as np
import pytest

import joulepath as jp
from joulepath import units
from joulepath.units import Unit

ALL = [value for value in vars(units).values() if isinstance(value, Unit)]

# A key of a scenario for each quantity, and its units.
KEYS = {
    "duration": [units.ns, units.us, units.ms, units.s, units.minutes, units.hours],
    "path.wifi.rate": [units.bps, units.kbps, units.Mbps, units.Gbps],
    "path.wifi.loss": [units.percent, units.permille, units.ppm],
    "path.wifi.queue": [units.packets],
    "receiver.buffer": [units.B, units.kB, units.MB, units.GB, units.KiB, units.MiB, units.GiB],
    "device.shared_base": [units.W, units.mW, units.uW],
    "path.wifi.energy": [units.mW_per_Mbps, units.nJ_per_bit],
}
# Values large enough for a scenario, where 1 is too small.
ENOUGH = {
    "ns": 2_000_000_000,
    "us": 2_000_000,
    "ms": 2000,
    "s": 2,
    "bit/s": 1_000_000,
    "kbit/s": 1000,
    "B": 65_536,
}


def value(key: str, unit: Unit) -> object:
    text = ENOUGH.get(unit.name, 1 if key != "receiver.buffer" else 100) * unit
    return {"per_mbps": text, "active": "1 mW"} if key == "path.wifi.energy" else text


def test_every_unit_is_one_that_scenarios_read() -> None:
    quick = jp.Scenario("quick")
    for key, known in KEYS.items():
        for unit in known:
            changed = quick.with_({key: value(key, unit)})
            assert isinstance(changed, jp.Scenario), (key, unit)
    assert sorted(map(str, ALL)) == sorted(str(unit) for known in KEYS.values() for unit in known)


def test_a_product_is_exact_for_every_type_of_number() -> None:
    assert 40 * units.Mbps == units.Mbps * 40 == "40 Mbit/s"
    assert 0.1 * units.percent == "0.1 %"
    assert float((1 / 3 * units.ms).split()[0]) == 1 / 3
    assert np.float64(2.5) * units.ms == "2.5 ms"
    assert np.int64(7) * units.packets == "7 packets"
    with pytest.raises(jp.UsageError, match="no quantity"):
        _ = float("nan") * units.W


def test_a_scenario_of_products_equals_one_of_texts() -> None:
    quick = jp.Scenario("quick")
    computed = quick.with_({"path.wifi.rate": 1.5 * units.Mbps, "path.wifi.loss": 2 * units.percent})
    written = quick.with_({"path.wifi.rate": "1500 kbit/s", "path.wifi.loss": "20 permille"})
    assert computed.to_toml() == written.to_toml()
    assert json.loads(json.dumps(3 * units.kB)) == "3 kB"
