"""Checks what transforms do to a batch as a whole: topics, offsets, positions, tombstones, declarations."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Consumed, Header, SourcePosition, TopicPartition
from connect.plugins.catalog import Catalog
from connect.runtime.records.chain import Link, apply_chain
from connect.transforms.plugin import connect_plugins

PLUGINS = {p.name.rpartition(".")[2]: p for p in connect_plugins()}
DAY_MS = 86_400_000
SCHEMA = s.struct({"id": s.INT64, "note": s.STRING.as_optional()}, optional=True)


def build(name: str, /, **config: str) -> Any:
    settings = {key.replace("__", "."): value for key, value in config.items()}
    return Catalog.load(PLUGINS[name])(PLUGINS[name].config.parse(settings))


def sink_batch(times: list[int | None], rows: list[Any] | None = None) -> Batch:
    rows = rows if rows is not None else [{"id": i, "note": None} for i in range(len(times))]
    offsets = pa.array(range(10, 10 + len(times)), pa.int64())
    column = Column.from_arrow(Column.from_rows(rows, SCHEMA).arrow(), SCHEMA)
    consumed = Consumed(TopicPartition("t", 0), offsets, 10 + len(times))
    return Batch("t", column, timestamps_ms=pa.array(times, pa.int64()), partition=0, consumed=consumed)


def test_rows_of_several_days_become_batches_in_order_of_first_appearance_with_their_offsets() -> None:
    made = build("TimestampRouter").apply(sink_batch([DAY_MS, 0, DAY_MS + 5, -1, 1]))
    assert [b.topic for b in made] == ["t-19700102", "t-19700101", "t-19691231"]
    assert [b.consumed.offsets.to_pylist() for b in made] == [[10, 12], [11, 14], [13]]
    assert [[r["id"] for r in b.values.rows()] for b in made] == [[0, 2], [1, 4], [3]]


def test_a_split_source_batch_keeps_its_position_on_every_part() -> None:
    position = SourcePosition({"file": "a"}, {"line": 3})
    column = Column.from_rows([{"id": 1, "note": None}, {"id": 2, "note": None}], SCHEMA)
    batch = Batch("t", column, timestamps_ms=pa.array([0, DAY_MS], pa.int64()), position=position)
    assert [b.position for b in build("TimestampRouter").apply(batch)] == [position, position]


def test_only_the_rows_without_a_timestamp_are_rejected() -> None:
    with pytest.raises(RejectedRowsError) as caught:
        build("TimestampRouter").apply(sink_batch([0, None, 1]))
    assert list(caught.value.rows) == [1]


def test_routing_to_another_topic_keeps_where_the_rows_were_read() -> None:
    (made,) = build("RegexRouter", regex="(.)", replacement="$1-copy").apply(sink_batch([0, 1]))
    assert made.topic == "t-copy"
    assert made.consumed.topic_partition == TopicPartition("t", 0)


def test_filter_with_a_predicate_drops_tombstones_only_and_keeps_the_others_offsets() -> None:
    batch = sink_batch([0, 1, 2], [{"id": 0, "note": "a"}, None, {"id": 2, "note": "b"}])
    link = Link("filter", build("Filter"), build("RecordIsTombstone"))
    made = apply_chain([link], batch, lambda *_: pytest.fail("nothing is rejected"))
    assert [b.consumed.offsets.to_pylist() for b in made] == [[10, 12]]


def test_tombstones_among_structs_stay_tombstones() -> None:
    batch = sink_batch([0, 1], [{"id": 0, "note": "a"}, None])
    (made,) = build("InsertField$Value", static__field="s", static__value="v").apply(batch)
    assert list(made.values.rows()) == [{"id": 0, "note": "a", "s": "v"}, None]
    assert made.values.is_arrow


@pytest.mark.parametrize("form", ["rows", "columns"])
@pytest.mark.parametrize("side", ["Key", "Value"])
def test_a_hoisted_tombstone_is_a_map_whatever_is_read_with_it(side: str, form: str) -> None:
    required = SCHEMA.as_optional(False)
    rows = [None, {"id": 1, "note": "a"}, {"id": 2, "note": None}, None, None]
    column = Column.from_rows(rows, required)
    column = column if form == "rows" else Column.from_arrow(column.arrow(), required)
    batch = replace(sink_batch([0] * 5), **({"keys": column} if side == "Key" else {"values": column}))
    made = build(f"HoistField${side}", field="f").apply(batch)
    found = [one.keys if side == "Key" else one.values for one in made]
    assert [row for one in found for row in one.rows()] == [{"f": row} for row in rows]
    assert [one.schema is None for one in found] == [True, False, True]
    assert [one.consumed.offsets.to_pylist() for one in made] == [[10], [11, 12], [13, 14]]
    assert [one.consumed.next_offset for one in made] == [11, 13, 15]


def test_a_hoisted_null_of_a_source_is_a_bad_row() -> None:
    batch = Batch("t", Column.from_rows([{"id": 1, "note": None}, None], SCHEMA.as_optional(False)))
    with pytest.raises(RejectedRowsError, match="null used for required field"):
        build("HoistField$Value", field="f").apply(batch)


@pytest.mark.parametrize("form", ["rows", "columns"])
@pytest.mark.parametrize("side", ["Key", "Value"])
def test_a_tombstone_lacks_no_field_whatever_is_read_with_it(side: str, form: str) -> None:
    column = Column.from_rows([None, {"id": 1, "note": "a"}, None], SCHEMA)
    column = column if form == "rows" else Column.from_arrow(column.arrow(), SCHEMA)
    batch = replace(sink_batch([0] * 3), **({"keys": column} if side == "Key" else {"values": column}))
    transform = build(f"ExtractField${side}", field="missing")
    with pytest.raises(RejectedRowsError, match="Unknown field: missing") as refused:
        transform.apply(batch)
    assert list(refused.value.rows) == [1]
    (made,) = transform.apply(batch.without([1]))
    found = made.keys if side == "Key" else made.values
    assert (found.rows(), found.schema) == ([None, None], None)


def test_a_null_of_a_source_lacks_a_field_that_its_schema_lacks() -> None:
    batch = Batch("t", Column.from_rows([{"id": 1, "note": None}, None], SCHEMA))
    with pytest.raises(SchemaError, match="Unknown field: missing"):
        build("ExtractField$Value", field="missing").apply(batch)


def test_the_default_of_a_struct_is_converted_with_its_rows() -> None:
    at = s.Schema(s.Type.INT64, name=s.TIMESTAMP)
    default = {"at": datetime(2023, 11, 14, tzinfo=UTC), "n": None}
    schema = replace(s.struct({"at": at, "n": s.INT32.as_optional()}), default=default)
    batch = Batch("t", Column.from_rows([{"at": datetime(1970, 1, 1, tzinfo=UTC), "n": 1}], schema))
    config = {"field": "at", "target__type": "string", "format": "yyyy-MM-dd"}
    (made,) = build("TimestampConverter$Value", **config).apply(batch)
    assert made.values.rows() == [{"at": "1970-01-01", "n": 1}]
    assert made.values.schema.default == {"at": "2023-11-14", "n": None}
    assert made.values.schema.field("at") == s.STRING


def test_headers_are_found_dropped_and_added_per_row() -> None:
    rows = Column.from_rows([1, 2], s.INT64)
    batch = Batch("t", rows, headers=[[Header("a", 1, s.INT8)], []])
    assert build("HasHeaderKey", name="a").test(batch).to_pylist() == [True, False]
    (made,) = build("InsertHeader", header="b", value__literal="5").apply(
        build("DropHeaders", headers="a").apply(batch)[0]
    )
    assert [list(row) for row in made.headers] == [[Header("b", 5, s.INT8)]] * 2


def test_columns_stay_columns_through_renames_and_insertions() -> None:
    batch = sink_batch([0, 1])
    (made,) = build("ReplaceField$Value", renames="id:key").apply(batch)
    assert made.values.is_arrow
    before, after = batch.values.arrow().field(0), made.values.arrow().field(0)
    assert before.buffers()[1].address == after.buffers()[1].address


def test_declarations_have_the_keys_types_and_defaults_of_kafka() -> None:
    path = Path(__file__).parents[2] / "fixtures" / "connect-golden" / "configdefs-transforms.jsonl"
    for case in map(json.loads, path.read_text().splitlines()):
        plugin = next(p for p in connect_plugins() if p.name == case["class"])
        found = [
            (k.name, k.type, k.required, k.default or None, k.importance, k.width)
            for k in plugin.config.definitions()
            if not k.internal  # ours, which REST clients do not see
        ]
        keys = ("name", "type", "required", "default_value", "importance", "width")
        expected = [tuple(key[name] for name in keys) for key in case["keys"]]
        assert found == [(n, t, r, d or None, i, w) for n, t, r, d, i, w in expected], case["id"]
        assert plugin.version == case["version"]


def test_listing_the_plugins_imports_no_arrow() -> None:
    code = "import sys, connect.transforms.plugin as p; p.connect_plugins(); print('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
