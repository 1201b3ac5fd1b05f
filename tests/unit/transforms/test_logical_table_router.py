"""ByLogicalTableRouter routes change events of several tables into one topic, by Debezium's documentation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from both_forms import batch_of, both, build

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Schema

SHARD = "myserver.mydb.customers_shard1"
ALL = "myserver.mydb.customers_all-shards"
ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional()}, name=f"{SHARD}.Value", optional=True)
EVENT = s.struct(
    {"before": ROW, "after": ROW, "source": s.struct({"table": s.STRING}), "op": s.STRING}, name=f"{SHARD}.Envelope"
).as_optional()
KEY = replace(s.struct({"id": s.INT64}, name=f"{SHARD}.Key"), version=2)
EVENTS = [
    {"before": None, "after": {"id": 1, "name": "a"}, "source": {"table": "customers_shard1"}, "op": "c"},
    {"before": {"id": 2, "name": None}, "after": None, "source": {"table": "customers_shard1"}, "op": "d"},
    None,
]
KEYS = [{"id": 1}, {"id": 2}, {"id": 2}]
SHARDS = {"topic_regex": "(.*)customers_shard(.*)", "topic_replacement": "$1customers_all-shards"}
FORMS = pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])


def events(form: int) -> Batch:
    return replace(both(EVENTS, EVENT)[form], topic=SHARD, keys=both(KEYS, KEY)[form].values)


def routed(batch: Batch, **config: str) -> Batch:
    (made,) = build("ByLogicalTableRouter", **{**SHARDS, **config}).apply(batch)
    assert isinstance(made, Batch)
    return made


def schemas(batch: Batch) -> tuple[Schema, Schema]:
    assert batch.keys is not None
    assert batch.keys.schema is not None
    assert batch.values.schema is not None
    return batch.keys.schema, batch.values.schema


@FORMS
def test_events_go_to_the_new_topic_with_its_names_and_the_table_in_the_key(form: int) -> None:
    batch = events(form)
    made = routed(batch)
    assert made.topic == ALL
    assert list(made.values.rows()) == EVENTS
    assert made.keys is not None
    added = {"__dbz__physicalTableIdentifier": SHARD}
    assert list(made.keys.rows()) == [{**key, **added} for key in KEYS]
    key, event = schemas(made)
    assert (key.name, key.version) == (f"{ALL}.Key", 2)
    assert key.field("__dbz__physicalTableIdentifier") == s.STRING
    row = replace(ROW, name=f"{ALL}.Value")
    assert event.name == f"{ALL}.Envelope"
    assert (event.field("before"), event.field("after")) == (row, row)
    assert event.field("source") == EVENT.field("source")
    assert (made.headers, made.consumed, made.timestamps_ms) == (batch.headers, batch.consumed, batch.timestamps_ms)
    assert made.values.is_arrow == batch.values.is_arrow


@FORMS
def test_the_added_field_has_the_name_and_the_value_that_are_asked_for(form: int) -> None:
    config = {"key.field.name": "shard_id", "key.field.regex": "(.*)customers_shard(.*)"}
    made = routed(events(form), **config, **{"key.field.replacement": "$2"})
    assert made.keys is not None
    assert list(made.keys.rows()) == [{**key, "shard_id": "1"} for key in KEYS]
    other = routed(events(form), **{**config, "key.field.regex": "no such (table)", "key.field.replacement": "$1"})
    assert other.keys is not None
    assert other.keys.rows()[0]["shard_id"] == SHARD


@FORMS
def test_a_key_without_the_added_field_gets_the_new_name_alone(form: int) -> None:
    made = routed(events(form), **{"key.enforce.uniqueness": "false"})
    assert made.keys is not None
    assert list(made.keys.rows()) == KEYS
    assert schemas(made)[0] == replace(KEY, name=f"{ALL}.Key")


def test_names_of_schemas_can_be_ones_that_avro_allows() -> None:
    key, event = schemas(routed(events(1), **{"schema.name.adjustment.mode": "avro"}))
    assert (key.name, event.name) == (
        "myserver.mydb.customers_all_shards.Key",
        "myserver.mydb.customers_all_shards.Envelope",
    )
    digits = {"topic.replacement": "1st.2nd$2", "schema.name.adjustment.mode": "avro"}
    assert schemas(routed(events(1), **digits))[0].name == "_st.2nd1.Key"


def test_what_is_no_change_event_keeps_its_schema() -> None:
    beat = s.struct({"ts_ms": s.INT64}, name="io.debezium.connector.common.Heartbeat")
    made = routed(replace(both([{"ts_ms": 1}], beat)[1], topic=SHARD, keys=None))
    assert (made.topic, made.values.schema, made.keys) == (ALL, beat, None)
    maps = routed(replace(batch_of(Column.from_rows([{"op": "c"}], None)), topic=SHARD, keys=Column.nulls(1)))
    assert (maps.topic, maps.values.rows()) == (ALL, [{"op": "c"}])


def test_other_topics_and_an_empty_new_one_change_nothing() -> None:
    other = replace(events(1), topic="myserver.mydb.orders")
    assert routed(other) is other
    same = events(1)
    assert routed(same, **{"topic.regex": ".*(x?)", "topic.replacement": "$1"}) is same


@pytest.mark.parametrize(
    ("keys", "found"),
    [(Column.from_rows([{"id": 1}], None), "LinkedHashMap"), (Column.from_rows(["k"], s.STRING), "String")],
)
def test_a_key_that_is_no_struct_is_refused(keys: Column, found: str) -> None:
    batch = replace(both(EVENTS[:1], EVENT)[1], topic=SHARD, keys=keys)
    with pytest.raises(RejectedRowsError, match=rf"Only Struct objects supported for \[Updating schema\], .*{found}"):
        routed(batch)


def test_a_field_that_the_key_has_already_is_told() -> None:
    with pytest.raises(SchemaError, match="field name duplication id"):
        routed(events(1), **{"key.field.name": "id"})


def test_every_broken_key_is_told() -> None:
    wrong: dict[str, Any] = {
        "topic.regex": "(", "topic.replacement": "x", "key.field.regex": "[", "key.field.replacement": " ",
    }  # fmt: skip
    with pytest.raises(ConfigError) as refused:
        build("ByLogicalTableRouter", **wrong)
    assert [problem.key for problem in refused.value.problems] == [
        "topic.regex", "key.field.regex", "key.field.replacement",
    ]  # fmt: skip
    with pytest.raises(ConfigError) as missing:
        build("ByLogicalTableRouter", **{"schema.name.adjustment.mode": "xml"})
    assert {problem.key for problem in missing.value.problems} == {
        "topic.regex", "topic.replacement", "schema.name.adjustment.mode",
    }  # fmt: skip
