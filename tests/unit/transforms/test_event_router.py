"""EventRouter makes events of an outbox's rows, by the examples of Debezium's documentation."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from both_forms import batch_of, both, build

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.schema import Schema

MICROS = replace(s.INT64, name="io.debezium.time.MicroTimestamp", version=1)
ROW = s.struct(
    {
        "id": s.STRING, "aggregatetype": s.STRING.as_optional(), "aggregateid": s.STRING, "type": s.STRING,
        "payload": s.STRING.as_optional(), "at": MICROS.as_optional(), "part": s.INT32, "v": s.INT32,
    },
    name="shop.public.outbox.Value", optional=True,
)  # fmt: skip
EVENT = s.struct(
    {"before": ROW, "after": ROW, "op": s.STRING, "ts_ms": s.INT64}, name="shop.public.outbox.Envelope"
).as_optional()
FORMS = pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])


def row(number: int, kind: str | None, payload: str | None, **given: Any) -> dict[str, Any]:
    return {
        "id": f"e{number}", "aggregatetype": kind, "aggregateid": str(number), "type": "OrderCreated",
        "payload": payload, "at": None, "part": number, "v": 1, **given,
    }  # fmt: skip


def change(op: str, after: dict[str, Any] | None) -> dict[str, Any]:
    return {"before": None if op == "c" else row(0, "order", "old"), "after": after, "op": op, "ts_ms": 1556890294484}


def outbox(form: int, *events: Any) -> Batch:
    return replace(both(list(events), EVENT)[form], topic="shop.public.outbox", headers=None, timestamps_ms=None)


def routed(batch: Batch, **config: str) -> list[Batch]:
    made: list[Batch] = build("EventRouter", **config).apply(batch)
    return made


def told(made: list[Batch]) -> list[Any]:
    return [(r.topic, r.key, r.value, r.timestamp_ms, r.offset) for part in made for r in part.rows()]


@FORMS
def test_inserts_become_events_of_their_topics_and_all_else_is_dropped(form: int) -> None:
    made = routed(
        outbox(
            form, change("c", row(1, "order", '{"id": 1}')), change("d", None), None,
            change("r", row(2, "customer", None)), change("c", row(3, "order", "")),
        )
    )  # fmt: skip
    assert told(made) == [
        ("outbox.event.order", "1", '{"id": 1}', 1556890294484, 7),
        ("outbox.event.order", "3", "", 1556890294484, 11),
        ("outbox.event.customer", "2", None, 1556890294484, 10),
    ]
    assert made[0].headers == [(Header("id", "e1", s.STRING),), (Header("id", "e3", s.STRING),)]
    assert (made[0].values.schema, made[0].keys and made[0].keys.schema) == (s.STRING.as_optional(), s.STRING)


@FORMS
def test_the_configuration_of_the_corpus_adds_a_header(form: int) -> None:
    config = {"route.topic.replacement": "x.events", "table.fields.additional.placement": "type:header:eventType"}
    (made,) = routed(outbox(form, change("c", row(1, "order", "p")), change("c", row(2, "customer", "q"))), **config)[
        :1
    ]
    assert made.topic == "x.events"
    assert made.headers == [(Header("id", "e1", s.STRING), Header("eventType", "OrderCreated", s.STRING))]


@FORMS
def test_columns_of_the_envelope_stand_beside_the_payload(form: int) -> None:
    config = {
        "table.fields.additional.placement": "type:envelope:kind,v:envelope",
        "table.field.event.schema.version": "v",
    }
    made = routed(outbox(form, change("c", row(1, "order", "p")), change("c", row(2, "order", "q", v=2))), **config)
    assert [value for part in made for value in part.values.rows()] == [
        {"payload": "p", "kind": "OrderCreated", "v": 1}, {"payload": "q", "kind": "OrderCreated", "v": 2},
    ]  # fmt: skip
    schemas = [part.values.schema for part in made]
    fields = {"payload": s.STRING.as_optional(), "kind": s.STRING, "v": s.INT32}
    wanted: Schema = s.struct(fields, name="shop.public.outbox.order.Value")
    assert schemas == [replace(wanted, version=1), replace(wanted, version=2)]


@FORMS
def test_an_empty_payload_can_be_a_tombstone(form: int) -> None:
    events = [change("c", row(1, "order", " ")), change("c", row(2, "order", None)), change("c", row(3, "order", "p"))]
    config = {"route.tombstone.on.empty.payload": "true"}
    assert [v for part in routed(outbox(form, *events), **config) for v in part.values.rows()] == [None, None, "p"]
    config["table.fields.additional.placement"] = "v:envelope"
    (made,) = routed(outbox(form, *events), **config)
    assert made.values.rows() == [None, None, {"payload": "p", "v": 1}]


@FORMS
def test_time_key_payload_and_partition_come_from_the_columns_that_are_named(form: int) -> None:
    events = [change("c", row(1, "order", "p", at=1_700_000_000_123_999)), change("c", row(2, "order", "q"))]
    config = {
        "table.field.event.timestamp": "at", "table.field.event.key": "id", "table.field.payload": "type",
        "table.fields.additional.placement": "part:partition", "route.by.field": "aggregateid",
        "route.topic.regex": "1", "route.topic.replacement": "one",
    }  # fmt: skip
    made = routed(outbox(form, *events), **config)
    assert told(made) == [
        ("one", "e1", "OrderCreated", 1_700_000_000_123, 7), ("2", "e2", "OrderCreated", 1556890294484, 8),
    ]  # fmt: skip
    assert [part.partition for part in made] == [1, 2]


def test_updates_are_logged_and_dropped_or_refused(caplog: pytest.LogCaptureFixture) -> None:
    batch = outbox(1, change("c", row(1, "order", "p")), change("u", row(1, "order", "q")))
    with caplog.at_level(logging.WARNING):
        assert len(told(routed(batch))) == 1
        assert len(told(routed(batch, **{"table.op.invalid.behavior": "error"}))) == 1
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (level, "1 updates of the outbox in topic shop.public.outbox dropped.") for level in ("WARNING", "ERROR")
    ]
    for key in ("table.op.invalid.behavior", "debezium.op.invalid.behavior"):
        with pytest.raises(RejectedRowsError) as refused:
            routed(batch, **{key: "fatal"})
        assert list(refused.value.rows) == [1]


def test_what_is_no_change_event_passes_but_for_tombstones() -> None:
    beat = s.struct({"ts_ms": s.INT64}, name="io.debezium.connector.common.Heartbeat").as_optional()
    batch = both([{"ts_ms": 1}, None], beat)[1]
    (made,) = routed(batch)
    assert (made.topic, made.values.rows(), made.values.schema) == ("t", [{"ts_ms": 1}], beat)
    assert routed(batch_of(Column.nulls(2))) == []


def test_rows_without_a_topic_are_told_by_their_places() -> None:
    batch = outbox(1, None, change("c", row(1, None, "p")), change("c", row(2, "order", "p")), change("t", None))
    with pytest.raises(RejectedRowsError) as refused:
        routed(batch)
    assert {i: str(error) for i, error in refused.value.rows.items()} == {
        1: "An event of the outbox has no topic: aggregatetype is null.",
        3: "An event of the outbox has no topic: `after` is null.",
    }


def test_columns_that_are_missing_or_of_another_type_are_told() -> None:
    batch = outbox(1, change("c", row(1, "order", "p")))
    with pytest.raises(SchemaError, match="The outbox has no column uuid, body"):
        routed(batch, **{"table.field.event.id": "uuid", "table.field.event.payload": "body"})
    with pytest.raises(SchemaError, match="column part is of type int32, not string"):
        routed(batch, **{"route.by.field": "part"})
    with pytest.raises(SchemaError, match="column v is no time: its type is int32"):
        routed(batch, **{"table.field.event.timestamp": "v"})


def test_a_source_batch_is_partitioned_by_its_keys() -> None:
    batch = replace(outbox(1, change("c", row(1, "order", "p"))), consumed=None, partition=5)
    (made,) = routed(batch)
    assert made.partition is None
    assert made.timestamps_ms == pa.array([1556890294484])


def test_every_broken_key_is_told() -> None:
    with pytest.raises(ConfigError) as refused:
        build("EventRouter", **{
            "route.topic.regex": "(", "table.expand.json.payload": "true",
            "table.fields.additional.placement": "type,type:footer,a:header:b:c",
        })  # fmt: skip
    assert [problem.key for problem in refused.value.problems] == [
        "route.topic.regex", "table.expand.json.payload", *["table.fields.additional.placement"] * 3,
    ]  # fmt: skip
    assert "StringConverter" in str(refused.value)
