"""The examples of the guides run, each guide as one program in its order."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from conftest import ROOT

# A block of code, and optionally its output right after it.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "least"), [("python.md", 11), ("gym.md", 5), ("study.md", 5), ("own-python.md", 7)]
)
def test_the_guides_examples_run_and_print_the_shown_output(
    page: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    names: dict[str, Any] = {}
    guide = ROOT / "docs" / page
    text = guide.read_text()
    if page == "study.md":
        pytest.importorskip("distributed")
        [file] = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (tmp_path / "sweep.toml").write_text(file)
    examples = list(EXAMPLE.finditer(text))
    assert len(examples) >= least
    for example in examples:
        code, expected = example.groups()
        line = text[: example.start()].count("\n") + 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # The blank lines give tracebacks the guide's line numbers.
            exec(compile("\n" * line + code, str(guide), "exec"), names)
        assert printed.getvalue().rstrip() == (expected or "").rstrip(), f"{guide}:{line}"
    if page == "python.md":
        assert (tmp_path / "efficiency.pdf").read_bytes().startswith(b"%PDF")
    plt.close("all")


def test_the_tutorial_runs_from_its_first_cell_to_its_last(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOULEPATH_PROGRAM", str(program))
    names: dict[str, Any] = {}
    notebook = json.loads((ROOT / "examples/tutorial.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    # Outputs are stored, so that code hosts show the four figures.
    stored = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in stored) == 4
    assert all(output.get("name") != "stderr" for output in stored)
    for number, cell in enumerate(cells):
        printed = io.StringIO()
        body = ast.parse(cell, f"cell {number}").body
        # As in a notebook: the last expression is shown, unless a semicolon ends it.
        shown = body.pop() if isinstance(body[-1], ast.Expr) and not cell.rstrip().endswith(";") else None
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
            if isinstance(shown, ast.Expr):
                value = eval(compile(ast.Expression(shown.value), f"cell {number}", "eval"), names)
                assert value is None or repr(value)
        names["printed"] = printed.getvalue()
    assert len(cells) >= 10
    # The last cell ran the command line on the header.
    assert "together.h" in names["printed"]
    assert "WRONG" not in names["printed"]
    plt.close("all")
