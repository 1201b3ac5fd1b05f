"""Numbers events within their transactions, and makes the records that tell where those begin and end. Pure.

A chunk holds the events of several transactions, table by table. The records come behind the chunk's events, in the
order of the transactions. Source: Debezium 3's documentation, "Transaction metadata".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connect.api import schema as s
from connect.api.records import Batch, Column

_PACKAGE: Final = "io.debezium.connector.common.TransactionMetadata"
_KEY = replace(s.struct({"id": s.STRING}, name=f"{_PACKAGE}Key"), version=1)
_COLLECTION = replace(
    s.struct({"data_collection": s.STRING, "event_count": s.INT64}, name="event.collection"), version=1
)
_VALUE = replace(
    s.struct(
        {
            "status": s.STRING, "id": s.STRING, "event_count": s.INT64.as_optional(),
            "data_collections": s.array(_COLLECTION.as_optional()).as_optional(), "ts_ms": s.INT64,
        },
        name=f"{_PACKAGE}Value",
    ),
    version=1,
)  # fmt: skip
TRANSACTION: Final = "transaction"
"""This is the member of an event that names its transaction."""
Indices = npt.NDArray[np.int64]
_NO_TRANSACTION: Final = -1
EVENTS_OF_CHANGE: Final = 4
"""No change has more records than this. A row whose key changed has a delete, a tombstone and a create."""


class Transaction(NamedTuple):
    """Identifies a transaction: `number` orders transactions, and `id` is its name in records."""

    number: int
    id: str
    ts_ms: int


class CountedEvents(NamedTuple):
    """Holds records of one table whose member `transaction` is provisional, as `Transactions.numbered` describes it."""

    table: str
    batch: Batch
    transactions: Mapping[int, Transaction]


@dataclass(slots=True)
class _Open:
    """Holds the numbers of an open transaction's events by table, in the order in which the tables came."""

    transaction: Transaction
    events: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.events.values())


class Transactions:
    """Counts the events of transactions across the chunks in which they are read. Owned by the reading thread."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._open: _Open | None = None

    def numbered(
        self,
        parts: Sequence[CountedEvents],
        *,
        open_: int | None,
        reached: tuple[int, int],
        first: int | None = None,
        ended_id: Callable[[Transaction], str] = lambda one: one.id,
    ) -> tuple[list[Batch], Batch | None]:
        """Return the records with their places in transactions, and the records that tell where transactions begin and
        end.

        The latter are None if there are none. A provisional `transaction` holds the transaction's number as its
        `data_collection_order`, and as its `total_order` a number that orders its events. `open_` is the number of the
        transaction that is open behind these events, or None if none is. `reached` is the transaction and the place in
        it up to which all records were delivered before. `first` is the number here of the transaction that was open
        before, if that changed. `ended_id` returns a transaction's name in the record of its end.
        """
        counted: dict[int, _Open] = {}
        if self._open is not None:
            number = self._open.transaction.number if first is None else first
            self._open.transaction = self._open.transaction._replace(number=number)
            counted[number] = self._open
        known = {number: told for part in parts for number, told in part.transactions.items()}
        numbers, orders, tables = _provisional(parts)
        begun = {number for number in np.unique(numbers).tolist() if number in known.keys() - counted.keys()}
        counted |= {number: _Open(known[number]) for number in begun}
        of_all, of_table = _places(counted, numbers, orders, tables, [part.table for part in parts])
        batches, at = [], 0
        for part in parts:
            size = len(part.batch)
            batches.append(_with_places(part.batch, of_all[at : at + size], of_table[at : at + size]))
            at += size
        if ((numbers == reached[0]) & (orders < (reached[1] + 1) * EVENTS_OF_CHANGE)).any():
            # These events are sent again, behind the record that says that their transaction has begun.
            begun.discard(reached[0])
        rows: list[Mapping[str, object]] = []
        for number, one in sorted(counted.items()):
            if number in begun:
                rows.append(_beginning(one.transaction))
            if number != open_:
                rows.append(_end(one, ended_id(one.transaction)))
        self._open = counted.get(open_) if open_ is not None else None
        return batches, self._batch(rows) if rows else None

    def _batch(self, rows: Sequence[Mapping[str, object]]) -> Batch:
        keys = Column.from_rows([{"id": row["id"]} for row in rows], _KEY)
        return Batch(self._topic, Column.from_rows(list(rows), _VALUE), keys=keys)


def _beginning(one: Transaction) -> Mapping[str, object]:
    return {"status": "BEGIN", "id": one.id, "event_count": None, "data_collections": None, "ts_ms": one.ts_ms}


def _end(one: _Open, id_: str) -> Mapping[str, object]:
    collections = [{"data_collection": name, "event_count": count} for name, count in one.events.items()]
    return {
        "status": "END", "id": id_, "event_count": one.total, "data_collections": collections,
        "ts_ms": one.transaction.ts_ms,
    }  # fmt: skip


def _provisional(parts: Sequence[CountedEvents]) -> tuple[Indices, Indices, Indices]:
    """Return three arrays over all records: the transaction's number (-1 for tombstones), the event's order, and the
    part.
    """
    numbers, orders = [], []
    for part in parts:
        array = part.batch.values.arrow()
        told = array.field(array.type.get_field_index(TRANSACTION))
        number = told.field("data_collection_order").to_numpy(zero_copy_only=False)
        numbers.append(np.where(array.is_null().to_numpy(zero_copy_only=False), _NO_TRANSACTION, number))
        orders.append(told.field("total_order").to_numpy(zero_copy_only=False))
    sizes = [len(part.batch) for part in parts]
    empty: list[Indices] = [np.empty(0, np.int64)]
    return (
        np.concatenate(empty + numbers).astype(np.int64), np.concatenate(empty + orders).astype(np.int64),
        np.repeat(np.arange(len(parts)), sizes),
    )  # fmt: skip


def _places(
    counted: Mapping[int, _Open], numbers: Indices, orders: Indices, parts: Indices, names: Sequence[str]
) -> tuple[Indices, Indices]:
    """Count the records. Return their places in their transactions and among those of their table; tombstones have
    0.
    """
    by_name = {name: i for i, name in enumerate(dict.fromkeys(names))}
    told = np.flatnonzero(numbers >= 0)
    number, order = numbers[told], orders[told]
    table = np.array([by_name[name] for name in names], np.int64)[parts[told]]
    of_all, of_table = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
    of_all[told] = _ranked(order, number)
    of_table[told] = _ranked(order, table, number)
    listed = list(by_name)
    for first in {one.transaction.number for one in counted.values() if one.events}:
        before = counted[first]
        earlier = np.array([before.events.get(name, 0) for name in listed], np.int64)
        mine = told[number == first]
        of_all[mine] += before.total
        of_table[mine] += earlier[table[number == first]]
    for i in np.lexsort((order, number)).tolist():
        events = counted[int(number[i])].events
        name = listed[table[i]]
        events[name] = events.get(name, 0) + 1
    return of_all, of_table


def _ranked(order: Indices, *groups: Indices) -> Indices:
    """Return the place of each element, from 1, by `order` among the elements that have the same values in all
    `groups`.
    """
    by = np.lexsort((order, *groups))
    at = np.arange(len(by))
    is_first = at == 0
    for group in groups:
        is_first[1:] |= group[by][1:] != group[by][:-1]
    ranks = np.empty(len(by), np.int64)
    ranks[by] = at - np.maximum.accumulate(np.where(is_first, at, 0)) + 1
    return ranks


def _with_places(batch: Batch, of_all: Indices, of_table: Indices) -> Batch:
    """Return the records with these places in their transactions. A record of none stays so."""
    array, schema = batch.values.arrow(), batch.values.schema
    at = array.type.get_field_index(TRANSACTION)
    told = array.field(at)
    blocks = pa.StructArray.from_arrays(
        [told.field("id"), pa.array(of_all), pa.array(of_table)],
        fields=list(told.type),
        mask=told.is_null() if told.null_count else None,
    )
    columns = [blocks if i == at else array.field(i) for i in range(array.type.num_fields)]
    mask = array.is_null() if array.null_count else None
    made = pa.StructArray.from_arrays(columns, fields=list(array.type), mask=mask)
    return replace(batch, values=Column.from_arrow(made, schema))
