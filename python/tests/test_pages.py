"""scripts/pages.py: measured tables between git and the site."""

from __future__ import annotations

import datetime
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

TABLE = "3 seeds.\n\n| | a\\|b |\n|---|---:|\n| x | 1 |\n"
OUTPUT = "reno\n\ncubic\n"


def page(table: str, output: str) -> str:
    return (
        f"# Page\n\n<!-- some: begin -->\n{table}<!-- some: end -->\n\n"
        f"```console\n$ joulepath list\n{output}```\n"
    )


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, for a repository with one page."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    module = importlib.import_module("pages")
    results = tmp_path / "results"
    places = {
        "ROOT": tmp_path,
        "DOCS": tmp_path / "docs",
        "RESULTS": results,
        "TABLES": results / "tables",
        "CONSOLE": results / "console",
        "OUTPUT_STORED": {"page.md"},
        "WITHOUT_WIFI": {"some"},
    }
    for name, place in places.items():
        monkeypatch.setattr(module, name, place)
    monkeypatch.setattr(module.made, "RESULTS", results)
    monkeypatch.setattr(module.made, "MADE", results / "made.json")
    results.mkdir()
    (results / "made.json").write_text("{}")
    (results / "hashes.txt").write_text("# comment\npacket quick mptcp 1\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text(page(TABLE, OUTPUT))
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nnav:\n  - Home: page.md\n")
    (tmp_path / "CONTRIBUTING.md").write_text("# Contributing\n")
    return module


def test_tables_and_output_are_stored_and_the_page_has_the_first_rows(pages: ModuleType) -> None:
    file = pages.DOCS / "page.md"
    rows = [f"| {row} | 1 |\n" for row in range(pages.MOST_ROWS + 1)]
    table = TABLE + "".join(rows[1:])
    file.write_text(page(table, OUTPUT))
    pages.keep(file)
    assert pages.stored("some") == table
    assert json.loads((pages.CONSOLE / "page.json").read_text()) == {"$ joulepath list": OUTPUT.splitlines()}
    kept = file.read_text()
    assert TABLE + "".join(rows[1:-1]) in kept
    assert rows[-1] not in kept
    assert "*Cut: " in kept
    assert f"*Measured on {datetime.date.today()} with the present engines.*" in kept
    assert OUTPUT in kept
    assert pages.check()
    pages.keep(file)
    assert file.read_text() == kept
    assert pages.stored("some") == table
    assert pages.cut(file, page(table, OUTPUT)) == kept


def test_a_table_of_earlier_engines_says_so(pages: ModuleType) -> None:
    file, hashes = pages.DOCS / "page.md", pages.RESULTS / "hashes.txt"
    pages.keep(file)
    before = pages.made.engines()
    hashes.write_text("# other comment\npacket quick mptcp 1\n")
    assert pages.made.engines() == before
    hashes.write_text("packet quick mptcp 2\n")
    said = f"*Measured on {datetime.date.today()} with earlier engines ({before}): [what has changed since]"
    assert said in pages.cut(file, file.read_text())


def test_a_table_needs_a_statement_about_its_radio(
    pages: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages.keep(pages.DOCS / "page.md")
    monkeypatch.setattr(pages, "WITHOUT_WIFI", set())
    assert not pages.check()
    assert "docs/page.md has some: add it to WITH_WIFI or WITHOUT_WIFI" in capsys.readouterr().err
    scenario = pages.ROOT / "some.toml"
    scenario.write_text('energy = "lte-huang2012"')
    monkeypatch.setattr(pages, "WITH_WIFI", {"some": "some.toml"})
    assert not pages.check()
    scenario.write_text('energy = "wifi-huang2012"')
    assert pages.check()


def test_a_part_that_exceeds_its_budget_is_refused(
    pages: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    file = pages.DOCS / "page.md"
    pages.keep(file)
    assert pages.check()
    file.write_text(file.read_text() + "word " * pages.BUDGET["Home"])
    assert not pages.check()
    assert "Home exceeds its budget" in capsys.readouterr().err


def test_stored_tables_have_as_many_cells_in_each_row() -> None:
    tables = sorted((ROOT / "results/tables").glob("*.json"))
    assert len(tables) > 10
    for file in tables:
        for part in json.loads(file.read_text()):
            assert isinstance(part, str) or len({len(row) for row in part}) == 1, file
