from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CommandLine

import joulepath as jp


def test_a_new_controller_is_checked_and_runs_with_other_policies(tmp_path: Path) -> None:
    header = jp.Controller.new("pymine", tmp_path)
    mine = jp.Controller.from_c(header)
    assert (mine.name, mine.title) == ("pymine", "PYMINE (recon.)")
    assert [finding.trouble for finding in mine.check()] == [None] * 7
    result = jp.compare("quick", ["mptcp", mine.name, "mptcp[cc=pymine,weight=1]"], seeds=2)
    assert result["policy"] == ["mptcp", "pymine", "mptcp[cc=pymine,weight=1]"]
    assert "pymine" in jp.controllers()["controller"]
    with pytest.raises(FileExistsError):
        jp.Controller.new("pymine", tmp_path)


def test_with_all_of_newrenos_increase_it_is_newreno_to_the_last_bit(tmp_path: Path) -> None:
    jp.Controller.from_c(jp.Controller.new("pyreno", tmp_path))
    result = jp.compare("home-wifi-lte", ["reno", "pyreno[weight=1]", "pyreno[weight=0.1]"], seeds=3)
    goodput = [row["goodput_bps"] for row in result.runs]
    assert goodput[0:3] == goodput[3:6]
    assert goodput[0:3] != goodput[6:9]


def test_a_header_that_was_changed_is_loaded_again(tmp_path: Path) -> None:
    header = jp.Controller.new("pyagain", tmp_path)
    jp.Controller.from_c(header)
    before = jp.run("home-wifi-lte", "pyagain").goodput_bps
    header.write_text(header.read_text().replace('"weight", 500', '"weight", 20'))
    jp.Controller.from_c(header)
    assert jp.run("home-wifi-lte", "pyagain").goodput_bps < before


def test_an_error_is_reported_with_its_line(tmp_path: Path) -> None:
    header = jp.Controller.new("pywrong", tmp_path)
    good = header.read_text()
    line = next(i for i, text in enumerate(good.splitlines(), 1) if "return mpcc_scale" in text)
    header.write_text(good.replace("return mpcc_scale", "retrun mpcc_scale"))
    with pytest.raises(jp.FileError, match=rf"pywrong\.h:{line}:"):
        jp.Controller.from_c(header)
    header.write_text(good.replace("return mpcc_scale(", "return 1 / (s64)(conn->now_us & 1) + mpcc_scale("))
    wrong = [finding.trouble for finding in jp.Controller.from_c(header).check() if finding.trouble]
    assert f"pywrong.h:{line}:" in wrong[0]
    assert "division by zero" in wrong[0]


def test_other_engines_say_that_they_cannot_run_it(tmp_path: Path) -> None:
    jp.Controller.from_c(jp.Controller.new("pyfluid", tmp_path))
    with pytest.raises(jp.UnsupportedError, match="a controller of your own"):
        jp.compare("quick", "pyfluid", engine="fluid")


def test_invalid_names_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(jp.UsageError, match="not a controller name"):
        jp.Controller.new("My CC", tmp_path)
    with pytest.raises(jp.FileError, match="cannot read the controller"):
        jp.Controller.from_c(tmp_path / "nowhere.h")


def test_the_command_line_runs_it_with_the_same_numbers(command_line: CommandLine, tmp_path: Path) -> None:
    header = jp.Controller.new("pycli", tmp_path)
    printed = command_line("compare", "quick", "--cc", str(header), "-q", "--csv", "-")
    jp.Controller.from_c(header)
    policies = [*jp.Scenario("quick").policies, "pycli"]
    assert jp.compare("quick", policies).to_csv() == printed
    assert "WRONG" not in command_line("cc", "check", str(header))
