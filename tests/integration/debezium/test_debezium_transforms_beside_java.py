"""Debezium's own transforms and ours make the same of the same records."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from transforms_java import Case, in_java

from connect.api import schema as s
from connect.api.records import Header

pytestmark = pytest.mark.timeout(400)


def _time(name: str, kind: s.Schema = s.INT64) -> s.Schema:
    return replace(kind, name=f"io.debezium.time.{name}", version=1).as_optional()


ROW = s.struct(
    {
        "id": s.INT32, "name": s.STRING.as_optional(), "ms": _time("Timestamp"), "us": _time("MicroTimestamp"),
        "ns": _time("NanoTimestamp"), "zoned": _time("ZonedTimestamp", s.STRING),
        "clock": _time("ZonedTime", s.STRING), "day": _time("Date", s.INT32), "at": s.TIMESTAMP_SCHEMA.as_optional(),
        "n": s.FLOAT64.as_optional(), "f": s.FLOAT32.as_optional(), "yes": s.BOOLEAN.as_optional(),
        "big": s.INT64.as_optional(), "price": s.decimal(2).as_optional(), "small": s.INT16.as_optional(),
        "born": s.DATE_SCHEMA.as_optional(), "raw": s.BYTES.as_optional(),
    },
    name="shop.orders.Value", optional=True,
)  # fmt: skip
SOURCE = s.struct({"table": s.STRING, "ts_ms": s.INT64}, name="io.debezium.connector.postgresql.Source")
EVENT = replace(
    s.struct({"before": ROW, "after": ROW, "source": SOURCE, "op": s.STRING}, name="shop.orders.Envelope"),
    optional=True, version=2,
)  # fmt: skip
EMPTY: dict[str, Any] = {field.name: None for field in ROW.fields}
_SUMMER = 1_720_000_000
FULL = {
    **EMPTY, "id": 7, "name": "Zoë €😀", "ms": _SUMMER * 1000 + 123, "us": -1_500_001, "ns": _SUMMER * 10**9 + 5,
    "zoned": "2024-07-03T09:46:40.120Z", "day": 19_000, "n": -0.5, "f": 1.25, "yes": True, "big": -(2**40) - 3,
    "price": Decimal("-12345678901234567890.25"), "small": -3,
    "at": dt.datetime(2024, 12, 24, 18, 30, tzinfo=dt.UTC), "born": dt.date(1969, 12, 30), "raw": b"x",
}  # fmt: skip
EDGES = {
    **EMPTY, "id": 8, "name": "", "ms": 1_711_846_800_000 + 1_800_000, "us": 1_729_990_800_000_000 + 1_800_000_000,
    "ns": -1, "zoned": "2024-03-31T01:30:00+02:00", "n": -0.0, "f": 1e-30, "yes": False, "big": 2**62,
    "price": Decimal("0.00"), "small": 0,
}  # fmt: skip


def _event(op: str, before: Any, after: Any, table: str = "orders") -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"table": table, "ts_ms": 1}, "op": op}


EVENTS = [
    _event("c", None, FULL), _event("u", FULL, EDGES), _event("d", EDGES, None, "other"),
    _event("r", None, EMPTY | {"id": 1}), None,
]  # fmt: skip
ZONES = ["America/New_York", "+05:30", "Europe/Berlin", "Asia/Kolkata", "-11:00", "UTC", "nowhere", "+8"]
LISTS = [
    {}, {"include.list": "source:orders"}, {"include.list": "source:orders:ms"},
    {"include.list": "topic:shop.orders:us"}, {"include.list": "orders:ns,other:ms"},
    {"exclude.list": "source:orders"}, {"exclude.list": "orders:zoned,orders:at"},
    {"include.list": "orders:before.ms"}, {"include.list": "orders"}, {"exclude.list": "source:other:ms,orders"},
    {"include.list": "a:b", "exclude.list": "c:d"},
]  # fmt: skip
FIELDS = [
    "after.id", "change.id", "source.table", "op", "change.name", "after.nothing", "change.big,change.name", "change.n",
    "change.yes", "change.small", "nothing.at.all", "change.price", "change.f", "change.at", "change.born",
    " after.id ", "source.table,op,change.us",
]  # fmt: skip
HEADERS = [
    [Header("at", 5, s.INT64), Header("who", "anne", s.STRING), Header("else", True, s.BOOLEAN)],
    [Header("else", True, s.BOOLEAN)],
    [],
    [Header("who", "bob", s.STRING), Header("who", "eve", s.STRING)],
    [Header("who", "tombstone", s.STRING)],
]
PUT = [
    {"headers": "at", "fields": "at_header", "operation": "move"},
    {"headers": "at,who", "fields": "first,second", "operation": "copy"},
    {"headers": "who", "fields": "source.who", "operation": "move"},
    {"headers": "at,who", "fields": "source.at,top", "operation": "move"},
    {"headers": "at,who", "fields": "one", "operation": "move"},
    {"headers": "at", "fields": "one"},
    {"headers": "at", "fields": "op", "operation": "copy"},
    {"headers": "none", "fields": "one", "operation": "copy"},
    {"headers": "who", "fields": "op", "operation": "copy"},
]
CASES = [
    *(
        Case("io.debezium.transforms.TimezoneConverter", {"converted.timezone": zone}, EVENT, EVENTS)
        for zone in ZONES
    ),
    *(
        Case("io.debezium.transforms.TimezoneConverter", {"converted.timezone": "Asia/Tokyo", **given}, EVENT, EVENTS)
        for given in LISTS
    ),
    *(
        Case(
            "io.debezium.transforms.partitions.PartitionRouting",
            {"partition.payload.fields": fields, "partition.topic.num": count}, EVENT, EVENTS,
        )
        for fields in FIELDS for count in ("7", "1000003")
    ),
    *(Case("io.debezium.transforms.HeaderToValue", given, EVENT, EVENTS, HEADERS) for given in PUT),
]  # fmt: skip


def test_the_same_becomes_of_the_same_records() -> None:
    found = in_java(CASES)
    assert len(found) == len(CASES)
    differ = [
        (case.name.rpartition(".")[2], dict(case.config), java, ours)
        for case, java in zip(CASES, found, strict=True)
        if (ours := case.here()) != java
    ]
    assert differ == []
    assert sum(one == "refused" for one in found) < len(CASES) // 4
