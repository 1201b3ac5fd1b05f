"""Makes documents of records: what a bulk request says of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.documents import Documents

TP = TopicPartition("orders", 0)
ORDER = s.struct({"id": s.INT32, "price": s.decimal(18)})


def lines(values: Sequence[Any], schema: s.Schema | None = None, **keys: str) -> list[Any]:
    given = {name.replace("_", "."): value for name, value in keys.items()}
    config = SearchSinkConfig.parse({"connection.url": "http://es:9200", "key.ignore": "true", **given})
    offsets = pa.array(range(len(values)), pa.int64())
    times = pa.array([5] * len(values), pa.int64())
    batch = Batch(
        "orders", Column.from_rows(values, schema), timestamps_ms=times, consumed=Consumed(TP, offsets, len(values))
    )
    actions, bad = Documents(config).actions(batch)
    assert bad == {}
    return [line for action in actions for line in action.lines.splitlines()]


STREAM = {"data_stream_type": "logs", "data_stream_dataset": "shop"}


def test_a_document_of_a_stream_keeps_the_digits_of_its_numbers() -> None:
    row = {"id": 1, "price": Decimal("1234567890.123456789012345678")}
    action, document = lines([row], ORDER, **STREAM)
    assert json.loads(action) == {"create": {"_index": "logs-shop-orders", "_id": "orders+0+0"}}
    assert json.loads(document, parse_float=Decimal) == {"@timestamp": 5, **row}


@pytest.mark.parametrize(
    ("value", "stamp"), [({}, 5), ({"at": "noon", "b": 1}, "noon"), ({"@timestamp": 3, "b": 1}, 5)]
)
def test_a_document_of_a_stream_has_one_timestamp(value: dict[str, Any], stamp: object) -> None:
    _, document = lines([value], **STREAM, data_stream_timestamp_field="at")
    pairs = json.loads(document, object_pairs_hook=list)
    assert len(pairs) == len(dict(pairs))
    assert dict(pairs) == {**value, "@timestamp": stamp}


def test_an_instant_after_the_year_9999_is_one_bad_row() -> None:
    times = pa.array([0, 253_402_300_800_000, 1000], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    column = Column.from_arrow(pa.StructArray.from_arrays([times], ["at"]), s.struct({"at": s.TIMESTAMP_SCHEMA}))
    consumed = Consumed(TP, pa.array(range(3), pa.int64()), 3)
    whole = Column.from_arrow(times, s.TIMESTAMP_SCHEMA)
    for key_ignore, batch in {
        "true": Batch("orders", column, keys=whole, consumed=consumed),
        "false": Batch("orders", Column.from_rows([{"n": 1}] * 3, None), keys=whole, consumed=consumed),
    }.items():
        config = SearchSinkConfig.parse({"connection.url": "http://es:9200", "key.ignore": key_ignore})
        actions, bad = Documents(config).actions(batch)
        assert 1 in bad
        assert [action.row for action in actions] == ([0, 2] if key_ignore == "true" else [])


@pytest.mark.parametrize("key_ignore", ["true", "false"])
def test_documents_of_a_stream_have_ids_of_their_own(key_ignore: str) -> None:
    config = SearchSinkConfig.parse({
        "connection.url": "http://es:9200", "key.ignore": key_ignore,
        **{name.replace("_", "."): value for name, value in STREAM.items()},
    })  # fmt: skip
    keys = Column.from_rows(["k", "k", None], None)
    consumed = Consumed(TP, pa.array(range(3), pa.int64()), 3)
    actions, bad = Documents(config).actions(
        Batch("orders", Column.from_rows([{"n": 1}] * 3, None), keys, consumed=consumed)
    )
    assert bad == {}
    assert [action.document_id for action in actions] == ["orders+0+0", "orders+0+1", "orders+0+2"]
    assert b"version" not in b"".join(action.lines for action in actions)


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (7, 7), (b"12", 12), ("0", 0), (2**63 - 1, 2**63 - 1), (b"\xff", None), (float("inf"), None), (1.7, None),
        (True, None), ("1_0", None), (" 1", None), ("\u0661", None), ("-1", None), (-1, None), (2**63, None),
        ("9" * 5000, None), (None, None), ({}, None),
    ],
)  # fmt: skip
def test_a_version_is_a_whole_number(value: object, version: int | None) -> None:
    config = SearchSinkConfig.parse({"connection.url": "http://es:9200", "external.version.header": "v"})
    batch = Batch(
        "orders",
        Column.from_rows([{"n": 1}], None),
        Column.from_rows(["k"], None),
        headers=[[Header("v", value)]],
        consumed=Consumed(TP, pa.array([0], pa.int64()), 1),
    )
    actions, bad = Documents(config).actions(batch)
    told = [json.loads(action.lines.splitlines()[0])["index"]["version"] for action in actions]
    assert (told, {row: type(error) for row, error in bad.items()}) == (
        ([], {0: SchemaError}) if version is None else ([version], {})
    )


@pytest.mark.parametrize(("field", "stamp"), [("@timestamp", "5"), ("at", "1.234567890123456789012345")])
def test_a_document_with_a_timestamp_of_its_own_keeps_the_digits_of_its_numbers(field: str, stamp: str) -> None:
    text = (
        f'{{"n":123456789012345678901234567890,"d":[0.1000000000000000055511151231257827],"{field}":{stamp},"é":"\\n"}}'
    )
    schema = s.struct({"n": s.decimal(0), "d": s.array(s.decimal(34)), field: s.decimal(24), "é": s.STRING})
    row = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    _, document = lines([row], schema, **STREAM, data_stream_timestamp_field="at")
    assert json.loads(document, parse_float=str, parse_int=str) == {
        **json.loads(text, parse_float=str, parse_int=str), "@timestamp": stamp,
    }  # fmt: skip


def exploded(keys: Sequence[str], **given: str) -> tuple[list[str], dict[int, Exception]]:
    """Return the ids of documents of two records, of the first of which a transform made three rows."""
    config = SearchSinkConfig.parse({
        "connection.url": "http://es:9200", **{name.replace("_", "."): value for name, value in given.items()},
    })  # fmt: skip
    consumed = Consumed(TP, pa.array([7, 7, 7, 8], pa.int64()), 9, row_numbers=pa.array([1, 2, 3, 0], pa.int64()))
    values, times = Column.from_rows([{"n": 1}] * 4, None), pa.array([5] * 4, pa.int64())
    batch = Batch("orders", values, Column.from_rows(keys, None), timestamps_ms=times, consumed=consumed)
    actions, bad = Documents(config).actions(batch)
    # The rows have the same ids if something behind the transform parts them.
    halves = [one for half in (batch.slice(0, 2), batch.slice(2, 4)) for one in Documents(config).actions(half)[0]]
    if not bad:
        assert [one.document_id for one in halves] == [one.document_id for one in actions]
    return [action.document_id for action in actions], bad


@pytest.mark.parametrize("settings", [{"key_ignore": "true"}, STREAM])
def test_rows_of_one_record_are_documents_of_their_own(settings: dict[str, str]) -> None:
    assert exploded(["k"] * 4, **settings) == (["orders+0+7", "orders+0+7+1", "orders+0+7+2", "orders+0+8"], {})


def test_a_row_that_would_be_passed_over_for_one_of_its_own_record_is_bad() -> None:
    """The server takes one document of an id and a version."""
    ids, bad = exploded(["a", "b", "a", "a"])
    assert (ids, list(bad)) == (["a", "b", "a"], [2])
    assert "ValueToKey" in str(bad[2])
    assert exploded(["a", "b", "a", "a"], write_method="upsert") == (["a", "b", "a", "a"], {})


@pytest.mark.parametrize("method", ["insert", "upsert"])
def test_a_delete_has_a_version_where_the_other_writes_have_one(method: str) -> None:
    """A merged document's version counts its writes, so a delete with an offset could be taken for an older one."""
    config = SearchSinkConfig.parse({
        "connection.url": "http://es:9200", "write.method": method, "behavior.on.null.values": "delete",
    })  # fmt: skip
    values, keys = Column.from_rows([{"n": 1}, None], None), Column.from_rows(["k", "k"], None)
    batch = Batch("orders", values, keys, consumed=Consumed(TP, pa.array([4, 5], pa.int64()), 6))
    actions, bad = Documents(config).actions(batch)
    assert bad == {}
    heads = [json.loads(action.lines.splitlines()[0]) for action in actions]
    assert [head[action.kind].get("version") for head, action in zip(heads, actions, strict=True)] == (
        [4, 5] if method == "insert" else [None, None]
    )
    assert heads[1]["delete"]["_id"] == "k"
