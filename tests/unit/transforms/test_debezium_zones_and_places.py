"""Compares TimezoneConverter, PartitionRouting and HeaderToValue with what the real classes were seen to make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from both_forms import batch_of, both, build, result

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Header
from connect.transforms.settings.debezium_config import TimezoneConverterConfig

MICROS = replace(s.INT64, name="io.debezium.time.MicroTimestamp", version=1).as_optional()
ZONED = replace(s.STRING, name="io.debezium.time.ZonedTimestamp", version=1).as_optional()
ROW = s.struct({"id": s.INT32, "us": MICROS, "zoned": ZONED, "tags": s.array(s.STRING).as_optional()}, optional=True)
SOURCE = s.struct({"table": s.STRING})
EVENT = s.struct(
    {"before": ROW, "after": ROW, "source": SOURCE, "op": s.STRING}, name="shop.orders.Envelope"
).as_optional()
FORMS = pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])
SUMMER_US = 1_720_000_000_000_000


def row(number: int, us: int | None = None, zoned: str | None = None) -> dict[str, Any]:
    return {"id": number, "us": us, "zoned": zoned, "tags": ["x"]}


def change(op: str, before: Any, after: Any, table: str = "orders") -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"table": table}, "op": op}


EVENTS = [
    change("u", row(1, SUMMER_US), row(1, SUMMER_US + 1, "2024-07-03T09:46:40.120Z")),
    change("d", row(2), None, "other"), None, change("c", None, row(3, 300_000_000_000 * 1_000_000)),
]  # fmt: skip


def made(name: str, batch: Batch, **config: str) -> list[Batch]:
    found: list[Batch] = build(name, **config).apply(batch)
    return found


@FORMS
def test_times_get_another_zone_under_the_same_schema(form: int) -> None:
    (batch,) = made("TimezoneConverter", both(EVENTS, EVENT)[form], converted_timezone="America/New_York")
    assert batch.values.schema == EVENT
    update, delete, tombstone, create = batch.values.rows()
    four_hours_us = 4 * 3600 * 10**6
    assert update["before"]["us"] == SUMMER_US + four_hours_us
    assert (update["after"]["us"], update["after"]["zoned"]) == (
        SUMMER_US + 1 + four_hours_us, "2024-07-03T05:46:40.12-04:00",
    )  # fmt: skip
    assert (delete, tombstone) == (EVENTS[1], None)
    # The year is 11476: the zone's rules are those of the same day in the last years that Python has.
    assert create["after"]["us"] - 300_000_000_000 * 10**6 in {four_hours_us, 5 * 3600 * 10**6}


@FORMS
def test_rules_choose_the_fields_of_one_table_among_several(form: int) -> None:
    events = [change("c", None, row(1, 0, "2024-01-01T00:00:00Z")), change("c", None, row(1, 0), "other")]
    config = {"converted.timezone": "+01:00", "include.list": "source:orders:us"}
    (batch,) = made("TimezoneConverter", both(events, EVENT)[form], **config)
    found = [event["after"] for event in batch.values.rows()]
    assert found == [row(1, -3_600_000_000, "2024-01-01T00:00:00Z"), row(1, 0)]


def test_a_text_that_is_no_time_is_named() -> None:
    events = both([change("c", None, row(1, None, "yesterday"))], EVENT)[0]
    with pytest.raises(SchemaError, match="'yesterday' is no time with a zone"):
        made("TimezoneConverter", events, converted_timezone="UTC")


@FORMS
def test_events_go_to_the_partition_of_their_fields_in_order(form: int) -> None:
    config = {"partition.payload.fields": "change.id,source.table", "partition.topic.num": "3"}
    batches = made("PartitionRouting", replace(both(EVENTS, EVENT)[form], partition=None), **config)
    # Java's "orders".hashCode() is -1008770331, and "other".hashCode() 106069776.
    expected = {(n + h & 0x7FFFFFFF) % 3 for n, h in ((1, -1008770331), (2, 106069776), (3, -1008770331))} | {None}
    assert {batch.partition for batch in batches} == expected
    assert sorted(offset for batch in batches for offset in batch.consumed.offsets.to_pylist()) == [7, 8, 9, 10]  # type: ignore[union-attr]


def test_a_field_without_a_hash_of_its_own_refuses_its_row() -> None:
    config = {"partition.payload.fields": "after.tags", "partition.topic.num": "3"}
    with pytest.raises(RejectedRowsError) as refused:
        made("PartitionRouting", both(EVENTS, EVENT)[0], **config)
    assert set(refused.value.rows) == {0, 3}
    assert "cannot be told by a value of type array" in str(refused.value.rows[0])


@FORMS
def test_headers_become_fields_where_rows_have_them(form: int) -> None:
    batch = replace(both(EVENTS, EVENT)[form], headers=[[Header("who", "anne", s.STRING), Header("h", 1)], [], [], []])
    config = {"headers": "who", "fields": "after.who", "operation": "move"}
    first, others = made("HeaderToValue", batch, **config)
    assert first.values.rows()[0]["after"]["who"] == "anne"
    assert [header.key for header in (first.headers or [()])[0]] == ["h"]
    assert others.values.schema == EVENT
    assert [*first.values.rows(), *others.values.rows()][1:] == EVENTS[1:]


def test_a_header_for_a_null_parent_leaves_the_row_readable() -> None:
    batch = replace(both(EVENTS[1:2], EVENT)[0], headers=[[Header("who", "anne", s.STRING)]])
    (found,) = made("HeaderToValue", batch, headers="who", fields="after.who", operation="copy")
    assert found.values.rows() == [EVENTS[1]]


def test_values_without_a_schema_take_no_headers() -> None:
    batch = replace(batch_of(Column.from_rows([{"a": 1}, {"a": 2}], None)), headers=[[Header("who", 1)], []])
    config = {"headers": "who", "fields": "who", "operation": "copy"}
    assert result(build("HeaderToValue", **config), batch) == {
        0: "Only Struct objects supported for [Header field insertion], found: java.util.LinkedHashMap"
    }


@pytest.mark.parametrize(
    ("name", "config", "key"),
    [
        ("TimezoneConverter", {"converted.timezone": "Mars/Base"}, "converted.timezone"),
        ("TimezoneConverter", {"converted.timezone": "UTC", "include.list": "orders"}, "include.list"),
        ("PartitionRouting", {"partition.payload.fields": "", "partition.topic.num": "1"}, "partition.payload.fields"),
        ("HeaderToValue", {"headers": "a,b", "fields": "c", "operation": "move"}, "fields"),
        ("HeaderToValue", {"headers": "a", "fields": "b..c", "operation": "move"}, "fields"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_their_key(name: str, config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(name, **config)
    assert [problem.key for problem in refused.value.problems] == [key]


@pytest.mark.parametrize("name", ["a/" * 20_000, "../etc/passwd", "nowhere/x"])
def test_what_is_no_zone_is_named_in_a_short_time(name: str) -> None:
    with pytest.raises(ConfigError, match="is no zone"):
        TimezoneConverterConfig.parse({"converted.timezone": name})
