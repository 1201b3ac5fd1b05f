"""Rows that tell when their values were written, and what a copy makes of them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from cassandra.policies import RetryPolicy
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage, ServerError
from cassandra.query import PreparedStatement

from connect.api.errors import SchemaError
from connect.api.records import Record
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import Cells
from connectors.cassandra.cql.retries import NextNodeRetries, write_statement
from connectors.cassandra.cql.statements import as_long
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.sink.table_rows import TableRows
from connectors.cassandra.source.write_times import WriteTimes

INT, TEXT = CqlType("int"), CqlType("text")
TABLE = Table(
    UUID(int=1), "ks", "t", [TableColumn("k", INT)], [TableColumn("c", TEXT)], [TableColumn("s", TEXT)],
    [TableColumn("tags", CqlType("set", (TEXT,))), TableColumn("v", INT), TableColumn("w", INT),
     TableColumn("chunk", TEXT)],
)  # fmt: skip
KEY = {"k": 1, "c": "a"}
INSERT, UPDATE = 'INSERT INTO "ks"."t" ', 'UPDATE "ks"."t" USING TIMESTAMP ? AND TTL ? SET '
USING = "USING TIMESTAMP ? AND TTL ?"


def statements(row: dict[str, Any], chunk: str | None = None) -> list[tuple[str, list[Any], bool]]:
    rows = TableRows(TABLE, skip_nulls=False, chunk_column="" if chunk is None else "chunk")
    return [(w.text, w.bound(999), w.is_row) for w in rows.writes(Record("t", value=row), chunk)]


def test_each_time_of_a_row_is_a_statement_of_its_own() -> None:
    row = {
        **KEY, "v": 7, "writetime(v)": 50, "ttl(v)": None, "w": 8, "writetime(w)": 60, "ttl(w)": 100,
        "tags": ["x"], "writetime(tags)": 50, "ttl(tags)": None, "s": "S", "writetime(s)": 70, "ttl(s)": 5,
    }  # fmt: skip
    assert statements(row) == [
        (f'{INSERT}("k", "c", "tags", "v") VALUES (?, ?, ?, ?) {USING}', [1, "a", ["x"], 7, 50, 0], True),
        (f'{INSERT}("k", "c", "w") VALUES (?, ?, ?) {USING}', [1, "a", 8, 60, 100], False),
        # No part of the row: else it would be as new as its partition's values.
        (f'{UPDATE}"s" = ? WHERE "k" = ?', [70, 5, "S", 1], False),
    ]


def test_nulls_are_not_written_and_a_row_of_its_key_alone_is_written_now() -> None:
    nothing = {"v": None, "writetime(v)": None, "ttl(v)": None}
    assert statements({**KEY, **nothing}) == [(f'{INSERT}("k", "c") VALUES (?, ?) {USING}', [1, "a", 999, 0], True)]


def test_a_value_of_which_no_time_is_told_is_as_new_as_the_newest() -> None:
    row = {**KEY, "v": 7, "writetime(v)": 50, "ttl(v)": 9, "w": 8}
    assert statements(row) == [
        (f'{INSERT}("k", "c", "v", "w") VALUES (?, ?, ?, ?) {USING}', [1, "a", 7, 8, 50, 9], True)
    ]


@pytest.mark.parametrize(("ttls", "lives_s"), [((10, 20), 20), ((10, None), 0)])
def test_the_mark_of_a_chunk_lives_as_long_as_the_row(ttls: tuple[int | None, ...], lives_s: int) -> None:
    row = {**KEY, "v": 7, "writetime(v)": 50, "ttl(v)": ttls[0], "w": 8, "writetime(w)": 60, "ttl(w)": ttls[1]}
    *_, mark = statements(row, "job/1")
    assert mark == (f'{UPDATE}"chunk" = ? WHERE "k" = ? AND "c" = ?', [999, lives_s, "job/1", 1, "a"], False)


def test_a_tombstone_between_timed_rows_deletes_as_of_its_records_time() -> None:
    rows = TableRows(TABLE, skip_nulls=False, is_by_records=True, chunk_column="chunk")
    (deletion,) = rows.writes(Record("t", key=KEY, timestamp_ms=7))
    assert deletion.bound(999) == [7000, 1, "a"], "a row that was written since has a later time and lives"
    nothing = {"v": None, "writetime(v)": None, "ttl(v)": None}
    found = rows.writes(Record("t", value={**KEY, **nothing}, timestamp_ms=8), "job/1")
    assert [write.bound(999)[:-1] for write in found] == [[1, "a", 8000], [8000, 0, "job/1", 1]]
    with pytest.raises(SchemaError, match="does not tell when it was written"):
        rows.writes(Record("t", value={**KEY, "v": 7}, timestamp_ms=9))


@pytest.mark.parametrize("is_tombstone_first", [True, False])
def test_tombstones_of_now_and_timed_rows_have_no_order(is_tombstone_first: bool) -> None:
    records = [Record("t", key=KEY), Record("t", value={**KEY, "v": 7, "writetime(v)": 50})]
    rows = TableRows(TABLE, skip_nulls=False)
    first, second = records if is_tombstone_first else records[::-1]
    assert rows.writes(first)
    with pytest.raises(SchemaError, match=r"delete\.times=record"):
        rows.writes(second)


LISTS = replace(TABLE, regular=[TableColumn("l", CqlType("list", (INT,))), *TABLE.regular])


def test_a_list_is_written_at_the_moment_of_sending_and_makes_no_row_of_its_own() -> None:
    row = {**KEY, "v": 7, "writetime(v)": 50, "ttl(v)": None, "l": [1, 2], "writetime(l)": 60, "ttl(l)": 9}
    found = TableRows(LISTS, skip_nulls=False).writes(Record("t", value=row))
    assert [(w.text, w.bound(999), w.is_repeatable) for w in found] == [
        (f'{INSERT}("k", "c", "v") VALUES (?, ?, ?) {USING}', [1, "a", 7, 50, 0], True),
        # With the time of the row a second writing would leave 1, 2, 1, 2.
        (f'{UPDATE}"l" = ? WHERE "k" = ? AND "c" = ?', [999, 9, [1, 2], 1, "a"], False),
    ]
    alone = {**KEY, "l": [1], "writetime(l)": 60, "ttl(l)": None}
    marked, _ = TableRows(LISTS, skip_nulls=False).writes(Record("t", value=alone))
    assert (marked.text, marked.bound(999)) == (f'{INSERT}("k", "c") VALUES (?, ?) {USING}', [1, "a", 60, 0])


def test_a_tombstone_as_of_its_records_time_deletes_lists_now() -> None:
    found = TableRows(LISTS, skip_nulls=False, is_by_records=True).writes(Record("t", key=KEY, timestamp_ms=7))
    assert [(write.text, write.bound(999)) for write in found] == [
        ('DELETE FROM "ks"."t" USING TIMESTAMP ? WHERE "k" = ? AND "c" = ?', [7000, 1, "a"]),
        ('DELETE "l" FROM "ks"."t" USING TIMESTAMP ? WHERE "k" = ? AND "c" = ?', [999, 1, "a"]),
    ]


@pytest.mark.parametrize(("elements", "is_repeatable"), [([1], False), (None, True)])
def test_a_row_with_elements_of_a_list_is_not_sent_twice_by_the_driver(
    elements: list[int] | None, is_repeatable: bool
) -> None:
    (write,) = TableRows(LISTS, skip_nulls=False).writes(Record("t", value={**KEY, "l": elements}))
    assert write.is_repeatable is is_repeatable
    prepared = PreparedStatement([], b"id", [], write.text, "ks", 5, [], b"")
    policy = write_statement(prepared, [], is_repeatable=write.is_repeatable).retry_policy or NextNodeRetries()
    decision, _ = policy.on_request_error(None, 1, error=ConnectionError(), retry_num=0)
    assert (decision == RetryPolicy.RETRY_NEXT_HOST) is is_repeatable


@pytest.mark.parametrize(
    ("error", "is_next"),
    [
        (OverloadedErrorMessage(0x1001, "overloaded", None), True),
        (IsBootstrappingErrorMessage(0x1002, "bootstrapping", None), True),
        (ServerError(0x0000, "it broke", None), False),
        (ConnectionError("closed"), False),
    ],
)
def test_a_list_goes_to_another_node_where_the_first_one_has_certainly_written_nothing(
    error: Exception, is_next: bool
) -> None:
    prepared = PreparedStatement([], b"id", [], "INSERT", "ks", 5, [], b"")
    policy = write_statement(prepared, [], is_repeatable=False).retry_policy
    decision, _ = policy.on_request_error(None, 6, error=error, retry_num=0)
    assert decision == (RetryPolicy.RETRY_NEXT_HOST if is_next else RetryPolicy.RETHROW)
    assert policy.on_unavailable(None, 6, 2, 1, retry_num=0)[0] == RetryPolicy.RETRY_NEXT_HOST
    assert policy.on_write_timeout(None, 6, "SIMPLE", 2, 1, retry_num=0)[0] == RetryPolicy.RETHROW


def test_static_values_alone_make_no_row() -> None:
    row = {"k": 1, "c": None, "s": "S", "writetime(s)": 70, "ttl(s)": None, "writetime(v)": None}
    assert statements(row, "job/1") == [(f'{UPDATE}"s" = ? WHERE "k" = ?', [70, 0, "S", 1], False)]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({**KEY, "writetime(other)": 5}, "no column other.*renamed as well"),
        ({**KEY, "v": 1, "writetime(v)": "5"}, r"writetime\(v\).*A str is no time"),
    ],
)
def test_times_that_are_none_are_refused(row: dict[str, Any], text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        statements(row)


def test_a_column_of_such_a_name_is_a_column() -> None:
    table = Table(UUID(int=1), "ks", "t", [TableColumn("k", INT)], regular=[TableColumn("ttl(v)", INT)])
    (write,) = TableRows(table, skip_nulls=False).writes(Record("t", value={"k": 1, "ttl(v)": 5}))
    assert write.text == 'INSERT INTO "ks"."t" ("k", "ttl(v)") VALUES (?, ?) USING TIMESTAMP ?'


def cells(*values: bytes | None) -> Cells:
    sizes = [-1 if value is None else len(value) for value in values]
    starts = np.cumsum([0, *(max(size, 0) for size in sizes[:-1])])
    return Cells(b"".join(value or b"" for value in values), starts.astype(np.int64), np.array(sizes, np.int64))


def numbers(*values: int | None, form: str = ">q") -> bytes:
    found = [None if value is None else struct.pack(form, value) for value in values]
    return struct.pack(">i", len(found)) + b"".join(
        struct.pack(">i", -1 if part is None else len(part)) + (part or b"") for part in found
    )


def test_fields_tell_the_newest_write_of_a_column_and_how_long_it_lives() -> None:
    wanted = [column for column in TABLE.columns if column.name in {"k", "tags", "v"}]
    times = WriteTimes(TABLE, wanted, 11, element_times=True)
    assert times.more == ', writetime("tags"), ttl("tags"), writetime("v"), ttl("v")'
    assert [field.name for field in times.fields] == ["writetime(tags)", "ttl(tags)", "writetime(v)", "ttl(v)"]
    made = times.arrays(
        [],
        [
            cells(numbers(5, 7), numbers(5, None, 6), None), cells(numbers(3, 4, form=">i"), None, None),
            cells(as_long(8), None, as_long(9)), cells(struct.pack(">i", 60), None, None),
        ],
    )  # fmt: skip
    assert [array.to_pylist() for array in made] == [[7, 6, None], [4, None, None], [8, None, 9], [60, None, None]]


def test_where_the_server_does_not_tell_of_elements_they_are_as_old_as_the_reading() -> None:
    tags = [column for column in TABLE.columns if column.name == "tags"]
    times = WriteTimes(TABLE, tags, 11, element_times=False)
    assert times.more == ""
    columns = [cells(b"x", None) for _ in TABLE.columns]
    assert [array.to_pylist() for array in times.arrays(columns, [])] == [[11, None], [None, None]]
