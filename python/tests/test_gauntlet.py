"""The gauntlet from Python: the command line's numbers, and parts of one's own in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CommandLine

import joulepath as jp


def test_the_gauntlet_has_the_numbers_of_the_command_line(command_line: CommandLine) -> None:
    words = ["--family", "f2-file", "--family", "f4-competitors", "--policies", "mptcp,joule"]
    printed = json.loads(command_line("league", *words, "--warm", "joule", "--draws", "2", "--json", "-q"))
    gauntlet = jp.gauntlet(["f2-file", "f4-competitors"], ["mptcp", "joule"], warm="joule", draws=2, jobs=1)
    found = gauntlet.to_dict()
    for made in (printed, found):
        del made["command"], made["commit"]
    assert found == printed
    row = next(row for row in gauntlet if (row["policy"], row["metric"]) == ("mptcp", "limit"))
    [shown] = [row for row in printed["contenders"] if row["policy"] == "mptcp"]
    assert row["median"] == shown["families"]["f2-file"]["limit"]["median"]["mean"]
    assert {row["start"] for row in gauntlet} == {"cold", "warm"}
    assert "joule" in repr(gauntlet)
    assert gauntlet.to_csv().startswith("range,family,draw,policy")


def test_a_part_of_ones_own_runs_the_gauntlet_and_is_not_stored(tmp_path: Path) -> None:
    class Timid(jp.Controller):
        """Grows a tenth as fast as NewReno."""

        def increase(self, subflow: jp.Subflow) -> float:
            return 0.1 / subflow.cwnd_packets

    gauntlet = jp.gauntlet(["f1-bulk"], ["uncoupled", Timid()], draws=2)
    median = {row["policy"]: row["median"] for row in gauntlet if row["metric"] == "goodput"}
    assert median["timid"] < median["uncoupled"]
    with pytest.raises(jp.UsageError, match="by name only"):
        jp.gauntlet(["f1-bulk"], Timid(), runs=tmp_path / "runs.jsonl")


def test_the_gauntlet_says_what_it_does_not_run() -> None:
    with pytest.raises(jp.UsageError, match="a family of the league") as family:
        jp.gauntlet(["bulk"])
    assert "joulepath.league" in (family.value.help or "")
    with pytest.raises(jp.UsageError, match="sealed draws"):
        jp.gauntlet(range="sealed")  # type: ignore[arg-type]
    with pytest.raises(jp.UsageError, match=r"joulepath\.gauntlet"):
        jp.league(["f1-bulk"])
