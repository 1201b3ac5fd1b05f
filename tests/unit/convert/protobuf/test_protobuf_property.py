"""Any rows that Protobuf has a place for survive it, and protobuf's own runtime reads and writes the same bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proto_codec import NULLABLE, compiled, decoded, encoded, peer, rows_of

from connect.api import schema as s
from connect.api.time_types import TIME_TYPES
from connect.convert.protobuf.from_connect import proto_text
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.protobuf.to_connect import connect_of
from connect.testing.equality import difference
from connect.testing.strategies import TYPE_CASES, scalar_schemas, struct_schemas, values

pytestmark = pytest.mark.thorough

FEW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _json_names_differ(schema: s.Schema) -> bool:
    """protoc refuses fields that JSON would call the same, as `_a` and `A`."""
    names = [name.replace("_", "").lower() for name in schema.field_index]
    inner = [f.schema.items or f.schema for f in schema.fields]
    return len(set(names)) == len(names) and all(_json_names_differ(part) for part in inner)


def _required(schema: s.Schema) -> s.Schema:
    return schema.as_optional(False)


_scalars = scalar_schemas()
_lists = st.builds(s.array, _scalars.map(_required))
_maps = st.builds(s.map_of, st.sampled_from([s.STRING, s.INT32, s.INT64]), _scalars.map(_required))
_messages = struct_schemas(_scalars | _lists | _maps).map(_required)
_roots = (
    struct_schemas(_scalars | _lists | _maps | _messages | st.builds(s.array, _messages))
    .map(_required)
    .filter(_json_names_differ)
)


@st.composite
def messages(draw: st.DrawFn) -> tuple[s.Schema, list[Any]]:
    schema = draw(_roots)
    return schema, draw(st.lists(values(schema), min_size=1, max_size=5))


@FEW
@given(messages())
def test_rows_come_back_and_protobuf_reads_and_writes_the_same_bytes(case: tuple[s.Schema, list[Any]]) -> None:
    schema, rows = case
    text = proto_text(schema, NULLABLE)
    message = compiled(text).first
    data = encoded(schema, rows, message=message)
    _, array, failures = decoded(message, data)
    assert failures == {}
    assert difference(rows, rows_of(array)) is None
    kind = peer(text, message.name)
    for row in data:
        parsed = kind.FromString(row)
        again = parsed.SerializeToString(deterministic=True)
        # A map's entries have no order, so only their length is sure.
        assert again == row if "map<" not in text and "Entry" not in text else len(again) == len(row)


WITHOUT_NULLS_IN_LISTS = [
    name for name, case in TYPE_CASES.items() if case.schema.items is None or not case.schema.items.optional
]
"""Protobuf has no null in a list."""


@pytest.mark.parametrize("name", WITHOUT_NULLS_IN_LISTS)
def test_edge_values_come_back(name: str) -> None:
    case = TYPE_CASES[name]
    rows = [{"v": value} for value in case.values]
    schema = s.struct({"v": case.schema})
    message = compiled(proto_text(schema, NULLABLE)).first
    _, array, failures = decoded(message, encoded(schema, rows, message=message))
    assert failures == {}
    assert difference(rows, rows_of(array)) is None


def test_debeziums_types_of_times_come_back_with_their_names() -> None:
    members = {f"v{i}": schema.as_optional(i % 2 == 0) for i, schema in enumerate(TIME_TYPES.values())}
    lists = {"list": s.array(TIME_TYPES["MicroTime"]), "map": s.map_of(s.STRING, TIME_TYPES["ZonedTimestamp"])}
    for settings_given in (NULLABLE, ProtobufSettings(wrapper_for_nullables=True)):
        read = connect_of(compiled(proto_text(s.struct({**members, **lists}), settings_given)).first, settings_given)
        for name, schema in members.items():
            found = read.field(name)
            assert (found.type, found.name, found.version) == (schema.type, schema.name, 1)
        assert read.field("list").items.name == TIME_TYPES["MicroTime"].name
        assert read.field("map").items.name == TIME_TYPES["ZonedTimestamp"].name


@FEW
@given(st.lists(st.binary(max_size=30), max_size=8), _roots)
def test_foreign_bytes_fail_their_rows_or_are_values(data: list[bytes], schema: s.Schema) -> None:
    _, array, failures = decoded(compiled(proto_text(schema, NULLABLE)).first, data)
    assert len(array) == len(data)
    assert set(failures) <= set(range(len(data)))
    array.validate(full=True)
