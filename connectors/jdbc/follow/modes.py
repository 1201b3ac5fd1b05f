"""The four modes decide the order that rows are read in, the place to go on from, and the offset to store.

Pure, but for their state: the place behind the rows that were given last. Only `delivered` moves it, so that a read
that failed is repeated from the same place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from connect.api.errors import SchemaError
from connectors.jdbc.connection.pages import Page
from connectors.jdbc.database.cursor_comparison import TimestampForm
from connectors.jdbc.database.query import BoundValue
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.values import temporal

_DIGITS = re.compile(r"-?\d+(\.0*)?")


@dataclass(frozen=True, slots=True)
class Ordering:
    """Holds the columns by which rows are ordered, as expressions, and their places in a page."""

    expressions: tuple[sa.ColumnElement[Any], ...] = ()
    places: tuple[int, ...] = ()


class Mode(Protocol):
    """Decides how one table is read. Owned by the reading thread."""

    order: tuple[sa.ColumnElement[Any], ...]
    keep: tuple[int, ...]
    """`delivered` needs the values of the columns at these places."""

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:
        """Return the place to go on from."""

    def delivered(self, page: Page) -> Offset | None:
        """Move the place behind this page, and give the offset to store with it."""

    def finished(self, until_us: int | None) -> Offset | None:
        """Return the offset to store when a pass ended without further rows; None if nothing new has to be stored.

        `until_us` is the instant before which the pass has read; it is None for a pass to the end.
        """


class Bulk:
    """Reads the whole table, ordered by its key if it has one, so that a broken pass goes on behind its last row."""

    def __init__(self, key: Ordering, stored: Offset | None, now_ms: Callable[[], int]) -> None:
        self.order = key.expressions
        self.keep: tuple[int, ...] = ()
        self._key = key
        last = offsets.bulk_key_of(stored)
        self._last = last if last is not None and len(last) == len(key.places) else None
        self._rows = offsets.bulk_rows_of(stored) if self._last is not None else 0
        self._now_ms = now_ms

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:  # noqa: ARG002 - the protocol's
        """Return the place behind the last delivered key."""
        return [BoundValue.at(literal(value)) for value in self._last or ()]

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset that says how far the pass came, or that it is finished."""
        self._rows += len(page)
        if page.following is None:
            return self._end()
        if not self._key.places:
            return None
        self._last = key_of(page, self._key)
        return offsets.bulk_progress(self._last, self._rows)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return the offset of a finished pass: a pass that was resumed may find that its remaining rows are gone."""
        del until_us
        return self._end() if self._last is not None else None

    @property
    def can_go_on(self) -> bool:
        """Return True if a pass that is broken off goes on behind its last row."""
        return bool(self._key.places)

    def restart(self) -> None:
        """Begin again at the table's first row if no key tells how far a broken pass came."""
        if not self.can_go_on:
            self._rows = 0

    def _end(self) -> Offset:
        rows, self._rows, self._last = self._rows, 0, None
        return offsets.bulk_finished(self._now_ms(), rows)


class Incrementing:
    """Reads rows with a larger id than any before."""

    def __init__(self, column: Ordering, stored: Offset | None, initial: int) -> None:
        self.order = column.expressions
        self.keep: tuple[int, ...] = ()
        self._place = column.places[0]
        known = offsets.id_of(stored)
        self._last = initial if known is None else known

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:  # noqa: ARG002 - the protocol's
        """Return the place behind the last id."""
        return [BoundValue.at(literal(self._last))]

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset with the id of the last row."""
        assert page.last is not None
        self._last = whole_id(page.last[self._place])
        return offsets.incrementing(self._last)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return None, as there is nothing new to store."""
        del until_us
        return None


class Timestamps:
    """Reads the timestamp of each row of a page: the first of several columns that is not null."""

    def __init__(self, table: str, names: Sequence[str], places: Sequence[int], zone: ZoneInfo) -> None:
        self._table = table
        self._names = names
        self.places = tuple(places)
        self._zone = zone

    def of(self, page: Page) -> pa.Int64Array:
        """Return the timestamps of a page in microseconds since the epoch, checked to be in order."""
        try:
            instants = pc.coalesce(*(temporal.instants(values, self._zone) for values in page.kept))
        except (temporal.Misfit, pa.ArrowException) as error:
            raise self._error(f"a timestamp cannot be read: {error}") from error
        if pc.all(pc.less_equal(instants[:-1], instants[1:])).as_py() is False or self._has_two_forms(page, instants):
            raise self._error("the order of the stored values is not the order of time, because their forms are mixed")
        return instants

    def _has_two_forms(self, page: Page, instants: pa.Int64Array) -> bool:
        # An instant that is text in two forms (12:00:00, 12:00:00.000) would be ordered by its form before the key.
        if any(isinstance(values, pa.Array) or temporal.kinds(values) - {str} for values in page.kept):
            return False
        text = pc.coalesce(*(pa.array(values, pa.string()) for values in page.kept))
        if page.following is not None:
            instants = pa.concat_arrays([instants, pa.array([self.one(page.following)], pa.int64())])
            ahead = next(page.following[i] for i in self.places if page.following[i] is not None)
            text = pa.concat_arrays([text, pa.array([ahead], pa.string())])
        same = pc.equal(instants[:-1], instants[1:])
        return pc.any(pc.and_(same, pc.not_equal(text[:-1], text[1:]))).as_py() is True

    def one(self, row: Sequence[Any]) -> int:
        """Return the timestamp of a single row."""
        value = next(row[i] for i in self.places if row[i] is not None)
        return int(temporal.instants((value,), self._zone)[0].as_py())

    def _error(self, what: str) -> SchemaError:
        return SchemaError(
            f"Table {self._table}: {what}.",
            field=", ".join(self._names),
            fix="Write all timestamps of the column in one form, as 2024-02-29 12:34:56.123456.",
        )


class Timestamp:
    """Reads rows whose timestamp is later than any before.

    The stored timestamp moves only when no further row has the same one. If the table has a key, the offset also holds
    the last key among rows of an unfinished timestamp, so that a restart repeats none of them.
    """

    def __init__(
        self, column: sa.ColumnElement[Any], key: Ordering, times: Timestamps, stored: Offset | None, begin_us: int
    ) -> None:
        self.order = (column, *key.expressions)
        self.keep = times.places
        self._key = key
        self._times = times
        known = offsets.instant_us_of(stored)
        self._finished_us = begin_us if known is None else known
        tie = offsets.tie_of(stored)
        self._tie = tie if tie is not None and len(tie[1]) == len(key.places) and key.places else None

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:
        """Return the place behind the last row of the unfinished timestamp, or behind the finished one."""
        assert form is not None
        if self._tie is None:
            return [form.edge(self._finished_us)]
        instant, key = self._tie
        return [form.edge(instant), *(BoundValue.at(literal(value)) for value in key)]

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset with the last timestamp that no further row can have."""
        instants = self._times.of(page)
        last = int(instants[-1].as_py())
        if page.following is None or self._times.one(page.following) > last:
            self._finished_us, self._tie = last, None
            return offsets.timestamp(last)
        before = pc.max(instants.filter(pc.less(instants, last))).as_py()
        self._finished_us = self._finished_us if before is None else int(before)
        if not self._key.places:
            return offsets.timestamp(self._finished_us)
        key = key_of(page, self._key)
        self._tie = (last, key)
        return offsets.timestamp_with_tie(self._finished_us, last, key)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return the offset of a finished timestamp: the other rows with this timestamp may be gone.

        A pass that ended before this timestamp has seen none of them: the time up to which rows are read can go back.
        """
        if self._tie is None or (until_us is not None and until_us <= self._tie[0]):
            return None
        self._finished_us, self._tie = self._tie[0], None
        return offsets.timestamp(self._finished_us)


class TimestampIncrementing:
    """Reads rows with a later timestamp than any before, or with the same timestamp and a larger id."""

    def __init__(
        self, column: sa.ColumnElement[Any], ids: Ordering, times: Timestamps, stored: Offset | None, begin: Begin
    ) -> None:
        self.order = (column, *ids.expressions)
        self.keep = times.places
        self._place = ids.places[0]
        self._times = times
        instant, last = offsets.instant_us_of(stored), offsets.id_of(stored)
        self._instant_us = begin.instant_us if instant is None else instant
        self._last = begin.id if last is None else last

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:
        """Return the place behind the last row."""
        assert form is not None
        return [form.edge(self._instant_us), BoundValue.at(literal(self._last))]

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset with the timestamp and id of the last row."""
        self._instant_us = int(self._times.of(page)[-1].as_py())
        assert page.last is not None
        self._last = whole_id(page.last[self._place])
        return offsets.timestamp_incrementing(self._instant_us, self._last)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return None, as there is nothing new to store."""
        del until_us
        return None


@dataclass(frozen=True, slots=True)
class Begin:
    """Tells where reading begins without a stored offset."""

    instant_us: int
    id: int


def key_of(page: Page, key: Ordering) -> tuple[object, ...]:
    """Return the key of a page's last row."""
    assert page.last is not None
    return tuple(page.last[i] for i in key.places)


def whole_id(value: Any) -> int:
    """Return an id as a driver gives it; SchemaError for what an offset cannot hold."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        # Readers that fetch Arrow give decimals as text.
        value = Decimal(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise SchemaError(
            f"An incrementing column must hold whole numbers of 64 bits, but there is a {type(value).__name__}.",
            key="incrementing.column.name",
            fix="Name another column, or use mode=timestamp.",
        )
    return value


def literal(value: object) -> sa.ColumnElement[Any]:
    """Return a bound parameter for a key value."""
    return sa.literal(value, sa.BigInteger) if isinstance(value, int) else sa.literal(value)
