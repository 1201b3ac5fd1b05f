"""Reads PostgreSQL's transaction snapshots: which transactions had ended when a pass began. Pure, but for `take`.

A pass reads the row versions of transactions that ended before it and not before the last pass, so that every version
belongs to exactly one pass, whenever its transaction commits. Its rows are read in that very snapshot: in a later one,
a version that was replaced meanwhile would be in no pass. Source: PostgreSQL's functions on pg_snapshot and
pg_xact_status (documentation, "Transaction ID and Snapshot Information Functions").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database

_EPOCH = 2**32
_LONG_AGO = 10**9
_DOING: Final = "asking for the transactions that have ended"
_TRIES: Final = 5
_IN_PROGRESS: Final = "in progress"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Tells which transactions have ended: those below `upper` without those in `open`; all below `lower` have."""

    lower: int
    upper: int
    open: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """Write the snapshot as pg_snapshot does."""
        return f"{self.lower}:{self.upper}:{','.join(map(str, self.open))}"

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        """Parse a snapshot as pg_snapshot writes it."""
        lower, upper, rest = text.split(":")
        return cls(int(lower), int(upper), tuple(int(x) for x in rest.split(",") if x))

    def below(self, first: int) -> Snapshot:
        """Return the snapshot without `first` and later transactions: these count as not ended."""
        if self.upper <= first:
            return self
        return Snapshot(min(self.lower, first), first, tuple(x for x in self.open if x < first))

    def precedes(self, later: Snapshot) -> bool:
        """Return True if a later snapshot may be compared with this one: its numbers are not smaller and not too far
        ahead.
        """
        return self.upper <= later.upper and later.upper - self.lower < _LONG_AGO


class Pinned(NamedTuple):
    """Tells what the transaction that `pin` left open can see. With `is_whole` it sees nothing else."""

    snapshot: Snapshot
    is_whole: bool


def pin(database: Database) -> Pinned:
    """Open a transaction in whose snapshot the next statement reads. Return which transactions had ended then.

    pg_current_snapshot does not list subtransactions, so their state is asked for before and after. Those that end in
    between may be in the snapshot or not: they count as open, and the snapshot is taken again while tries are left.
    """
    for _ in range(_TRIES):
        before = take(database)
        pinned = _pinned(database, before)
        if pinned.is_whole:
            break
    return pinned


def _pinned(database: Database, before: Snapshot) -> Pinned:
    text, is_standby = database.pin(_DOING)
    shown = Snapshot.parse(text)
    asked = (set(before.open) | set(range(before.upper, shown.upper))) - set(shown.open)
    states = _states(database, [*sorted(asked), *shown.open])
    # The snapshot of a standby lists no open transactions. So each transaction whose state is asked for there may be a
    # subtransaction of an open one.
    may_hide = is_standby or any(states[x] != _IN_PROGRESS for x in shown.open)
    open_ = {x for x in asked if states[x] == _IN_PROGRESS}
    unsure = {x for x in asked - open_ if may_hide and states[x] == "committed"}
    listed = tuple(sorted({*shown.open, *open_, *unsure}))
    return Pinned(Snapshot(min([shown.lower, *listed]), shown.upper, listed), not unsure)


def _states(database: Database, transactions: Iterable[int]) -> dict[int, str]:
    """Return the states of transactions, asked in such an order that a subtransaction comes before the one it
    belongs to.
    """
    numbers = ",".join(map(str, transactions))
    if not numbers:
        return {}
    return {int(x): str(state) for x, state in database.rows(sa.text(_STATES).bindparams(numbers=numbers), _DOING)}


_STATES = """
SELECT x, pg_catalog.pg_xact_status(x::text::xid8)
FROM unnest(pg_catalog.string_to_array(:numbers, ',')::bigint[]) x
"""


def take(database: Database) -> Snapshot:
    """Return the transactions that have ended now, without subtransactions of open ones."""
    row = database.rows(sa.text(_TAKE), _DOING)[0]
    database.end_transaction()
    return Snapshot(int(row[0]), int(row[1]), tuple(int(x) for x in row[2] or ()))


_TAKE = """
SELECT lower, upper, ARRAY(
  SELECT x FROM generate_series(lower, upper - 1) x
  WHERE pg_catalog.pg_xact_status(x::text::xid8) = 'in progress' ORDER BY x)
FROM (
  SELECT pg_catalog.pg_snapshot_xmin(s)::text::bigint AS lower, pg_catalog.pg_snapshot_xmax(s)::text::bigint AS upper
  FROM pg_catalog.pg_current_snapshot() s
) b
"""


def ended_by(snapshot: Snapshot, xmin: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that the row's transaction is among those that had ended.

    `age` decides most rows cheaply; it is negative for rows older than two billion transactions, which are frozen.
    """
    return sa.or_(_age(xmin) > _age_of(snapshot.lower), _age(xmin) < 0, _is_visible(snapshot, xmin))


def ended_after(snapshot: Snapshot, xmin: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that the row's transaction is not among those that had ended."""
    return sa.and_(_age(xmin) >= 0, _age(xmin) <= _age_of(snapshot.lower), sa.not_(_is_visible(snapshot, xmin)))


def _age(xid: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    return sa.func.age(xid, type_=sa.Integer)


def _age_of(transaction: int) -> sa.ColumnElement[int]:
    # In PostgreSQL no normal transaction has a number below 3. Taking 3 instead does not change the comparison.
    number = max(transaction % _EPOCH, 3)
    return _age(sa.literal_column(f"'{number}'::xid"))


def _is_visible(snapshot: Snapshot, xmin: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    # A row has only the lower 32 bits of its transaction's number. Of all numbers with these bits, the one nearest to
    # the snapshot's end is right.
    name = sa.cast(xmin, sa.Text)
    distance = sa.cast(name, sa.BigInteger) - sa.literal_column(str(snapshot.upper % _EPOCH - _EPOCH - _EPOCH // 2))
    least: sa.ColumnElement[Any] = sa.literal_column(str(snapshot.upper - _EPOCH // 2))
    number = least + distance % sa.literal_column(str(_EPOCH))
    whole = sa.cast(sa.cast(number, sa.Text), _Named("xid8"))
    return sa.func.pg_visible_in_snapshot(
        whole, sa.cast(sa.literal(snapshot.text), _Named("pg_snapshot")), type_=sa.Boolean
    )


class _Named(sa.types.UserDefinedType[Any]):
    """Gives a PostgreSQL type its name in SQL."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name
