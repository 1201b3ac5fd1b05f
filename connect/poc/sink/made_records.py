"""Makes records for a sink that has no topics to read yet: rows of common types, written by its own converters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from connect.api import schema as s
from connect.api.errors import ConnectError
from connect.api.records import Batch, Column
from connect.kafka.raw import RawBatch
from connect.runtime.parts.connector_settings import ConnectorParts

KEY: Final = s.struct({"id": s.INT64}, name="Key")
VALUE: Final = s.struct(
    {
        "id": s.INT64, "name": s.STRING.as_optional(), "amount": s.decimal(2), "at": s.TIMESTAMP_SCHEMA,
        "ratio": s.FLOAT64.as_optional(), "paid": s.BOOLEAN,
    },
    name="Made",
)  # fmt: skip
_FIRST: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TEXTS: Final = ("plain", "", None, "\U0001f980 naïve 漢字", " padded ", 'back\\slash "quote"')


def made_row(number: int) -> dict[str, Any]:
    """Return the row of a number; each number gives another row. Pure."""
    return {
        "id": number,
        "name": _TEXTS[number % len(_TEXTS)],
        "amount": Decimal(number * 7).scaleb(-2),
        "at": _FIRST + timedelta(seconds=number),
        "ratio": None if number % 11 == 0 else number / 3,
        "paid": number % 2 == 0,
    }


def made_records(parts: ConnectorParts, topic: str, count: int) -> Sequence[RawBatch]:
    """Make `count` records for a topic. ConnectError: the converters can write neither rows nor texts nor bytes."""
    rows = [made_row(number) for number in range(1, count + 1)]
    keys = Column.from_rows([{"id": row["id"]} for row in rows], KEY)
    texts = [f"{row['id']} {row['name'] or ''}" for row in rows]
    forms = (
        Column.from_rows(rows, VALUE),
        Column.from_rows(texts, s.STRING),
        Column.from_rows([text.encode() for text in texts], s.BYTES),
    )
    refused: Exception | None = None
    for values in forms:
        for given in (keys, None):
            try:
                return [_encoded(parts, Batch(topic, values, keys=given))]
            except ConnectError as error:
                refused = refused or error
    raise ConnectError(f"Its converters write none of the records that are made: {refused}") from refused


def _encoded(parts: ConnectorParts, batch: Batch) -> RawBatch:
    converters = parts.converters
    keys = None if batch.keys is None else converters.key.encode(batch.topic, batch.keys)
    return RawBatch(batch.topic, converters.value.encode(batch.topic, batch.values), keys=keys, partition=0)
