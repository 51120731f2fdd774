"""The examples of the guides, each guide in its order as one program."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from conftest import ROOT

# A block of code, and perhaps what it prints right after it.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "least"), [("python.md", 11), ("gym.md", 5), ("study.md", 4)])
def test_the_guides_examples_run_and_print_what_stands_there(
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
            # The blank lines give tracebacks the guide's own line numbers.
            exec(compile("\n" * line + code, str(guide), "exec"), names)
        assert printed.getvalue().rstrip() == (expected or "").rstrip(), f"{guide}:{line}"
    if page == "python.md":
        assert (tmp_path / "efficiency.pdf").read_bytes().startswith(b"%PDF")
    plt.close("all")
