from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

import joulepath as jp


@pytest.fixture(scope="module")
def result() -> jp.Comparison:
    return jp.compare("home-wifi-lte", ["mptcp", "single:wifi"], seeds=2, series=True)


def test_every_library_reads_a_table_with_the_same_values(result: jp.Comparison) -> None:
    rows = result.rows()
    assert pa.table(result).to_pylist() == rows
    assert pl.DataFrame(result).to_dicts() == rows
    frame = result.to_pandas()
    assert list(frame.columns) == result.columns
    assert frame["goodput_bps_mean"].tolist() == result["goodput_bps_mean"]


def test_columns_have_types_and_unknown_values_are_null(result: jp.Comparison) -> None:
    table = result.to_arrow()
    assert table.schema.field("policy").type == pa.string()
    assert table.schema.field("n").type == pa.uint64()
    assert table.schema.field("deterministic").type == pa.bool_()
    assert table.schema.field("energy_j_mean").type == pa.float64()
    # The first policy has no reference, and there are no competitors.
    assert result["ratio_lo"][0] is None
    assert result["ratio_lo"][1] is not None
    assert table["competitors_bps_mean"].null_count == 2
    # The unused path has no RTT.
    assert result["lte_mean_rtt_s"][1] is None


def test_a_schema_can_be_exported_alone(result: jp.Comparison) -> None:
    assert pa.schema(result).names == result.columns


def test_a_table_is_read_without_a_copy_and_lives_as_long_as_its_reader() -> None:
    series = jp.compare("quick", "mptcp", seeds=1, series=True).series
    first, second = pa.table(series), pa.table(series)
    address = [table["goodput_bps"].chunk(0).buffers()[1].address for table in (first, second)]
    assert address[0] == address[1]
    expected = series["goodput_bps"]
    del series, second
    assert first["goodput_bps"].to_pylist() == expected


def test_an_unread_stream_is_freed(result: jp.Comparison) -> None:
    for _ in range(100):
        result.__arrow_c_stream__()
        result.__arrow_c_schema__()


def test_a_table_shows_its_head_and_counts_the_rest(
    result: jp.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    series = result.series
    lines = repr(series).splitlines()
    assert lines[0].split()[:3] == ["policy", "seed", "path"]
    assert f"… and {len(series) - 20} more rows" in lines
    assert "more columns" in lines[-1]
    assert max(map(len, lines[:-1])) <= 60
    assert "<table>" in series._repr_html_()


def test_a_missing_column_is_reported(result: jp.Comparison) -> None:
    with pytest.raises(KeyError, match="no column 'goodput'"):
        result["goodput"]


def test_an_empty_table_is_a_table() -> None:
    empty = jp.compare("quick", "mptcp", seeds=1).series
    assert (len(empty), empty.rows()) == (0, [])
    assert pa.table(empty).num_rows == 0
    assert "policy" in repr(empty)
