"""Compares a core of this machine with one of the machine on which the figures of estimates were measured."""

from __future__ import annotations

import statistics
import time
from typing import Final

import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Column
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

BENCH_ROWS_PER_SECOND: Final = 4_300_000
"""Is the result of `encoded_rows_per_second` on the machine of the bench when it was quiet.

See docs/design/backfill-bulk-work.md.
"""
_ROWS: Final = 20_000
_TIMES: Final = 9
_SCHEMA: Final = s.struct({"id": s.INT64, "price": s.FLOAT64, "sku": s.STRING, "note": s.STRING})
_NOTE: Final = "The parcel came back to the store unopened, and was sent again by another carrier. " * 10


def core_speed() -> float:
    """Return 1 for a core as fast as the bench's, 2 for one twice as fast. It takes a tenth of a second."""
    return encoded_rows_per_second() / BENCH_ROWS_PER_SECOND


def encoded_rows_per_second() -> float:
    """Return how many rows of about 900 bytes one thread encodes to JSON in a second now.

    This is the work that a lane does, and the rows are more than a cache holds.
    """
    ids = pa.array(range(_ROWS), pa.int64())
    columns = [ids, ids.cast(pa.float64()), ids.cast(pa.string()), pa.repeat(_NOTE, _ROWS)]
    rows = Column.from_arrow(pa.StructArray.from_arrays(columns, fields=list(arrow_type(_SCHEMA))), _SCHEMA)
    converter = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))

    def took_s() -> float:
        began_s = time.perf_counter()
        converter.encode("", rows)
        return time.perf_counter() - began_s

    return _ROWS / statistics.median(took_s() for _ in range(_TIMES))
