"""Applies dedup.window: which partitions of a table are searched for a row, and which records are late. Pure.

A record is late when the time of its partition lies further back than the window behind the newest one that its task
has seen for the table. Times are microseconds since 1970, in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from connectors.bigquery.rows.table_schema import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US: Final = 86_400_000_000
PARTITIONABLE: Final = frozenset({ColumnType.DATE, ColumnType.DATETIME, ColumnType.TIMESTAMP})


class Late(StrEnum):
    """Says what becomes of a record that is late."""

    MERGE = "merge"
    DLQ = "dlq"
    DROP = "drop"
    APPEND = "append"


def parse_window(text: str) -> int | None:
    """Return the milliseconds of `3d`, `12h`, `90m`, `30s`, `500ms`; None for `none`. ValueError for anything else."""
    if text.lower() == "none":
        return None
    for unit in ("ms", "s", "m", "h", "d"):
        number = text.removesuffix(unit)
        if number != text and number.isascii() and number.isdigit() and int(number) > 0:
            return int(number) * _UNITS_MS[unit]
    raise ValueError("Give a time such as 3d, 12h, 90m or 30s, or none")


@dataclass(frozen=True, slots=True)
class Window:
    """The window of a table that is partitioned by `column`."""

    column: str
    type: ColumnType
    length_ms: int
    late: Late

    def times(self, rows: pa.Table) -> pa.Array:
        """Return the times of the partitions of rows in microseconds, as int64 with nulls."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = rows[self.column].combine_chunks()
        if self.type is ColumnType.DATE:
            return pc.multiply(values.cast(pa.int32()).cast(pa.int64()), _DAY_US)
        return values.cast(pa.int64())

    def late_rows(self, times: pa.Array, newest_us: int | None) -> pa.Array:
        """Return a mask of the rows that are late. For `newest_us` see `newest_of`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if newest_us is None:
            return pa.repeat(False, len(times))
        return pc.less(times, newest_us - self.length_ms * 1000).fill_null(False)

    def bound(self, oldest_us: int) -> str:
        """Return SQL of the first time that is searched for rows of which none is older than `oldest_us`."""
        least = max(oldest_us - self.length_ms * 1000, -62_135_596_800_000_000)
        moment = _EPOCH + timedelta(microseconds=least)
        if self.type is ColumnType.DATE:
            return f"DATE '{moment.date().isoformat()}'"
        text = moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        return f"TIMESTAMP '{text}+00:00'" if self.type is ColumnType.TIMESTAMP else f"DATETIME '{text}'"


def newest_of(times: pa.Array, before_us: int | None, now_us: int) -> int | None:
    """Return the latest of these times and of the former latest one.

    A time in the future counts as now; otherwise one record of a wrong clock would make all others late.
    """
    import pyarrow.compute as pc

    found = pc.max(times).as_py()
    known = [time for time in (found, before_us) if time is not None]
    return min(max(known), now_us) if known else None
