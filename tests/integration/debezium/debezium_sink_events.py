"""Holds change events of all types for Debezium's JDBC sink, and reads the table that a sink made of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import sqlalchemy as sa

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition


def _named(kind: s.Schema, name: str, **parameters: str) -> s.Schema:
    return replace(kind.as_optional(), name=f"io.debezium.{name}", version=1, parameters=parameters)


_VARIABLE = s.struct({"scale": s.INT32, "value": s.BYTES}, name="io.debezium.data.VariableScaleDecimal", optional=True)
_FIELDS: Final[Mapping[str, s.Schema]] = {
    "Id": s.INT64, "kind": s.STRING, "i8": s.INT8.as_optional(), "i16": s.INT16.as_optional(),
    "i32": s.INT32.as_optional(), "i64": s.INT64.as_optional(), "f32": s.FLOAT32.as_optional(),
    "f64": s.FLOAT64.as_optional(), "Yes": s.BOOLEAN.as_optional(), "text": s.STRING.as_optional(),
    "raw": s.BYTES.as_optional(), "price": s.decimal(2, optional=True),
    "cost": s.decimal(3, precision=12, optional=True), "exact": _VARIABLE,
    "day": _named(s.INT32, "time.Date"), "clock_ms": _named(s.INT32, "time.Time"),
    "clock_us": _named(s.INT64, "time.MicroTime"), "clock_ns": _named(s.INT64, "time.NanoTime"),
    "at_ms": _named(s.INT64, "time.Timestamp"), "at_us": _named(s.INT64, "time.MicroTimestamp"),
    "at_ns": _named(s.INT64, "time.NanoTimestamp"), "zoned": _named(s.STRING, "time.ZonedTimestamp"),
    "born": s.DATE_SCHEMA.as_optional(), "clock": s.TIME_SCHEMA.as_optional(),
    "moment": s.TIMESTAMP_SCHEMA.as_optional(),
    "doc": _named(s.STRING, "data.Json"), "mood": _named(s.STRING, "data.Enum", allowed="sad,ok"),
    "bits": _named(s.BYTES, "data.Bits", length="5"), "year": _named(s.INT32, "time.Year"),
    "given": replace(s.INT32, default=7), "called": replace(s.STRING, default="it's"),
}  # fmt: skip
_OF: Final[Mapping[str, Mapping[str, s.Schema]]] = {
    "postgres": {
        "u": _named(s.STRING, "data.Uuid"), "zclock": _named(s.STRING, "time.ZonedTime"),
        "lasts": _named(s.INT64, "time.MicroDuration"), "tags": s.array(s.STRING.as_optional(), optional=True),
    },
    "mariadb": {"some": _named(s.STRING, "data.EnumSet", allowed="a,b,c")},
}  # fmt: skip
_AT_S: Final = 1_720_000_000
_FULL: Final[Mapping[str, Any]] = {
    "kind": "full", "i8": -8, "i16": 300, "i32": -70_000, "i64": 2**40, "f32": 1.5, "f64": -0.1, "Yes": True,
    "text": "Zoë 😀 'q' \\", "raw": b"\x00\xff", "price": Decimal("-12345.25"), "cost": Decimal("1.125"),
    "exact": {"scale": 3, "value": (-1234).to_bytes(2, signed=True)}, "day": 19_000,
    "clock_ms": 3_600_123, "clock_us": 3_600_123_456, "clock_ns": 3_600_123_456_000, "at_ms": _AT_S * 1000 + 123,
    "at_us": _AT_S * 10**6 + 123_456, "at_ns": _AT_S * 10**9 + 123_456_000, "zoned": "2024-07-03T11:46:40.120001+02:00",
    "born": dt.date(1999, 12, 30), "clock": dt.time(1, 2, 3, 4000),
    "moment": dt.datetime(2024, 12, 24, 18, 30, 0, 5000, tzinfo=dt.UTC), "doc": '{"a": 1}', "mood": "ok",
    "bits": b"\x13", "year": 1999, "given": 8, "called": "x", "u": "6f1e2b3c-0000-4000-8000-00000000000a",
    "zclock": "10:20:30.5+02:00", "lasts": 90_061_000_001, "tags": ["a", 'b "c"', None], "some": "a,c",
}  # fmt: skip
KEY: Final = s.struct({"Id": s.INT64}, name="shop.Key")


def event_schema(database: str, *, is_wider: bool = False) -> s.Schema:
    """Return the schema of events for a kind of database; that of a wider table has one more column."""
    more = {"added": s.INT32.as_optional()} if is_wider else {}
    row = s.struct({**_FIELDS, **_OF[database], **more}, name="shop.Value", optional=True)
    source = s.struct({"table": s.STRING}, name="io.debezium.Source")
    event = s.struct({"before": row, "after": row, "source": source, "op": s.STRING}, name="shop.Envelope")
    return replace(event, optional=True)


def events(database: str) -> Sequence[tuple[int, s.Schema, Mapping[str, Any] | None]]:
    """Return keys, schemas and values of events: rows of all types, changes, deletes, a further column."""
    plain, wider = event_schema(database), event_schema(database, is_wider=True)
    told = [
        (1, "r", "full"), (2, "c", "empty"), (3, "c", "gone"), (2, "u", "changed"), (3, "d", "gone"), (4, "c", "again"),
        (4, "d", "again"), (4, "c", "there"),
    ]  # fmt: skip
    made = [(number, plain, _event(plain, number, op, kind)) for number, op, kind in told]
    return [*made, (3, plain, None), (5, wider, _event(wider, 5, "c", "wide"))]


def _event(schema: s.Schema, number: int, op: str, kind: str) -> Mapping[str, Any]:
    row = schema.field("after")
    assert row is not None
    values = {field.name: None for field in row.fields} | {"given": 7, "called": "it's"}
    values |= {name: value for name, value in _FULL.items() if kind in {"full", "wide"} and name in values}
    values |= {"Id": number, "kind": kind} | ({"added": 5} if "added" in values else {})
    before, after = (values, None) if op == "d" else (None, values)
    return {"before": before, "after": after, "source": {"table": "t"}, "op": op}


def batches(topic: str, database: str) -> Sequence[Batch]:
    """Return the events as batches of one schema each."""
    found, made = events(database), []
    for schema in dict.fromkeys(schema for _, schema, _ in found):
        numbers = [number for number, one in enumerate(found) if one[1] == schema]
        offsets = pa.array(numbers, pa.int64())
        keys = [{"Id": found[number][0]} for number in numbers]
        values = Column.from_rows([found[number][2] for number in numbers], schema)
        consumed = Consumed(TopicPartition(topic, 0), offsets, numbers[-1] + 1)
        made.append(Batch(topic, values, Column.from_rows(keys, KEY), partition=0, consumed=consumed))
    return made


def truncation(topic: str, database: str, offset: int) -> Batch:
    """Return the event that says that the table was emptied, and one of a row behind it."""
    schema = event_schema(database, is_wider=True)
    emptied = {"before": None, "after": None, "source": {"table": "t"}, "op": "t"}
    values = Column.from_rows([emptied, _event(schema, 9, "c", "behind")], schema)
    consumed = Consumed(TopicPartition(topic, 0), pa.array([offset, offset + 1], pa.int64()), offset + 2)
    return Batch(topic, values, Column.from_rows([None, {"Id": 9}], KEY), partition=0, consumed=consumed)


def table_of(engine: sa.Engine, name: str, cast: str = "") -> dict[str, Any]:
    """Return the columns of a table as the database tells them, those of its key, and its rows as texts. `cast` is SQL
    that the database makes texts by.
    """
    with engine.connect() as session:
        inspector = sa.inspect(session)
        columns = {
            column["name"]: [_told(column["type"], engine), column["nullable"], column["default"]]
            for column in inspector.get_columns(name)
        }
        key = inspector.get_pk_constraint(name)["constrained_columns"]
        quote = engine.dialect.identifier_preparer.quote_identifier
        listed = ", ".join(f"{quote(column)}{cast} AS {quote(column)}" for column in columns)
        rows = session.exec_driver_sql(f"SELECT {listed} FROM {quote(name)} ORDER BY 1").mappings().all()
        return {
            "columns": columns, "key": key,
            "rows": [{column: None if v is None else str(v) for column, v in row.items()} for row in rows],
        }  # fmt: skip


def _told(kind: sa.types.TypeEngine[Any], engine: sa.Engine) -> str:
    return "of no known type" if isinstance(kind, sa.types.NullType) else str(kind.compile(engine.dialect))
