"""The first steps of a new user. scripts/test-wheel.sh runs it in a fresh virtual environment.

new_user.py with-compiler | without-compiler
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
from gymnasium.utils.env_checker import check_env

import joulepath as jp
import joulepath.gym
from joulepath import plot


class Half(jp.Controller):
    """Grows half as fast as NewReno."""

    def increase(self, subflow: jp.Subflow) -> float:
        return 0.5 / subflow.cwnd_packets


def five_lines(folder: Path) -> None:
    """From nothing to a table and a figure."""
    result = jp.compare("quick", ["mptcp", "mptcp[cc=olia]", "single:wifi"], seeds=3)
    print(result)
    plot.bars(result)
    plt.savefig(folder / "efficiency.pdf")
    assert (folder / "efficiency.pdf").read_bytes().startswith(b"%PDF")


def own_class() -> None:
    """A controller in Python: no compiler is needed."""
    result = jp.compare("quick", ["mptcp", Half()], seeds=2)
    assert result["policy"] == ["mptcp", "half"], result
    print(result.python_costs[0])


def own_header(folder: Path, has_compiler: bool) -> None:
    """A controller from the template: it runs with a compiler; without one the error names it."""
    header = jp.Controller.new("mine", folder)
    if not has_compiler:
        assert shutil.which("cc") is None, "there is a compiler here"
        try:
            jp.Controller.from_c(header)
        except jp.JoulepathError as error:
            said = str(error)
        else:
            raise AssertionError("a header was compiled without a compiler")
        print(f"without a compiler: {said}")
        assert "compiler" in said
        return
    mine = jp.Controller.from_c(header)
    assert all(finding.trouble is None for finding in mine.check())
    assert jp.run("quick", mine).goodput_bps > 0


def environments() -> None:
    """The environments for learning pass gymnasium's checks."""
    for name in ("Rates", "Windows", "Paths"):
        env = gymnasium.make(f"joulepath/{name}-v0", scenario="quick")
        check_env(env.unwrapped, skip_render_check=True)


def main(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        five_lines(Path(folder))
        own_class()
        own_header(Path(folder), words == ["with-compiler"])
    environments()
    print("all well")


if __name__ == "__main__":
    main(sys.argv[1:])
