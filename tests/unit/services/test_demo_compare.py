"""Checks what the demo says of two sides: each row that is lost, doubled or changed, and each column of another
kind.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import Column, DateTime, Integer, MetaData, String, Table

from connect.tools.demo.verify import Comparison, compare, read_source, table_of

TABLE = Table("t", MetaData(), Column("n", Integer), Column("word", String), Column("at", DateTime))
AT = datetime(2013, 1, 1, 5, tzinfo=UTC)
ROWS = [(1, "a", AT), (2, None, AT), (3, "", None)]


def compared(rows: list[tuple[object, ...]]) -> Comparison:
    return compare("t", table_of(ROWS, TABLE), table_of(rows, TABLE))


def test_the_same_rows_in_another_order_are_equal() -> None:
    found = compared(ROWS[::-1])
    assert found.equal
    assert (found.lost_rows, found.duplicate_rows, found.nulls) == (0, 0, 2)
    assert found.source_hash == found.target_hash
    assert found.head.column("n").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "told", "lost", "doubled"),
    [
        (ROWS[:2], "3 rows became 2", 1, 0),
        ([*ROWS, ROWS[0]], "3 rows became 4", 0, 1),
        ([ROWS[0], ROWS[1], (4, "", None)], "column n: the sum 6 became 7", 1, 0),
        ([ROWS[0], (2, "", AT), (3, None, None)], "the hash over all rows", 2, 0),
        ([ROWS[0], (2, "", AT), ROWS[2]], "column word: 1 NULLs became 0", 1, 0),
        ([(1.0, "a", AT), (2.0, None, AT), (3.0, "", None)], "column n: whole number became fraction", 0, 0),
        ([(1, "a\tb", AT), ROWS[1], ROWS[2]], "the hash over all rows", 1, 0),
    ],
)
def test_each_difference_is_told(rows: list[tuple[object, ...]], told: str, lost: int, doubled: int) -> None:
    found = compared(rows)
    assert any(one.startswith(told) for one in found.differences), found.differences
    assert (found.lost_rows, found.duplicate_rows) == (lost, doubled)


def test_a_tab_in_a_value_is_no_end_of_a_column() -> None:
    words = Table("t", MetaData(), Column("a", String), Column("b", String))
    found = compare("t", table_of([("x\ty", "z")], words), table_of([("x", "y\tz")], words))
    assert found.lost_rows == 1
    null = compare("t", table_of([("\\N", None)], words), table_of([(None, "\\N")], words))
    assert null.lost_rows == 1


def test_columns_of_other_names_are_told() -> None:
    target = table_of(ROWS, TABLE).rename_columns(["n", "word", "when"])
    (told, *_) = compare("t", table_of(ROWS, TABLE), target).differences
    assert told == "columns ['n', 'word', 'at'] became ['n', 'word', 'when']"


def test_a_database_is_read_with_times_in_utc(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute("CREATE TABLE t (n INTEGER, word TEXT, at TEXT)")
        connection.execute("INSERT INTO t VALUES (1, NULL, '2013-01-01 05:00:00.000000')")
    read = read_source(tmp_path / "d.db", TABLE)
    assert read.schema.field("at").type == pa.timestamp("ms", "UTC")
    assert read.to_pylist() == [{"n": 1, "word": None, "at": AT}]
