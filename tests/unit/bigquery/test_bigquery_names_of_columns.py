"""Checks fields and columns of one name in other letters: keys, orders and deletes mean the table's columns, in each
mode.
"""

from __future__ import annotations

from typing import Any

import pytest
from bigquery_single_records import Record, make, service_of, write
from plain_bigquery import PlainBigQuery


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    service = service_of(monkeypatch)
    make(service, Id="INTEGER", Version="INTEGER", Name="STRING")
    return service


def row(number: int, version: int, name: str) -> Record:
    return {"id": number}, {"id": number, "version": version, "name": name}


def shown(service: PlainBigQuery, mode: str) -> list[tuple[Any, ...]]:
    rows = service.rows("orders" if mode == "merge" else "orders_latest")
    return sorted((row["Id"], row["Name"]) for row in rows if not row.get("_deleted"))


MODES = [
    {"dedup.mode": "merge"},
    {"dedup.mode": "merge", "dedup.delete": "soft"},
    {"dedup.mode": "compact", "dedup.compact.interval.ms": "0"},
    {"dedup.mode": "compact", "dedup.delete": "soft"},
    {"dedup.mode": "view"},
]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_order_counts_though_its_column_has_other_letters(service, mode):
    write(
        [row(1, 5, "new"), row(1, 3, "old"), row(2, 1, "old"), row(2, 2, "new")],
        **{"dedup.order.by": "version"},
        **mode,
    )
    assert shown(service, mode["dedup.mode"]) == [(1, "new"), (2, "new")]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_tombstone_deletes_though_the_column_of_its_key_has_other_letters(service, mode):
    write([row(1, 5, "new"), row(2, 1, "kept"), ({"id": 1}, None)], **mode)
    assert shown(service, mode["dedup.mode"]) == [(2, "kept")]


@pytest.mark.parametrize("key", [{}, {"kafkaKeyFieldName": "record_key"}], ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_order_may_be_a_field_of_the_key_whether_keys_are_stored_or_not(service, mode, key):
    given = [({"id": 1, "seq": 9}, {"id": 1, "name": "new"}), ({"id": 1, "seq": 4}, {"id": 1, "name": "old"})]
    write(given, **{"dedup.order.by": "__key.seq"}, **mode, **key)
    assert shown(service, mode["dedup.mode"]) == [(1, "new")]


@pytest.mark.parametrize("mode", [{"dedup.mode": "merge"}, {"dedup.mode": "view"}], ids=str)
def test_members_whose_names_are_sanitized_keep_their_values(monkeypatch, mode):
    service = service_of(monkeypatch)
    value = {"id": 1, "place": {"x-y": 5, "deep": {"1st": 6}}, "parts": [{"part.no": 7}]}
    write([({"id": 1}, value)], sanitizeFieldNames="true", **mode)
    (row,) = service.rows("orders")
    assert (row["place"], row["parts"]) == ({"x_y": 5, "deep": {"_1st": 6}}, [{"part_no": 7}])


def test_keys_whose_names_are_sanitized_tell_rows_apart(monkeypatch):
    service = service_of(monkeypatch)
    given = [({"order-id": number}, {"name": name}) for number, name in ((1, "old"), (2, "other"), (1, "new"))]
    write(given, sanitizeFieldNames="true", kafkaKeyFieldName="key", **{"dedup.fields": "__key", "dedup.mode": "merge"})
    rows = sorted((row["key"]["order_id"], row["name"]) for row in service.rows("orders"))
    assert rows == [(1, "new"), (2, "other")]


STORED = {"kafkaKeyFieldName": "Record-Key", "kafkaDataFieldName": "Meta-Data"}


@pytest.mark.parametrize("is_made", [False, True], ids=["new", "by hand"])
def test_stored_keys_and_places_have_their_columns_under_other_letters(monkeypatch, is_made):
    service = service_of(monkeypatch)
    if is_made:
        make(service, record_key="INTEGER", name="STRING")
    given = [(1, {"name": "old"}), (2, {"name": "other"}), (1, {"name": "new"})]
    write(given, sanitizeFieldNames="true", **STORED, **{"dedup.fields": "__key", "dedup.mode": "merge"})
    rows = [{name.lower(): value for name, value in row.items()} for row in service.rows("orders")]
    found = sorted((row["record_key"], row["name"], row["meta_data"]["offset"]) for row in rows)
    assert found == [(1, "new", 2), (2, "other", 1)]
