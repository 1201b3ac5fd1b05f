"""Tells which changes of a table the mode cannot see; the task logs them at its start.

Pure: it takes the table's shape and the settings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from connect.api import schema as s
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.follow.cursors import has_index
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import DAY_DIGITS, ColumnPlan, Raw

_log = logging.getLogger(__name__)
_MILLISECOND_DIGITS: Final = 3
_KEEPS: Final[Mapping[str | None, str]] = {
    s.TIMESTAMP_SCHEMA.name: "timestamp.granularity=micros_long or time.precision.mode=adaptive",
    s.TIME_SCHEMA.name: "time.precision.mode=adaptive",
}


class BlindSpot(NamedTuple):
    """Holds a sentence about changes that are not seen. The connector's status shows it if it is `noted`."""

    text: str
    can_be_mended: bool
    is_noted: bool = False


def blind_spots(
    label: str,
    shape: TableShape,
    cursor: tuple[str, ...],
    config: JdbcSourceConfig,
    server_offset_s: int | None = None,
    *,
    reads_all: bool | None = None,
    out_of_order: str | None = None,
    least_id: int | None = None,
    passed_ids: tuple[int, int] | None = None,
) -> Iterator[BlindSpot]:
    """Yield the kinds of changes of a table or query that are not seen.

    `cursor` names the columns that order its rows; an empty name stands for an expression. `server_offset_s` is how far
    the server's own wall clock is ahead of UTC now, or None if it was not asked. `reads_all` is True if EXPLAIN says
    that a poll reads the whole table, or None if it says nothing. `out_of_order` says why ids are not given out in
    order. `least_id` is the least id of the present rows, where reading begins now. `passed_ids` are the id behind
    which reading goes on, and the largest id of the present rows.
    """
    yield from cut_off(label, shape.columns, config)
    if config.mode == "bulk":
        return
    yield BlindSpot(f"{label}: deleted rows are not seen with mode={config.mode}.", False)
    if config.mode == "incrementing":
        yield BlindSpot(f"{label}: changed rows are not seen with mode=incrementing.", False)
    if out_of_order is not None:
        text = f"{label}: a row can get a smaller id than rows that were read, and is lost: {out_of_order}"
        yield BlindSpot(text, True)
    if least_id is not None and least_id <= config.incrementing_initial:
        first = config.incrementing_initial
        text = (
            f"{label}: rows with ids up to {first} are never read, as with Confluent's connector, and the least id is "
            f"{least_id}. incrementing.initial={least_id - 1} reads them, and so does a backfill."
        )
        yield BlindSpot(text, "incrementing.initial" not in config.originals)
    if passed_ids is not None and passed_ids[1] < passed_ids[0]:
        stored, largest = passed_ids
        text = (
            f"{label}: rows with ids up to {stored} are not read, as the stored offset says that they were, and the "
            f"largest id is {largest}. Where the table was filled anew, or its ids begin again, set or reset the "
            "connector's offset."
        )
        yield BlindSpot(text, True, is_noted=True)
    if config.offset_mode == "confluent":
        text = f"{label}: rows whose transaction commits late are lost with offset.mode=confluent; safe reads them."
        yield BlindSpot(text, True)
    yield from _coarse(label, shape, cursor, config)
    yield from _zones(label, shape, cursor, config, server_offset_s)
    if reads_all if reads_all is not None else not config.query_text and not has_index(shape, cursor[:1]):
        yield BlindSpot(_unindexed(label, cursor[0], config), True)
    if config.query_text:
        return
    nullable = [name for name in cursor if name and name not in shape.not_null]
    if nullable:
        text = f"{label}: rows with NULL in {', '.join(nullable)} are never read. Make it NOT NULL."
        yield BlindSpot(text, True)


def cut_off(label: str, columns: Sequence[ColumnPlan], config: JdbcSourceConfig) -> Iterator[BlindSpot]:
    """Yield the columns whose values lose their microseconds.

    If a database does not tell how many digits a column keeps, it may keep microseconds.
    """
    if config.microsecond_handling != "truncate":
        return
    for column in columns:
        if loses_microseconds(column):
            text = (
                f"{label}: {column.name} becomes {column.schema.name}, which has milliseconds: microseconds are cut "
                f"off, as with Confluent's connector. {_KEEPS[column.schema.name]} keeps them; "
                "microsecond.handling=fail stops at the first value with some."
            )
            yield BlindSpot(text, column.second_digits is not None)


def loses_microseconds(column: ColumnPlan) -> bool:
    """Return True if the column's values may have more digits of a second than its type in the rows has."""
    digits = column.second_digits
    return column.schema.name in _KEEPS and (digits is None or digits > _MILLISECOND_DIGITS)


class CutOffs:
    """Warns once of each column whose microseconds are cut off. Owned by the reading thread."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        self._config = config
        self._told: set[str] = set()

    def tell(self, table: TableName, columns: Sequence[ColumnPlan]) -> None:
        """Warn of the columns of a table whose microseconds are cut off, each one once."""
        for spot in cut_off(f"table {table.full}", columns, self._config):
            if spot.text not in self._told:
                self._told.add(spot.text)
                _log.warning("%s", spot.text)


def _unindexed(label: str, first: str, config: JdbcSourceConfig) -> str:
    if config.query_text:
        return f"{label}: no index serves its order, so every poll reads and sorts all of its rows."
    if first:
        return f"{label}: no index begins with {first}, so every poll reads the whole table. Create one."
    what = f"coalesce({', '.join(config.timestamp_columns)})" if config.timestamp_columns else "coalesce of them"
    return (
        f"{label}: it is ordered by several timestamp columns and no index is on {what}, so every poll reads the whole "
        "table. Create one where the database has indexes on expressions."
    )


def wall_clocks(shape: TableShape, cursor: tuple[str, ...]) -> list[ColumnPlan]:
    """Return the cursor columns that hold a time without a zone."""
    return [c for c in map(shape.find, filter(None, cursor)) if c is not None and c.raw is Raw.WALL_CLOCK]


def _coarse(label: str, shape: TableShape, cursor: tuple[str, ...], config: JdbcSourceConfig) -> Iterator[BlindSpot]:
    is_safe = config.offset_mode == "safe"
    if "timestamp" not in config.mode or (shape.has_xmin and is_safe and not config.delay_ms):
        return
    for column in filter(None, map(shape.find, filter(None, cursor))):
        digits = column.second_digits
        if digits is None or digits >= 6:
            continue
        if is_safe and digits == DAY_DIGITS:
            text = f"{label}: {column.name} has one value per day, so rows come when their day is over. "
            yield BlindSpot(f"{text}A column with the time of day has them at once.", True)
        elif not is_safe and config.mode == "timestamp":
            unit = "day" if digits == DAY_DIGITS else f"10^-{digits} s" if digits else "second"
            text = f"{label}: {column.name} has one value per {unit}; a row written later in a {unit} that was read is "
            fix = "lost. Use offset.mode=safe, or set timestamp.delay.interval.ms to more than that."
            yield BlindSpot(text + fix, True)


def _zones(
    label: str, shape: TableShape, cursor: tuple[str, ...], config: JdbcSourceConfig, server_offset_s: int | None
) -> Iterator[BlindSpot]:
    tz = zone(config.db_timezone)
    for column in wall_clocks(shape, cursor):
        offset = datetime.now(UTC).astimezone(tz).utcoffset()
        ours_s = 0 if offset is None else int(offset.total_seconds())
        if server_offset_s is not None and server_offset_s != ours_s:
            text = (
                f"{label}: {column.name} has no zone and is read in db.timezone={config.db_timezone}, but the server's "
                f"own clock is {(server_offset_s - ours_s) / 3600:+g} h off it: rows may come too late or never. Set "
                "db.timezone to the zone the rows are written in."
            )
            yield BlindSpot(text, True)
        winter, summer = (datetime(2024, month, 1, tzinfo=UTC).astimezone(tz).utcoffset() for month in (1, 7))
        if winter != summer:
            text = (
                f"{label}: {column.name} has no zone; the hour that comes twice in autumn in {config.db_timezone} is "
                "read as its second time. A column with a zone has both."
            )
            yield BlindSpot(text, False)
