"""Unpickling of results."""

from __future__ import annotations

from typing import Any

from joulepath import _joulepath


def restored(name: str, state: Any) -> Any:
    """Return the object of the compiled class ``name`` with the pickled ``state``."""
    return getattr(_joulepath, name).restore(state)
