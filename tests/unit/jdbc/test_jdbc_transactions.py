"""Events get the places in their transactions that a plain count gives them, however the log is cut into chunks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pytest

from connect.api.records import Batch, Column
from connectors.jdbc.log.shared.transactions import EVENTS_OF_CHANGE, CountedEvents, Transaction, Transactions

BLOCK = pa.struct([("id", pa.string()), ("total_order", pa.int64()), ("data_collection_order", pa.int64())])
TABLES = ("s.a", "s.b", "s.c")


class Event(NamedTuple):
    """A change of a table: its transaction, its place among all changes, and if only a tombstone tells it."""

    transaction: int
    place: int
    table: str
    is_tombstone: bool


def _log(draw: random.Random) -> list[Event]:
    events = []
    for transaction in range(1, draw.randrange(2, 6)):
        places = range(1, draw.randrange(1, 9))
        events += [Event(transaction, place, draw.choice(TABLES), draw.random() < 0.1) for place in places]
    return events


def _parts(events: Sequence[Event]) -> list[CountedEvents]:
    """Return the events by table, as a chunk has them."""
    parts = []
    for table in TABLES:
        own = [event for event in events if event.table == table]
        if own:
            blocks = [
                None if e.is_tombstone else {
                    "transaction": {
                        "id": f"t{e.transaction}", "total_order": e.place * EVENTS_OF_CHANGE,
                        "data_collection_order": e.transaction,
                    }
                }
                for e in own
            ]  # fmt: skip
            array = pa.array(blocks, pa.struct([("transaction", BLOCK)]))
            told = {e.transaction: Transaction(e.transaction, f"t{e.transaction}", 0) for e in own}
            parts.append(CountedEvents(table, Batch(table, Column.from_arrow(array)), told))
    return parts


def _model(events: Sequence[Event]) -> list[tuple[str, str, int, int]]:
    of_all: Counter[int] = Counter()
    of_table: Counter[tuple[int, str]] = Counter()
    found = []
    for event in events:
        if not event.is_tombstone:
            of_all[event.transaction] += 1
            of_table[event.transaction, event.table] += 1
            at = of_table[event.transaction, event.table]
            found.append((event.table, f"t{event.transaction}", of_all[event.transaction], at))
    return sorted(found)


def _told(batches: Sequence[Batch]) -> list[tuple[str, str, int, int]]:
    rows = [(b.topic, row["transaction"]) for b in batches for row in b.values.arrow().to_pylist() if row is not None]
    return [(topic, at["id"], at["total_order"], at["data_collection_order"]) for topic, at in rows]


@pytest.mark.parametrize("seed", range(30))
def test_places_are_those_of_a_plain_count(seed: int) -> None:
    draw = random.Random(seed)
    events = _log(draw)
    transactions, found, told, start = Transactions("p.transaction"), [], [], 0
    while start < len(events):
        stop = min(len(events), start + draw.randrange(1, 8))
        chunk = events[start:stop]
        # The last one of a chunk is open where the next chunk goes on with it.
        is_open = stop < len(events) and events[stop].transaction == chunk[-1].transaction
        open_ = chunk[-1].transaction if is_open else None
        batches, records = transactions.numbered(_parts(chunk), open_=open_, reached=(0, 0))
        found += _told(batches)
        told += [] if records is None else records.values.rows()
        start = stop
    assert sorted(found) == _model(events)
    whole = Counter(event.transaction for event in events if not event.is_tombstone)
    expected = [
        [("BEGIN", f"t{number}", None), ("END", f"t{number}", count)] for number, count in sorted(whole.items())
    ]
    assert [(row["status"], row["id"], row["event_count"]) for row in told] == [one for two in expected for one in two]


def test_a_transaction_whose_begin_was_told_ends_alone() -> None:
    events = [Event(5, place, "s.a", is_tombstone=False) for place in (1, 2, 3)]
    _, records = Transactions("t").numbered(_parts(events), open_=None, reached=(5, 1))
    assert records is not None
    assert [row["status"] for row in records.values.rows()] == ["END"]
    _, records = Transactions("t").numbered(_parts(events[1:]), open_=None, reached=(5, 1))
    assert records is not None
    assert [row["status"] for row in records.values.rows()] == ["BEGIN", "END"]


def test_a_chunk_without_events_tells_nothing_or_an_end() -> None:
    transactions = Transactions("t")
    assert transactions.numbered([], open_=None, reached=(0, 0)) == ([], None)
    _, begun = transactions.numbered(_parts([Event(1, 1, "s.a", is_tombstone=False)]), open_=1, reached=(0, 0))
    assert [row["status"] for row in begun.values.rows()] == ["BEGIN"]  # type: ignore[union-attr]
    _, ended = transactions.numbered([], open_=None, reached=(0, 0), ended_id=lambda one: f"{one.id}:end")
    assert [(row["status"], row["id"]) for row in ended.values.rows()] == [("END", "t1:end")]  # type: ignore[union-attr]
