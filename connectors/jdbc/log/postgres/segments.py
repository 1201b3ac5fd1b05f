"""Leaves out the changes of PostgreSQL's log that the first read has seen.

Asks the server for the order of keys, as only the server knows its collations.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.dialects.postgres.result_types import BOOL, XML
from connectors.jdbc.log.postgres.pgoutput import DELETE, INSERT, UPDATE, Changes
from connectors.jdbc.log.postgres.tables import LogTable
from connectors.jdbc.log.shared.cells import Buffer, Cells, Mask
from connectors.jdbc.log.shared.snapshot_segments import Fence, Key
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility, hidden
from connectors.jdbc.settings.table_choice import TableName

_DOING = "asking for the order of keys"
_OF_DIGESTS = (
    "SELECT (SELECT count(*) FROM jsonb_array_elements_text(CAST(:bounds AS jsonb)) AS b(digest) "
    'WHERE md5(r.texts::text) COLLATE "C" > b.digest COLLATE "C") '
    "FROM jsonb_array_elements(CAST(:rows AS jsonb)) AS r(texts)"
)
"""The digests are those that `log/postgres/snapshot.py` makes."""


_AS_LOGGED = ("texts as logged",)
_TOLD_APART: frozenset[int] = frozenset({BOOL, XML})
"""The first release made digests of other texts of these types, so that a first read of it has another order."""


def order_of(table: LogTable) -> tuple[str, ...]:
    """Return what gives a table's rows their order: the columns of its key, or all columns if it has no key.

    With columns of which an earlier release took other texts, a mark stands before them.
    """
    if table.events.key:
        return table.events.key
    mark = () if _TOLD_APART.isdisjoint(table.bases) else _AS_LOGGED
    return (*mark, *_columns_of(table))


def _columns_of(table: LogTable) -> tuple[str, ...]:
    return table.events.key or tuple(column.name for column in table.relation.columns)


def shown(item: Changes, table: LogTable, fence: Fence[SnapshotVisibility], database: Database) -> Changes:
    """Return the changes that the first read has not seen.

    An update that moves a row from one segment to another becomes a delete or an insert if only one of the two
    snapshots holds it.
    """
    masks = hidden(fence, item.origin.xid, item.origin.final_lsn)
    if all((mask == masks[0]).all() for mask in masks[1:]):
        return only(item, ~masks[0])
    old_hidden, new_hidden = _by_row(item, table, fence, masks, database)
    has_old, has_new = item.kind != INSERT, item.kind != DELETE
    old_shown, new_shown = has_old & ~old_hidden, has_new & ~new_hidden
    kind = item.kind.copy()
    kind[(item.kind == UPDATE) & ~old_shown] = INSERT
    kind[(item.kind == UPDATE) & ~new_shown] = DELETE
    # A change that became an insert has no row before it, and one that became a delete has no row after it.
    old, new = kind[item.old] != INSERT, kind[item.new] != DELETE
    changed = replace(
        item, kind=kind,
        old=item.old[old], before=[c.take(old) for c in item.before],
        new=item.new[new], after=[c.take(new) for c in item.after],
    )  # fmt: skip
    return only(changed, old_shown | new_shown)


def only(item: Changes, kept: Mask) -> Changes:
    """Return the changes for which `kept` is True."""
    if kept.all():
        return item
    old, new = kept[item.old], kept[item.new]
    number = np.cumsum(kept) - 1
    return Changes(
        item.relation, item.kind[kept], item.origin.take(kept), item.buffer,
        number[item.old[old]], [c.take(old) for c in item.before],
        number[item.new[new]], [c.take(new) for c in item.after],
    )  # fmt: skip


def _by_row(
    item: Changes, table: LogTable, fence: Fence[SnapshotVisibility], hidden_by: Sequence[Mask], database: Database
) -> tuple[Mask, Mask]:
    """Return two masks by change.

    A mask is True where the first read has the change: the first judges by the row before it, the second by the row
    after it.
    """
    count = len(item.kind)
    masks, at = np.stack(hidden_by), np.arange(count)
    if fence.by != order_of(table):
        # The table has another order by now. A change that one of the snapshots lacks is sent: its row may have been
        # read in that one.
        in_all: Mask = np.logical_and.reduce(masks)
        return in_all, in_all
    of_new = np.full(count, len(fence.segments) - 1)
    places = [[c.name for c in table.relation.columns].index(name) for name in _columns_of(table)]
    rows = _texts(item.buffer, item.after, places) + _texts(item.buffer, item.before, places)
    found = np.array(_segments(table, fence.bounds, rows, database), np.int64)
    of_new[item.new] = found[: len(item.new)]
    of_old = of_new.copy()
    of_old[item.old] = found[len(item.new) :]
    return masks[of_old, at], masks[of_new, at]


def key_texts(table: LogTable, buffer: Buffer, cells: Sequence[Cells]) -> list[Key]:
    """Return the keys of rows, as the texts that the log has. The text of a null is empty."""
    names = [column.name for column in table.relation.columns]
    found = _texts(buffer, cells, [names.index(name) for name in table.events.key])
    return [tuple("" if text is None else text for text in key) for key in found]


def sent_keys(
    operations: Sequence[str], before: Mapping[int, Key], after: Mapping[int, Key], skipped: Collection[str]
) -> set[Key]:
    """Return the keys of the events that changes have, without those of skipped operations.

    `before` and `after` hold the keys of old and new rows by the change's number. An update that moved its row has a
    delete and a create.
    """
    found = set()
    for number, operation in enumerate(operations):
        is_moved = operation == "u" and number in before and before[number] != after[number]
        for keys, event in ((before, "d"), (after, "c")):
            if number in keys and (event if is_moved else operation) not in skipped:
                found.add(keys[number])
    return found


def _texts(buffer: Buffer, cells: Sequence[Cells], places: Sequence[int]) -> list[list[str | None]]:
    columns = [column.to_pylist() for column in buffer.values([cells[place] for place in places])]
    return [[None if text is None else text.decode() for text in row] for row in zip(*columns, strict=True)]


def _segments(
    table: LogTable, bounds: Sequence[Key], rows: Sequence[Sequence[str | None]], database: Database
) -> list[int]:
    """Return for each row how many bounds are before it."""
    if table.events.key:
        statement = _of_keys(table)
        given: object = [dict(zip(table.events.key, row, strict=True)) for row in rows]
        limits: object = [dict(zip(table.events.key, bound, strict=True)) for bound in bounds]
    else:
        statement, given, limits = sa.text(_OF_DIGESTS), rows, [digest for (digest,) in bounds]
    bound_values = statement.bindparams(bounds=json.dumps(limits), rows=json.dumps(given))
    found = [int(row[0]) for row in database.rows(bound_values, _DOING)]
    database.end_transaction()
    return found


def _of_keys(table: LogTable) -> sa.TextClause:
    # Rows of the table's own type have its columns' types and collations.
    one, bound = (", ".join(f"{of}.{_quoted(name)}" for name in table.events.key) for of in ("r", "b"))
    of_type = "NULL::" + table.name.quoted.replace(":", r"\:")
    return sa.text(
        f"SELECT (SELECT count(*) FROM jsonb_populate_recordset({of_type}, CAST(:bounds AS jsonb)) AS b "  # noqa: S608 - it joins quoted names, no values of rows
        f"WHERE ROW({one}) > ROW({bound})) FROM jsonb_populate_recordset({of_type}, CAST(:rows AS jsonb)) AS r"
    )


def _quoted(name: str) -> str:
    return TableName(None, name).quoted.replace(":", r"\:")
