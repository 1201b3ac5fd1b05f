"""Checks that ExtractChangedRecordState names what an update changed in headers, by Debezium's documentation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from both_forms import batch_of, both, build

from connect.api import schema as s
from connect.api.records import Batch, Column

ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional(), "n": s.FLOAT64.as_optional()}, optional=True)
EVENT = replace(s.struct({"before": ROW, "after": ROW, "op": s.STRING}, name="a.b.Envelope").as_optional(), version=2)
EVENTS = [
    {"before": {"id": 1, "name": "a", "n": None}, "after": {"id": 1, "name": None, "n": None}, "op": "u"},
    {"before": None, "after": {"id": 2, "name": "b", "n": 1.0}, "op": "c"},
    {"before": {"id": 2, "name": "b", "n": 1.0}, "after": None, "op": "d"},
    None,
]


def _told(batch: Batch, **config: str) -> list[dict[str, Any]]:
    (made,) = build("ExtractChangedRecordState", **config).apply(batch)
    assert made.values is batch.values
    return [{header.key: header.value for header in row if header.key != "h"} for row in made.headers or ()]


@pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])
def test_updates_alone_tell_what_they_changed(form: int):
    batch = both(EVENTS, EVENT)[form]
    both_headers = {"header_changed_name": "Changed", "header_unchanged_name": "Unchanged"}
    assert _told(batch, **both_headers) == [{"Changed": ["name"], "Unchanged": ["id", "n"]}, {}, {}, {}]
    assert _told(batch, header_unchanged_name="Same") == [{"Same": ["id", "n"]}, {}, {}, {}]
    assert _told(batch) == [{}] * 4


def test_headers_have_the_schema_that_debezium_gives_them():
    (made,) = build("ExtractChangedRecordState", header_changed_name="Changed").apply(both(EVENTS, EVENT)[0])
    assert made.headers is not None
    schema = made.headers[0][-1].schema
    assert (schema.type, schema.name, schema.optional) == (s.Type.ARRAY, "Changed", True)


def test_what_is_no_change_event_passes():
    batch = batch_of(Column.from_rows([{"before": {"a": 1}, "after": {"a": 2}}], None))
    assert build("ExtractChangedRecordState", header_changed_name="Changed").apply(batch) == [batch]
