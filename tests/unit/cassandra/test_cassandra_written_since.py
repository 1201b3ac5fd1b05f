"""Checks which rows of a page were written since a moment, and writetimes that only grow."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from connectors.cassandra.cql.cql_types import CqlType, parse_type
from connectors.cassandra.cql.pages import Cells
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.sink.writer import Writetimes
from connectors.cassandra.source.written_since import WrittenSince

TABLE = Table(
    UUID(int=1), "ks", "t", [TableColumn("k", CqlType("int"))],
    regular=[TableColumn("v", CqlType("text")), TableColumn("tags", parse_type("set<text>", {}))],
)  # fmt: skip


def cells(*values: bytes | None) -> Cells:
    sizes = np.array([-1 if value is None else len(value) for value in values], np.int64)
    starts = np.cumsum(np.maximum(sizes, 0)) - np.maximum(sizes, 0)
    return Cells(b"".join(value or b"" for value in values), starts, sizes)


def time(at_us: int) -> bytes:
    return at_us.to_bytes(8, "big")


def times(*at_us: int) -> bytes:
    return len(at_us).to_bytes(4, "big") + b"".join(b"\0\0\0\x08" + time(at) for at in at_us)


def test_a_row_counts_when_anything_in_it_is_new() -> None:
    since = WrittenSince(TABLE, 100, element_times=True)
    assert since.more == ', writetime("tags"), writetime("v")'
    tags = cells(None, times(50, 99), times(50, 100), None, None)
    values = cells(time(99), time(99), time(99), time(100), None)
    # The last one is nothing but its key, of which no time is told.
    assert since.rows([tags, values], 5).tolist() == [2, 3, 4]


def test_every_row_counts_where_not_all_times_are_told() -> None:
    since = WrittenSince(TABLE, 100, element_times=False)
    assert since.more == ', writetime("v")'
    assert since.rows([cells(time(1), time(1))], 2).tolist() == [0, 1]


def test_writetimes_only_grow() -> None:
    given = Writetimes()
    found = [given.next() for _ in range(5000)]
    assert sorted(set(found)) == found
