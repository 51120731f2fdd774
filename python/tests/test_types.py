from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_the_stubs_match_the_compiled_module() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "joulepath._joulepath", "--ignore-disjoint-bases"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "python/joulepath/py.typed").exists()
