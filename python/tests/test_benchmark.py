"""The benchmark from Python: the command line's numbers, and your own parts in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CommandLine

import joulepath as jp


def test_ranked_families_are_those_of_the_command_line(command_line: CommandLine) -> None:
    said = json.loads(command_line("benchmark", "--quick", "--json", "-q", "--family", "bulk"))
    ranked = jp.benchmark(["bulk"], quick=True, progress=False)
    assert ranked.to_dict()["policies"] == said["policies"]
    assert ranked["policy"] == [row["policy"] for row in said["policies"]]
    scores = [row["overall"].get("score") for row in said["policies"]]
    assert ranked["score"] == [score and score["mean"]["mean"] for score in scores]


def test_random_families_have_the_numbers_of_the_command_line(command_line: CommandLine) -> None:
    words = ["--family", "f2-file", "--family", "f4-competitors", "--policies", "mptcp,joule"]
    more = ["--warm", "joule", "--scenarios", "2", "--json", "-q"]
    printed = json.loads(command_line("benchmark", *words, *more))
    benchmark = jp.benchmark(
        ["f2-file", "f4-competitors"], ["mptcp", "joule"], warm="joule", scenarios=2, jobs=1
    )
    found = benchmark.to_dict()
    for made in (printed, found):
        del made["command"], made["commit"]
    assert found == printed
    row = next(row for row in benchmark if (row["policy"], row["metric"]) == ("mptcp", "tcp_reference"))
    [shown] = [row for row in printed["policies"] if row["policy"] == "mptcp"]
    assert row["median"] == shown["families"]["f2-file"]["tcp_reference"]["median"]["mean"]
    assert {row["start"] for row in benchmark} == {"cold", "warm"}
    assert "joule" in repr(benchmark)
    assert benchmark.to_csv().startswith("random_set,family,scenario,policy")


def test_your_own_part_runs_and_is_not_stored(tmp_path: Path) -> None:
    class Timid(jp.Controller):
        """Grows a tenth as fast as NewReno."""

        def increase(self, subflow: jp.Subflow) -> float:
            return 0.1 / subflow.cwnd_packets

    benchmark = jp.benchmark(["f1-bulk"], ["uncoupled", Timid()], scenarios=2)
    median = {row["policy"]: row["median"] for row in benchmark if row["metric"] == "goodput"}
    assert median["timid"] < median["uncoupled"]
    with pytest.raises(jp.UsageError, match="only by name"):
        jp.benchmark(["f1-bulk"], Timid(), runs=tmp_path / "runs.jsonl")


def test_requests_that_cannot_run_are_refused() -> None:
    with pytest.raises(jp.UsageError, match="measured in different ways"):
        jp.benchmark(["bulk", "f1-bulk"])
    with pytest.raises(jp.UsageError, match="sealed scenarios") as sealed:
        jp.benchmark(random="sealed")  # type: ignore[arg-type]
    assert "--sealed-log" in (sealed.value.help or "")
    with pytest.raises(jp.UsageError, match="is for random families"):
        jp.benchmark(["bulk"], warm="joule")
