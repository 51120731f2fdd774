from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, CommandLine

import joulepath as jp

TWO: dict[str, Any] = {
    "title": "Two radios",
    "duration": "2 s",
    "paths": {
        "wifi": {"rate": "40 Mbit/s", "delay": "10 ms", "queue": "150 packets", "energy": "wifi-huang2012"},
        "lte": {"rate": "20 Mbit/s", "delay": "25 ms", "queue": "300 packets", "energy": "lte-huang2012"},
    },
    "workload": {"kind": "file", "size": "1 MB"},
    "compare": {"policies": ["mptcp", "single:wifi"], "seeds": 3},
}


def test_a_shipped_scenario_a_file_and_a_text_are_equal() -> None:
    file = ROOT / "scenarios/quick.toml"
    shipped, opened = jp.Scenario("quick"), jp.Scenario(file)
    assert shipped == opened == jp.Scenario.from_toml(file.read_text())
    assert shipped.sha256 == opened.sha256
    assert (shipped.name, opened.name) == ("quick", str(file))
    assert "quick" in jp.scenarios()


def test_a_scenario_is_built_from_dicts() -> None:
    built = jp.Scenario.build(**TWO)
    assert (built.title, built.duration_s, built.paths) == ("Two radios", 2.0, ["wifi", "lte"])
    assert (built.policies, built.seeds) == (["mptcp", "single:wifi"], 3)
    assert "Two radios" in repr(built)
    # The first link is the first path's downlink.
    assert built.to_dict()["links"][0]["rate"] == {"constant": "40 Mbit/s"}


def test_a_written_scenario_loads_as_an_equal_one() -> None:
    for name in ["quick", "home-wifi-lte", "papers/001-3g-wlan"]:
        shipped = jp.Scenario(name)
        assert jp.Scenario.from_toml(shipped.to_toml()) == shipped


def test_to_toml_equals_the_output_of_show(command_line: CommandLine) -> None:
    shown = command_line("show", "home-wifi-lte", "--set", "workload.size=1 MB", "--variant", "200MB")
    assert (
        jp.Scenario("home-wifi-lte").with_variant("200MB").with_({"workload.size": "1 MB"}).to_toml() == shown
    )


def test_setting_keys_does_not_change_the_original() -> None:
    quick = jp.Scenario("quick")
    changed = quick.with_({"path.wifi.loss": "2 %", "compare.policies": ["olia"]}, duration="3 s")
    assert (changed.duration_s, changed.policies) == (3.0, ["olia"])
    assert (quick.duration_s, quick.policies) == (1.0, ["uncoupled", "mptcp"])
    assert changed.with_(duration="4 s").duration_s == 4.0


def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    assert jp.Scenario("quick").with_(title="5").title == "5"
    assert jp.Scenario("quick").with_(title='a "quoted" \\ line\n').title == 'a "quoted" \\ line\n'


def test_keys_have_priority_over_variants() -> None:
    home = jp.Scenario("home-wifi-lte")
    assert home.variants == ["1MB", "200MB", "radios2012"]
    small = home.with_({"duration": "9 s"}).with_variant("1MB")
    assert (small.variant, small.duration_s) == ("1MB", 9.0)
    with pytest.raises(jp.UsageError, match="has no variant `2MB`"):
        home.with_variant("2MB")


def test_errors_have_positions_and_fixes() -> None:
    text = (ROOT / "scenarios/quick.toml").read_text()
    wrong = text.replace('"10 Mbit/s"', '"10 fish"').replace("duration =", "duraton =")
    with pytest.raises(jp.ScenarioError) as caught:
        jp.Scenario.from_toml(wrong, name="mine.toml")
    problems = {problem.line: problem for problem in caught.value.problems}
    lines = wrong.splitlines()
    assert "duraton" in problems[lines.index('duraton = "1 s"') + 1].message
    fish = problems[lines.index('rate = "10 fish"') + 1]
    # The value starts in the eighth column: `rate = `.
    assert (fish.column, "fish" in fish.message) == (8, True)
    assert "did you mean `duration`" in str(caught.value)
    assert "mine.toml:" in str(caught.value)
    assert jp.Scenario.problems(wrong) == caught.value.problems
    assert jp.Scenario.problems(text) == ()


def test_the_message_equals_the_command_lines(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('title = "x"\nduration = "1 fish"\n')
    said = subprocess.run([program, "show", file], capture_output=True, text=True).stderr
    with pytest.raises(jp.ScenarioError) as caught:
        jp.Scenario(file)
    assert str(caught.value) == said.rstrip("\n")


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"title": 5},
        {"paths": {"wifi": {"rate": None}}},
        {"paths": {"wifi": "fast"}},
        {"paths": 5},
        {"title": {"a": object()}},
        {"duration": float("nan")},
        {"path": [{"name": "a"}] * 9},
        {"duration": "1e400 s"},
        {"nothing": "known"},
        {"title": "x", "compare": {"seeds": -1}},
        {"compare": {"seeds": 2**70}},
    ],
)
def test_wrong_tables_are_reported_and_never_panic(wrong: dict[str, Any]) -> None:
    with pytest.raises(jp.UsageError) as caught:
        jp.Scenario.build(**wrong)
    assert not isinstance(caught.value, jp.Defect)


@pytest.mark.parametrize(
    "keys", [{"": 1}, {"path.none.loss": "1 %"}, {"path..loss": 1}, {"a" * 500: 1}, {"x\n=": 1}]
)
def test_wrong_keys_are_reported_and_never_panic(keys: dict[str, object]) -> None:
    with pytest.raises(jp.UsageError):
        jp.Scenario("quick").with_(keys)


def test_an_unknown_scenario_is_refused(tmp_path: Path) -> None:
    with pytest.raises(jp.UsageError, match="did you mean `quick`"):
        jp.Scenario("quikc")
    with pytest.raises(jp.UsageError, match="is a folder"):
        jp.Scenario(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(jp.FileError, match="not UTF-8"):
        jp.Scenario(tmp_path / "binary.toml")


def test_a_file_name_need_not_be_utf8(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.toml")
    file.write_text((ROOT / "scenarios/quick.toml").read_text(), encoding="utf-8")
    assert jp.Scenario(file).paths == ["wifi", "lte"]
    assert jp.Scenario(str(file)).name.endswith("caf\N{REPLACEMENT CHARACTER}.toml")


def test_a_scenario_survives_pickling(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text((ROOT / "scenarios/quick.toml").read_text())
    changed = jp.Scenario(file).with_(duration="3 s")
    pickled = pickle.dumps(changed)
    file.unlink()
    again = pickle.loads(pickled)
    assert (again, again.name, again.duration_s) == (changed, str(file), 3.0)
    shipped = jp.Scenario("home-wifi-lte").with_variant("1MB")
    again = pickle.loads(pickle.dumps(shipped))
    assert (again, again.name, again.variant) == (shipped, "home-wifi-lte", "1MB")


def test_the_schema_knows_the_paths() -> None:
    assert "path" in jp.schema()["properties"]


def test_control_characters_are_shown_visibly_and_stored_unchanged() -> None:
    text = jp.Scenario("quick").to_toml()
    odd = jp.Scenario.from_toml(text.replace('title = "', 'title = "\\u001b]0;owned\\u0007\\u202e', 1))
    assert odd.title.startswith("\x1b]0;owned\x07\u202e")
    result = jp.compare(odd, ["mptcp"], seeds=1, progress=False)
    for shown in [repr(odd), repr(result)]:
        assert "␛]0;owned␇<U+202E>" in shown
        assert "\x1b" not in shown
    with pytest.raises(jp.UsageError) as error:
        jp.compare(odd, ["no\x1b[2Jthing"])
    assert "\x1b" not in str(error.value)
