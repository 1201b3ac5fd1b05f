"""Puts the records that tell of transactions among those of a binary log's changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from connect.api.records import Batch
from connectors.jdbc.log.binlog.position import BinlogPosition, Row
from connectors.jdbc.log.mysql.binlog_changes import Changes, Collected
from connectors.jdbc.log.shared.envelope import ProvisionalPlaces
from connectors.jdbc.log.shared.transactions import CountedEvents, Transaction, Transactions
from connectors.jdbc.values.unconvertible_rows import BadRows

_TRANSACTIONS: Final = "transactions"
"""No table has this name. Records that tell of transactions come last, so that a position need not hold them as
ahead.
"""


STATEMENTS: Final = "statements"
"""No table has this name either. Under it a position holds which statement of a transaction was told last."""


@dataclass(frozen=True, slots=True)
class Part:
    """Holds records of a table, and the place of the last change among them. `transactions` has theirs by number.

    With `was_told` the records were delivered before: they are counted in their transactions, and not sent again.
    """

    table: str
    last: Row
    made: Batch | None
    bad: BadRows | None = None
    transactions: Mapping[int, Transaction] | None = None
    was_told: bool = False


def provisional_places(collected: Collected, changes: Changes) -> ProvisionalPlaces:
    """Return the transaction of each change, and its place there, in a provisional form."""
    ids = pa.array(collected.transactions, pa.string()).take(pa.array(changes.event))
    return ProvisionalPlaces(ids, changes.transaction, changes.row)


def transactions_of(collected: Collected, changes: Changes) -> Mapping[int, Transaction]:
    """Return the transactions of changes by number."""
    numbers, first = np.unique(changes.transaction, return_index=True)
    events = changes.event[first].tolist()
    return {
        number: Transaction(number, collected.transactions[event], collected.told[event].at_us // 1000)
        for number, event in zip(numbers.tolist(), events, strict=True)
    }


class ToldTransactions:
    """Tells where transactions begin and end. Owned by the reading thread."""

    def __init__(self, topic: str) -> None:
        self._transactions = Transactions(topic)

    def among(self, parts: Sequence[Part], position: BinlogPosition, open_: int | None) -> list[Part]:
        """Return the parts with their places in transactions, and behind them the records of where transactions begin
        and end.

        `open_` is the number of the transaction that is open behind the parts, or None if none is.
        """
        counted = [part for part in parts if part.made is not None]
        events = [CountedEvents(p.table, p.made, p.transactions or {}) for p in counted if p.made is not None]
        # A transaction that was open before is the first one here.
        batches, told = self._transactions.numbered(events, open_=open_, reached=position.reached, first=1)
        made = [
            Part(part.table, part.last, batch, part.bad)
            for part, batch in zip(counted, batches, strict=True)
            if not part.was_told
        ]
        made += [part for part in parts if part.made is None and not part.was_told]
        return made if told is None else [*made, Part(_TRANSACTIONS, Row(), told)]
