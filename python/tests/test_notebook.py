"""Cells in a real Jupyter kernel: each figure appears in its cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

SECONDS = 600
"""Timeout of a cell on a busy machine."""


def _figures(cells: list[str], folder: Path) -> list[int]:
    """Number of pictures in each cell."""
    # It has no types.
    v4: Any = nbformat.v4
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()

    def pictures(cell: Any) -> int:
        return sum("image/png" in output.get("data", {}) for output in cell.outputs)

    return [pictures(cell) for cell in notebook.cells]


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # Backends set by pytest or a shell are not Jupyter's.
    monkeypatch.delenv("MPLBACKEND", raising=False)


def test_all_figures_of_the_tutorial_appear_followed_by_the_users_own(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOULEPATH_PROGRAM", str(program))
    tutorial = json.loads((ROOT / "examples/tutorial.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in tutorial["cells"] if cell["cell_type"] == "code"]
    own = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    figures = _figures([*cells, own], tmp_path)
    wanted = [int("plot." in cell) for cell in cells]
    assert sum(wanted) == 4
    assert figures == [*wanted, 1]


@pytest.mark.parametrize(
    "first",
    [
        # The kernel's first figure is created inside the style, by joulepath or by the user.
        "plot.bars(result);",
        "with plot.style():\n    plt.plot([1, 2])",
        "plt.figure(); plt.plot([1, 2]); plot.bars(result);",
    ],
)
def test_a_first_figure_in_paper_style_keeps_later_figures(first: str, tmp_path: Path) -> None:
    begin = (
        "import matplotlib.pyplot as plt\nimport joulepath as jp\nfrom joulepath import plot\n"
        'result = jp.compare("quick", ["mptcp"], seeds=2, progress=False)'
    )
    later = ["plt.plot([1, 2]);", "plot.bars(result);", "plt.plot([2, 1]);"]
    figures = _figures([begin, first, *later], tmp_path)
    assert figures == [0, 2 if "figure" in first else 1, 1, 1, 1]
