"""One row that no record can hold is given up by itself, and only where it is tolerated."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector
from connectors.jdbc.values.byte_fields import Fields
from connectors.jdbc.values.unconvertible_rows import BadCells, text_of, without_bad, without_misfits


class Strict(FakeSourceContext):
    """errors.tolerance=none."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        raise ConnectError(f"Not tolerated: {next(iter(rows.values()))}")


def _read(path: Path, context: FakeSourceContext, good: int, bad: int = 0, **settings: str) -> list[int]:
    """The ids of the rows, once so many good ones have come and so many bad ones were given up, and of those behind."""
    given = {
        "connection.url": f"jdbc:sqlite:{path}", "mode": "incrementing", "incrementing.column.name": "id",
        "table.whitelist": "t", "topic.prefix": "p-", "batch.max.rows": "4", "poll.linger.ms": "60",
    }  # fmt: skip
    planned = JdbcSourceConnector(JdbcSourceConfig.parse({**given, **settings, **EVERYWHERE}))
    (config,) = planned.task_configs(1)
    task = planned.task({**config, **EVERYWHERE})
    task.open(context)
    ids: list[int] = []
    limit = Deadline.after(60)
    try:
        while True:
            are_there = len(ids) >= good and len(context.rejected) >= bad
            batch = task.poll(Deadline.after(0.3))
            if batch is not None:
                context.store.store([batch.position])
                ids += [row["id"] for row in batch.values.rows()]
            elif are_there:
                return ids
            assert not limit.expired, (ids, context.rejected)
    finally:
        task.close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, name TEXT)")
        values = [(i, "no number" if i in {3, 4, 9} else i, f"row {i}") for i in range(1, 10)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", values)
    return path


def test_each_bad_row_is_given_up_with_its_columns_as_text_and_the_others_go_on(table: Path):
    context = FakeSourceContext()
    assert _read(table, context, 6, 3) == [1, 2, 5, 6, 7, 8]
    assert [bad.record.value for bad in context.rejected] == [
        {"id": str(i), "n": "no number", "name": f"row {i}"} for i in (3, 4, 9)
    ]
    assert all(f"id={i}" in str(bad.reason) for i, bad in zip((3, 4, 9), context.rejected, strict=True))
    assert _read(table, context, 0) == []
    assert len(context.rejected) == 3, "the place is behind the last row"


def test_a_batch_with_a_row_that_is_not_tolerated_is_not_passed(table: Path):
    context = Strict()
    with pytest.raises(ConnectError, match="id=3"):
        _read(table, context, 9, **{"batch.max.rows": "2"})
    assert _read(table, FakeSourceContext(store=context.store), 4) == [5, 6, 7, 8]


def test_values_that_fit_alone_and_not_together_are_an_error_of_the_column():
    def make(values: list[int]) -> pa.Array:
        if len(values) > 1:
            raise SchemaError("the column mixes forms")
        return pa.array(values)

    bad: BadCells = {}
    with pytest.raises(SchemaError, match="mixes"):
        without_misfits([1, 2], "n", make, bad)
    assert bad == {}


def test_what_is_good_of_many_is_made_at_once():
    made: list[list[int]] = []

    def make(values: np.ndarray) -> int:
        made.append(values.tolist())
        if (values < 0).any():
            raise SchemaError(f"{values.min()} is less than 0")
        return len(values)

    count, bad = without_bad(np.array([1, -2, 3, 4, -5]), 5, lambda values, mask: values[mask], make)
    assert (count, sorted(bad), made[-1]) == (3, [1, 4], [1, 3, 4])
    assert without_bad(np.array([-1]), 1, lambda values, mask: values[mask], make)[0] is None


def test_a_value_is_text_however_it_came():
    fields = Fields(bytearray(b"ab\xff" + bytes(32)), np.array([0, 2, 0]), np.array([2, 1, -1]))
    assert [text_of(fields, row) for row in range(3)] == ["ab", "ff", None]
    assert text_of(pa.array([2**40]), 0) == str(2**40)
    assert text_of([None, 1.5], 1) == "1.5"
