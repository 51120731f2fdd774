"""The joules of recorded traffic."""

import json
from pathlib import Path

import pytest

import joulepath as jp


def har(path: Path) -> Path:
    """One request whose answer arrives over 50 ms."""
    entry = {
        "startedDateTime": "2026-11-30T09:00:00Z",
        "time": 100,
        "request": {"method": "GET", "url": "https://example.org/a", "headersSize": 300, "bodySize": 0},
        "response": {"headersSize": 200, "bodySize": 9000},
        "timings": {"send": 0, "wait": 50, "receive": 50},
    }
    path.write_text(json.dumps({"log": {"entries": [entry]}}))
    return path


def test_a_bill_has_the_numbers_of_the_command(tmp_path: Path) -> None:
    bill = jp.bill(har(tmp_path / "page.har"), "lte-2021", device="2 W", waits=["30 s"])
    (interface,) = bill["interfaces"]
    assert (interface["interface"], interface["radio"], interface["wakes"]) == ("network", "lte-2021", 1)
    (request,) = bill["requests"]
    assert (request["host"], request["down_bytes"], request["up_bytes"]) == ("example.org", 9200, 300)
    parts = sum(request[part] for part in ("promotion_j", "transfer_j", "tail_j", "base_j"))
    assert bill["energy_j"] == pytest.approx(parts)
    assert request["base_j"] > 2 * 10  # the tail of LTE takes more than ten seconds
    assert [later["longest_s"] for later in bill["later"]] == [30, 30]


def test_an_interface_without_a_radio_is_named(tmp_path: Path) -> None:
    with pytest.raises(jp.UsageError, match="the interface `network` has no radio"):
        jp.bill(har(tmp_path / "page.har"), {})
