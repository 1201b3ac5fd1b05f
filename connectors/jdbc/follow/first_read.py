"""Plans the first full read of a table in splits: the mark where the read ends, and the offset that is stored for it.

The first read has the rows before a mark, a place before which no row can appear any more. Following the table begins
at the mark. So the two have no row in common and miss none, whenever each range is read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.late_commits import HeldIds
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.follow.ranges import integer_key
from connectors.jdbc.follow.read_plan import PlanBuilder, assembled
from connectors.jdbc.follow.splits import TableSplit, cuts_of, len_of, split_at
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.java_zones import unrepeated_us, zone
from connectors.jdbc.values.types import Raw

_log = logging.getLogger(__name__)
LEAST_KEYS = 10_000
"""Each range is at least this many keys wide."""
_SECOND_US = timedelta(seconds=1) // timedelta(microseconds=1)
_LOWEST_ID = -(2**63 - 1)
"""Statements may write it out, and PostgreSQL reads no smaller number with a sign as a bigint."""


@dataclass(frozen=True, slots=True)
class FirstRead:
    """Describes a first read: the rows before `mark`, which is an offset as Confluent's connector writes it.

    Range r has the keys from bounds[r - 1] on and below bounds[r]; the first range has no begin, and the last no end.
    """

    mark: Offset
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, stored: Offset | None) -> FirstRead | None:
        """Return the first read that the table's offset says is not ended, or None if it says nothing of one."""
        state = offsets.initial_read_of(stored)
        return None if state is None else cls(*state)

    @property
    def ranges(self) -> range:
        """Return the numbers of the ranges."""
        return range(len(self.bounds) + 1)

    def split(self, table: TableName, number: int) -> TableSplit:
        """Return the range that has this number."""
        return split_at(table, self.mark, self.bounds)[number]

    @property
    def offset(self) -> Offset:
        """Return the offset that is stored for the table while the first read lasts."""
        return offsets.initial_read(self.mark, self.bounds)


class NotSplit(Exception):  # noqa: N818 - not an error: the table is read as always
    """Says that the table's first read is not cut into ranges, and why."""


class SafeMark:
    """Looks for a mark: a place in a table's order before which no row can appear. Owned by the reading thread."""

    def __init__(self, builder: PlanBuilder, config: JdbcSourceConfig) -> None:
        """Prepare to look. NotSplit: the table's order has no such place; ConnectError: a column is missing."""
        self._config = config
        self._builder = builder
        _check_order(builder, config)
        self._mark = self._of_ids() if config.mode == "incrementing" else self._of_timestamps

    def look(self, database: Database) -> Offset | None:
        """Return the mark, an offset as Confluent's connector has it, or None if it is too early, so that the caller
        has to look again later. NotSplit: the table has no row.

        Every row before a mark can be seen from now on.
        """
        return self._mark(database)

    def _of_ids(self) -> Callable[[Database], Offset | None]:
        column = self._builder.ids().expressions[0]
        largest, settled_time = self._builder.largest(column), self._builder.settled_time

        def highest(database: Database) -> int:
            found = largest(database)
            if found is None:
                raise NotSplit("it is empty")
            return found

        if settled_time is None:
            return lambda database: offsets.incrementing(highest(database))
        held = HeldIds(highest, column, settled_time)

        def settled(database: Database) -> Offset | None:
            held.begin(database)
            return None if held.free is None else offsets.incrementing(held.free)

        return settled

    def _of_timestamps(self, database: Database) -> Offset | None:
        assert self._builder.settled_time is not None
        settled_us = self._builder.settled_time.observe(database).settled_us - self._config.delay_ms * 1000
        # The mark is a whole second, as a column of whole seconds may get more rows under the second's beginning.
        at_us = settled_us // _SECOND_US * _SECOND_US
        if any(c.raw is Raw.WALL_CLOCK for c in self._builder.timestamp_columns()):
            at_us = unrepeated_us(at_us, zone(self._config.db_timezone)) // _SECOND_US * _SECOND_US
        if self._config.mode == "timestamp":
            return offsets.timestamp(at_us - 1)
        # The bulk read has the rows before the mark alone, so following reads every id at the mark, negative ones too.
        is_given = "incrementing.initial" in self._config.originals
        return offsets.timestamp_incrementing(at_us, self._config.incrementing_initial if is_given else _LOWEST_ID)


class FirstReadSearch:
    """Looks for the mark of a table's first read and cuts what is before it. Owned by the reading thread."""

    def __init__(self, database: Database, table: TableName, config: JdbcSourceConfig) -> None:
        """Look at the table's columns. NotSplit: the read cannot be cut; ConnectError: the table cannot be read."""
        self._parallelism = config.initial_read_parallelism
        self._builder = assembled(database, table, config)
        self._key = integer_key(self._builder, config) if self._builder.key().places else None
        if self._key is None:
            raise NotSplit("it has no primary key of one integer column")
        self._mark = SafeMark(self._builder, config)

    def look(self, database: Database) -> FirstRead | None:
        """Return the first read, or None if it is too early, so that the caller has to look again later.

        NotSplit: there is too little to read.
        """
        mark = self._mark.look(database)
        if mark is None:
            return None
        # The keys are asked for after the mark was found: now every row before the mark can be seen.
        assert self._key is not None
        span = key_span(database, self._builder.source.relation, self._key.expressions[0])
        if span is None:
            raise NotSplit("it is empty")
        return FirstRead(mark, bounds(span.start, span.stop - 1, self._parallelism))


def key_span(database: Database, relation: sa.FromClause, key: sa.ColumnElement[Any]) -> range | None:
    """Return the range from the least to the largest integer key of the present rows, or None if the table is empty."""
    span = sa.select(sa.func.min(key), sa.func.max(key)).select_from(relation)
    least, most = database.rows(span, "looking at the keys of a table")[0]
    database.end_transaction()
    return None if least is None else range(int(least), int(most) + 1)


def bounds(least: int, most: int, parallelism: int) -> tuple[int, ...]:
    """Return the keys at which ranges begin. NotSplit: there are too few keys for two ranges."""
    keys = range(least, most + 1)
    parts = min(parallelism, len_of(keys) // LEAST_KEYS)
    if parts < 2:
        raise NotSplit(f"its keys span {len_of(keys)}")
    return cuts_of(keys, parts)


def _check_order(builder: PlanBuilder, config: JdbcSourceConfig) -> None:
    if config.mode == "incrementing":
        return
    are_times = all(c.raw in {Raw.INSTANT, Raw.WALL_CLOCK} for c in builder.timestamp_columns())
    if not (builder.dialect.cursors.has_times and are_times):
        raise NotSplit("its timestamps are text, numbers or dates")
    if config.timestamp_initial == -1:
        raise NotSplit("timestamp.initial=-1 begins now")
