"""Progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from joulepath._errors import UsageError

Progress = Callable[[int, int, str | None], object]
"""Called with runs done, total runs, and a note or None."""

_PATIENCE_S = 1.0


class Bar:
    """A tqdm bar, in a terminal or in a notebook."""

    def __init__(self, tqdm: Any, delay_s: float) -> None:
        self._tqdm = tqdm
        self._delay_s = delay_s
        self._bar: Any = None

    def __call__(self, done: int, runs: int, note: str | None) -> None:
        """Show the progress and the note."""
        if note is not None:
            self._tqdm.write(f"note: {note}", file=sys.stderr)
        if self._bar is None or self._bar.total != runs:
            self.close()
            self._bar = self._tqdm(total=runs, unit="run", delay=self._delay_s)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


def chosen(progress: bool | Progress | None) -> Progress | None:
    """Return the function to call: the user's own, a bar, or None.

    A bar by default is shown only in a terminal or notebook, and only after a while.
    """
    if callable(progress):
        return progress
    if progress is False:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress is True:
            raise UsageError("there is no progress bar without tqdm", "pip install tqdm") from None
        return None
    if progress is True:
        return Bar(tqdm, 0.0)
    return Bar(tqdm, _PATIENCE_S) if sys.stderr.isatty() or "ipykernel" in sys.modules else None


def finish(progress: Progress | None) -> None:
    """End a bar."""
    if isinstance(progress, Bar):
        progress.close()
