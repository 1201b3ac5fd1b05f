"""Makes the bench's rows: 12 columns, about 213 bytes as JSON."""

from __future__ import annotations

import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import arrow_type

SCHEMA = s.struct(
    {
        "id": s.INT64,
        "account": s.INT64,
        "quantity": s.INT32,
        "status": s.INT32,
        "price": s.FLOAT64,
        "discount": s.FLOAT64,
        "sku": s.STRING,
        "customer": s.STRING,
        "note": s.STRING.as_optional(),
        "paid": s.BOOLEAN,
        "created": s.TIMESTAMP_SCHEMA,
        "updated": s.TIMESTAMP_SCHEMA,
    }
)
NAMES = [f.name for f in SCHEMA.fields]
START_MS = 1_700_000_000_000


def plain_rows(count: int, start: int = 0) -> list[tuple]:
    """Rows as tuples; timestamps as milliseconds."""
    return [
        (
            i, i * 7 % 1_000_003, i % 97, i % 5, i * 0.25, (i % 40) / 8, f"SKU-{i % 5000:05d}", f"customer {i % 9973}",
            None if i % 3 else "leave at door", i % 2 == 0, START_MS + i, START_MS + 2 * i,
        )
        for i in range(start, start + count)
    ]  # fmt: skip


def struct_array(count: int, start: int = 0) -> pa.StructArray:
    """The same rows as an Arrow struct array."""
    fields = arrow_type(SCHEMA)
    columns = list(zip(*plain_rows(count, start), strict=True))
    arrays = [
        pa.array(column, pa.int64()).cast(field.type)
        if pa.types.is_timestamp(field.type)
        else pa.array(column, field.type)
        for column, field in zip(columns, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(fields))
