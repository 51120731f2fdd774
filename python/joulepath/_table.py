"""Tables for every data frame library; none is required."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from joulepath import _joulepath

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Value = str | bool | int | float | None
"""A value of a table; None if unknown."""

_SHOWN_ROWS = 20
_DIGITS = 6


class Table:
    """Columns of equal length, with units in their names.

    Any library with the Arrow PyCapsule interface reads a table without a copy: ``pyarrow.table(t)``,
    ``polars.DataFrame(t)``, ``pandas.DataFrame.from_arrow(t)``, ``duckdb.sql("from t")``. Without such a
    library, ``t["goodput_bps_mean"]`` is a list and ``t.rows()`` a list of dicts.

    Properties are parts of a result: ``result.runs`` is a table. Methods convert: ``result.runs.rows()``.
    """

    def __init__(self, batch: _joulepath.Batch) -> None:
        self._batch = batch

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._batch.names

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, column: str) -> list[Any]:
        """Return the values of a column.

        Raises:
            KeyError: if the column does not exist.
        """
        try:
            return self._batch.column(self.columns.index(column))
        except ValueError:
            raise KeyError(
                f"there is no column {column!r}; the columns are {', '.join(self.columns)}"
            ) from None

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dicts."""
        names = self.columns
        values = [self._batch.column(index) for index in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __arrow_c_schema__(self) -> object:
        return self._batch.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame."""
        import pandas as pd

        from_arrow = getattr(pd.DataFrame, "from_arrow", None)  # since pandas 3
        frame: pd.DataFrame = self.to_arrow().to_pandas() if from_arrow is None else from_arrow(self)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame."""
        import polars as pl

        return pl.DataFrame(self)

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow Table."""
        import pyarrow as pa

        return pa.table(self)

    def __repr__(self) -> str:
        rows = [self.columns, *([_shown(value) for value in row.values()] for row in self._head())]
        columns = [
            [text.rjust(max(map(len, column))) for text in column] for column in zip(*rows, strict=True)
        ]
        fit = _fitting(columns, shutil.get_terminal_size().columns)
        lines = ["  ".join(line).rstrip() for line in zip(*columns[:fit], strict=True)]
        more = self._more()
        if fit < len(columns):
            more.append(f"… and {len(columns) - fit} more columns: {', '.join(self.columns[fit:])}")
        return _joulepath.visible("\n".join([*lines, *more]))

    def _repr_html_(self) -> str:
        def line(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "\n".join(line([_shown(value) for value in row.values()], "td") for row in self._head())
        more = "".join(f"<p>{escape(text)}</p>" for text in self._more())
        return f"<table><thead>{line(self.columns, 'th')}</thead>\n<tbody>{body}</tbody></table>{more}"

    def _head(self) -> list[dict[str, Any]]:
        return self.rows()[:_SHOWN_ROWS]

    def _more(self) -> list[str]:
        left = len(self) - _SHOWN_ROWS
        return [f"… and {left} more rows"] if left > 0 else []


def _fitting(columns: list[list[str]], width: int) -> int:
    """Number of columns that fit side by side in ``width`` characters; at least one."""
    used, fit = 0, 0
    for column in columns:
        used += len(column[0]) + 2
        if fit > 0 and used - 2 > width:
            break
        fit += 1
    return fit


def _shown(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
