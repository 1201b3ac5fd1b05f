"""Reads one split of a table, in an order in which reading can go on behind any place that an offset holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.pages import Page
from connectors.jdbc.database.cursor_comparison import DateTimes, TimestampForm
from connectors.jdbc.database.query import BoundValue
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.cursors import has_index
from connectors.jdbc.follow.modes import Mode, Ordering, key_of, literal, whole_id
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.follow.read_plan import PlanBuilder
from connectors.jdbc.follow.reading import ReadingPlan
from connectors.jdbc.follow.splits import TableSplit
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import Projection, Raw

_EARLIEST = "timestamp.initial"
_LOWEST = "incrementing.initial"


class TableBase(NamedTuple):
    """Holds the parts that the plans of all splits of a table share."""

    builder: PlanBuilder
    plan: ReadingPlan

    @classmethod
    def of(cls, builder: PlanBuilder, split: TableSplit) -> TableBase:
        """Plan a table by any one of its splits. Asks the catalog."""
        return cls(builder, builder.plan(offsets.table_partition(split.table), split.mark))


def split_plan(base: TableBase, config: JdbcSourceConfig, split: TableSplit, stored: Offset | None) -> ReadingPlan:
    """Return the plan to read a split, from where its stored offset says. Asks the database nothing."""
    builder = base.builder
    names = (builder.shape.key or (builder.shape.row_id or "",))[:1]
    return replace(
        base.plan,
        label=f"{base.plan.label}, {split.label}",
        partition=offsets.range_partition(split.table, split.place),
        mode=_mode(builder, config, split.mark, stored),
        paged=builder.dialect.cursors.holds_writers and has_index(builder.shape, names),
        bound=None,
        guard=Always([*before_mark(builder, config, split.mark), *_within(builder, config, split)]),
        blind_spots=(),
        described=None,
    )


def integer_key(builder: PlanBuilder, config: JdbcSourceConfig) -> Ordering | None:
    """Return the one integer column whose values can be cut into ranges, or None if there is none.

    The column names a row. If no column does so, it is the column of ids by which the table is followed.
    """
    key = builder.key()
    if not key.places and "incrementing" in config.mode:
        key = builder.ids()
    columns = [builder.shape.columns[place] for place in key.places if place < len(builder.shape.columns)]
    is_one = len(key.places) == 1
    return key if is_one and all(c.raw is Raw.INTEGER and c.projection is Projection.AS_IS for c in columns) else None


def before_mark(builder: PlanBuilder, config: JdbcSourceConfig, mark: Offset) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for the rows that a bulk read has to read, as following begins at the mark.

    These are all rows before the mark, from the beginning on that the configuration names. If it names none, they
    include rows that following would never read: negative ids, and times before 1970.
    """
    given = config.originals
    if config.mode == "incrementing":
        column, last = builder.ids().expressions[0], offsets.id_of(mark)
        assert last is not None
        low = [column > literal(config.incrementing_initial)] if _LOWEST in given else []
        return [*low, column <= literal(last)]
    column, _ = builder.timestamp()
    form = _form(builder, config)
    begin, end = form.edge(config.begin_ms * 1000), offsets.instant_us_of(mark)
    assert end is not None
    if config.mode == "timestamp":
        return [*([column > begin.high] if _EARLIEST in given else []), column < form.edge(end + 1).low]
    conditions = [column < form.edge(end).low]
    if _EARLIEST in given:
        conditions.append(column >= begin.low)
        # Following begins with the rows that have the mark's own instant and an id above the initial one.
        if _LOWEST in given:
            id_ = builder.ids().expressions[0]
            conditions.append(sa.or_(column > begin.high, id_ > literal(config.incrementing_initial)))
    return conditions


def beyond_reach(builder: PlanBuilder, config: JdbcSourceConfig) -> tuple[sa.ColumnElement[bool], str]:
    """Return the condition for rows that neither a bulk read nor following ever reads, and the reason in words.

    These rows have NULL in a cursor column, or are before the beginning.
    """
    given = config.originals
    conditions: list[sa.ColumnElement[bool]] = []
    why = []
    if "timestamp" in config.mode:
        column, _ = builder.timestamp()
        conditions.append(column.is_(None))
        why.append("their timestamp is NULL")
        if _EARLIEST in given and config.timestamp_initial != -1:
            begin = _form(builder, config).edge(config.begin_ms * 1000)
            conditions.append(column < begin.low)
            why.append(f"it is before {_EARLIEST}")
    if "incrementing" in config.mode:
        id_ = builder.ids().expressions[0]
        conditions.append(id_.is_(None))
        why.append("their id is NULL")
        if _LOWEST in given and config.mode == "incrementing":
            conditions.append(id_ <= literal(config.incrementing_initial))
            why.append(f"it is not above {_LOWEST}")
    return sa.or_(*conditions), " or ".join(why)


def _form(builder: PlanBuilder, config: JdbcSourceConfig) -> DateTimes:
    return DateTimes(None if builder.timestamp_columns()[0].raw is Raw.INSTANT else zone(config.db_timezone))


def _within(builder: PlanBuilder, config: JdbcSourceConfig, split: TableSplit) -> list[sa.ColumnElement[bool]]:
    if split.begin is None and split.end is None:
        return []
    key = integer_key(builder, config) or builder.key()
    column = key.expressions[0]
    low = [] if split.begin is None else [column >= literal(split.begin)]
    return low if split.end is None else [*low, column < literal(split.end)]


def _mode(builder: PlanBuilder, config: JdbcSourceConfig, mark: Offset, stored: Offset | None) -> Mode:
    key = builder.key()
    if key.places:
        return Range(key, mark, stored)
    if "incrementing" in config.mode:
        ids = builder.ids()
        place = ids.places[0]
        by_id = FollowedValue(
            ids.expressions, (), lambda row: whole_id(row[place]), lambda last: BoundValue.at(literal(last))
        )
        return UnnamedRows(by_id, mark, stored)
    column, times = builder.timestamp()
    # The value is stored as text, as a number would count as a key that can be cut into ranges.
    by_time = FollowedValue(
        (column,), times.places, lambda row: str(times.one(row)), lambda last: _form(builder, config).edge(int(last))
    )
    return UnnamedRows(by_time, mark, stored)


class Range:
    """Reads one range in the order of the key. Implements Mode."""

    def __init__(self, key: Ordering, mark: Offset, stored: Offset | None) -> None:
        self.order = key.expressions
        self.keep: tuple[int, ...] = ()
        self._key = key
        self._mark = mark
        self._last = offsets.range_progress_of(stored, mark)

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:  # noqa: ARG002 - the protocol's
        """Return the place behind the last delivered key."""
        return [BoundValue.at(literal(value)) for value in self._last or ()]

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset that says how far the range was read, or that it is finished."""
        if page.following is None:
            return offsets.range_finished(self._mark)
        self._last = key_of(page, self._key)
        return offsets.range_progress(self._mark, self._last)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return the offset of a finished range, as a range is also finished if no further row is left."""
        del until_us
        return offsets.range_finished(self._mark)


@dataclass(frozen=True, slots=True)
class FollowedValue:
    """Describes the columns by which a table is followed.

    `order` are the expressions that order rows, and `places` are their places in a row. `value` takes the value from a
    row, and `edge` compares with a value.
    """

    order: tuple[sa.ColumnElement[Any], ...]
    places: tuple[int, ...]
    value: Callable[[Sequence[Any]], Any]
    edge: Callable[[Any], BoundValue]


class UnnamedRows:
    """Reads a split of a table whose rows have no key, in the order of the columns that it is followed by. Implements
    Mode.

    Rows with the same value cannot be told apart, so reading can go on only behind the last of them. A page that ends
    among them has no offset.
    """

    def __init__(self, followed: FollowedValue, mark: Offset, stored: Offset | None) -> None:
        self.order = followed.order
        self.keep = followed.places
        self._followed = followed
        self._mark = mark
        self._last = offsets.range_progress_of(stored, mark)

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:  # noqa: ARG002 - the protocol's
        """Return the place behind all rows of the last value."""
        return [] if self._last is None else [self._followed.edge(self._last[0])]

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset that says how far the split was read, or that it is finished.

        Return None if other rows with the last value follow.
        """
        if page.following is None:
            return offsets.range_finished(self._mark)
        assert page.last is not None
        last = self._followed.value(page.last)
        if self._followed.value(page.following) == last:
            return None
        self._last = (last,)
        return offsets.range_progress(self._mark, self._last)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return the offset of a finished split, as a split is also finished if no further row is left."""
        del until_us
        return offsets.range_finished(self._mark)


@dataclass(frozen=True, slots=True)
class Always:
    """Gives the same conditions for every pass. Implements LateCommitGuard."""

    conditions: Sequence[sa.ColumnElement[bool]]

    def begin(self, database: Database) -> Sequence[sa.ColumnElement[Any]]:  # noqa: ARG002 - the protocol's
        """Return the conditions."""
        return self.conditions

    @property
    def is_waiting(self) -> bool:
        """Return False, as nothing is held back."""
        return False
