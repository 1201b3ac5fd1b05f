"""Leaves out the changes of a binary log that the first read has seen.

Asks the server for the order of texts, as only the server knows its collations.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog.packets import Operation
from connectors.jdbc.log.binlog.position import SnapshotEnd
from connectors.jdbc.log.mysql.binlog_changes import NONE, Changes, Indices, Mask
from connectors.jdbc.log.mysql.row_order import OrderColumn, RowOrder
from connectors.jdbc.log.shared.snapshot_segments import Fence, Key

_DOING = "asking for the order of keys"
_AT_ONCE = 500
"""The server compares at most this many pairs of texts in one question."""
_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SegmentFilter:
    """Finds the segment of the table that a row is in. Owned by the reading thread."""

    database: Database

    def shown(self, changes: Changes, fence: Fence[SnapshotEnd], hidden: Mask) -> Changes:
        """Return the changes that the first read has not seen.

        `hidden` is a matrix by change and segment: True if the segment's snapshot has the change. An update that moves
        a row from one segment to another becomes a delete or an insert if only one of the two snapshots has it.
        """
        if (hidden == hidden[:, :1]).all():
            return changes.take(~hidden[:, 0])
        at = np.arange(len(changes))
        shown = []
        for places in (changes.before, changes.after):
            there = places >= 0
            segments = self._segments(changes, places[there], fence)
            if segments is None:
                # A change that one of the snapshots lacks is sent: its row may have been read in that one.
                shown.append(there & ~hidden.all(axis=1))
                continue
            of_row = np.zeros(len(changes), np.int64)
            of_row[there] = segments
            shown.append(there & ~hidden[at, of_row])
        old, new = shown
        operation = changes.operation.copy()
        operation[(operation == Operation.UPDATE) & ~old] = Operation.INSERT
        operation[(operation == Operation.UPDATE) & ~new & old] = Operation.DELETE
        changed = replace(
            changes,
            operation=operation,
            before=np.where(old, changes.before, NONE),
            after=np.where(new, changes.after, NONE),
        )
        return changed.take(old | new)

    def _segments(self, changes: Changes, places: Indices, fence: Fence[SnapshotEnd]) -> Indices | None:
        """Return the number of each row's segment, or None if the table has another order by now."""
        order = changes.rows.table.order
        keys = keys_of(changes, places) if order.by == fence.by else None
        if keys is None:
            return None
        behind = self.bounds_before(order, list(dict.fromkeys(keys)), fence.bounds)
        return np.array([behind[key] for key in keys], np.int64)

    def bounds_before(self, order: RowOrder, keys: Sequence[Key], bounds: Sequence[Key]) -> dict[Key, int]:
        """Return for each key how many bounds are before it."""
        if order.is_digest:
            return {key: bisect_left(bounds, key) for key in keys}
        signs = [
            self._signs(column, [key[i] for key in keys], [bound[i] for bound in bounds])
            for i, column in enumerate(order.columns)
        ]
        total = signs[0]
        for further in signs[1:]:
            total = np.where(total == 0, further, total)
        return dict(zip(keys, (total > 0).sum(axis=1).tolist(), strict=True))

    def _signs(self, column: OrderColumn, texts: Sequence[str], bounds: Sequence[str]) -> Indices:
        """Return a matrix: 1 where a text (row) is behind a bound (column), 0 where both are equal, else -1."""
        pairs = [(text, bound) for text in texts for bound in bounds]
        if column.is_text:
            distinct = list(dict.fromkeys(pairs))
            answers = dict(zip(distinct, self._asked(column, distinct), strict=True))
            signs = [answers[pair] for pair in pairs]
        else:
            signs = [column.compared(*pair) for pair in pairs]
        return np.array(signs, np.int64).reshape(len(texts), len(bounds))

    def _asked(self, column: OrderColumn, pairs: Sequence[tuple[str, str]]) -> Iterator[int]:
        for first in range(0, len(pairs), _AT_ONCE):
            parts = [
                f"STRCMP({_literal(column, one)}, {_literal(column, other)}) AS a{number}"
                for number, (one, other) in enumerate(pairs[first : first + _AT_ONCE])
            ]
            (row,) = self.database.rows(sa.text(f"SELECT {', '.join(parts)}"), _DOING)
            self.database.end_transaction()
            yield from map(int, row)


def keys_of(changes: Changes, places: Indices) -> list[Key] | None:
    """Return the keys of rows in the present order of their table, or None if the order's columns have changed."""
    rows = changes.rows
    order = rows.table.order
    found = {plan.name: (number, plan) for number, plan in enumerate(rows.table.format.columns)}
    if any(column.name not in found or found[column.name][1].raw is not column.raw for column in order.columns):
        return None
    fields = changes.images.take(places)
    numbers = {column.name: found[column.name][0] for column in order.columns}
    return order.keys({name: rows.column(number, fields[number]) for name, number in numbers.items()})


def _literal(column: OrderColumn, text: str) -> str:
    """Return an SQL literal of the text with the column's collation."""
    assert _NAME.fullmatch(column.charset), column.charset
    assert _NAME.fullmatch(column.collation), column.collation
    return f"CONVERT(_utf8mb4 x'{text.encode().hex()}' USING {column.charset}) COLLATE {column.collation}"
