"""Decodes many messages of PostgreSQL's logical replication (pgoutput) into changes by table, in columns. Pure; no I/O.

Source: PostgreSQL's documentation, "Logical Replication Message Formats" (protocol version 1) and "Streaming
Replication Protocol" (XLogData). Integers are big-endian; a log sequence number (LSN) has 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from connect.api.errors import ConnectError
from connectors.jdbc.log.postgres.notes import NOTE, Notes, notes_of, within_transactions
from connectors.jdbc.log.postgres.origins import (
    BEGIN,
    COMMIT,
    LSN_AT,
    SENDER,
    XLOG_HEADER,
    Framing,
    Origin,
    TransactionState,
)
from connectors.jdbc.log.shared.cells import UNCHANGED, Buffer, Bytes, Cells, Places

INSERT, UPDATE, DELETE = ord("I"), ord("U"), ord("D")
_RELATION, _TRUNCATE = ord("R"), ord("T")
_UNKNOWN = np.ones(256, np.bool_)
"""An entry is True if the kind of a message is not known. Y is also known: types."""
_UNKNOWN[[BEGIN, COMMIT, _RELATION, INSERT, UPDATE, DELETE, _TRUNCATE, ord("Y"), SENDER, NOTE]] = False
_OLD_KEY, _OLD_ROW, _NEW = ord("K"), ord("O"), ord("N")


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """Describes a column as the log does. `in_identity` is True if deletes hold its value."""

    name: str
    type_oid: int
    modifier: int
    in_identity: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """Describes a table as it was when a transaction changed it. `identity` is d default, n nothing, f full or i
    index.
    """

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Holds inserts, updates and deletes of one table in order.

    `old` are the changes with a row in `before`, `new` those with one in `after`.
    """

    relation: Relation
    kind: Bytes
    origin: Origin
    buffer: Buffer
    old: Places
    before: Sequence[Cells]
    new: Places
    after: Sequence[Cells]


@dataclass(frozen=True, slots=True)
class Truncation:
    """Tells that one statement emptied tables."""

    relations: tuple[Relation, ...]
    origin: Origin


@dataclass(slots=True)
class LogState(TransactionState):
    """Holds what earlier messages told: the tables, and the last transaction."""

    relations: dict[int, Relation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Holds the messages of changes that come between two descriptions of tables."""

    buffer: Buffer
    kind: Bytes
    at: Places
    origin: Origin


@dataclass(frozen=True, slots=True)
class Messages:
    """Holds XLogData messages in one buffer, perhaps with others between them.

    `starts` are the places of the messages, in ascending order.
    """

    content: bytes
    starts: Places

    @classmethod
    def of(cls, messages: Sequence[bytes | memoryview]) -> Messages:
        """Join messages that lie apart."""
        sizes = np.fromiter(map(len, messages), np.int64, len(messages))
        return cls(b"".join(messages), np.cumsum(sizes) - sizes)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def last_lsn(self) -> int:
        """Return the LSN at which the last message begins in the log."""
        return int(struct.unpack_from(">Q", self.content, int(self.starts[-1]) + LSN_AT)[0])

    def body(self, number: int) -> bytes:
        """Return the content of one message, perhaps with more bytes behind it."""
        end = int(self.starts[number + 1]) if number + 1 < len(self.starts) else len(self.content)
        return self.content[int(self.starts[number]) + XLOG_HEADER : end]


def decode(messages: Messages, state: LogState) -> Iterator[Changes | Truncation | Notes]:
    """Yield the changes in XLogData messages, by runs in which no table changes its columns; move `state` behind them.

    Within a run, all changes of a table come together. The notes of all messages come last. ConnectError: a message of
    another protocol version, or none.
    """
    try:
        yield from _decoded(messages, state)
    except (IndexError, struct.error, KeyError, ValueError) as error:
        raise ConnectError(f"The log holds a message that is none of pgoutput's ({type(error).__name__}).") from error


def _decoded(messages: Messages, state: LogState) -> Iterator[Changes | Truncation | Notes]:
    buffer, starts = Buffer(messages.content), messages.starts
    kinds = buffer.bytes[starts + XLOG_HEADER]
    row = (kinds == INSERT) | (kinds == UPDATE) | (kinds == DELETE)
    truncates = kinds == _TRUNCATE
    changed, is_note = row | truncates, kinds == NOTE
    framing = Framing.of(buffer, starts, kinds, state)
    origin, notes = framing.origin(buffer, changed, state.place), None
    if is_note.any():
        bodies = map(messages.body, np.flatnonzero(is_note).tolist())
        notes = notes_of(framing, buffer, is_note, bodies, changes=changed, state=state)
    framing.move(buffer, state, changed, within_transactions(buffer, starts, kinds))
    steps: list[tuple[int, Relation | None]] = [(i, None) for i in np.flatnonzero(truncates).tolist()]
    # Each change is read by the description before it, as a table may be altered and altered back within these
    # messages.
    known = dict(state.relations)
    for i in np.flatnonzero(kinds == _RELATION).tolist():
        described = _relation(messages.body(i))
        if known.get(described.oid) != described:
            known[described.oid] = described
            steps.append((i, described))
    unknown = _UNKNOWN[kinds]
    if unknown.any():
        raise ConnectError(f"The log holds a message of kind {chr(int(kinds[unknown][0]))!r}, which is not known here.")
    changes = np.cumsum(changed)
    first = 0
    for i, relation in [*sorted(steps, key=lambda step: step[0]), (len(messages), None)]:
        rows = first + np.flatnonzero(row[first:i])
        yield from _run(_Rows(buffer, kinds[rows], starts[rows] + XLOG_HEADER, origin.take(changes[rows] - 1)), state)
        if relation is not None:
            state.relations[relation.oid] = relation
        elif i < len(messages):
            yield _truncation(messages.body(i), origin.take(changes[i : i + 1] - 1), state)
        first = i + 1
    if notes is not None:
        yield notes


def _run(run: _Rows, state: LogState) -> Iterator[Changes]:
    oids = run.buffer.numbers(">u4", run.at + 1)
    for oid in _in_order(oids):
        mine = np.flatnonzero(oids == oid)
        relation = state.relations.get(oid)
        if relation is None:
            raise ConnectError(f"The log changes a table (oid {oid}) that it did not describe.")
        yield _changes(relation, run.buffer, run.kind[mine], run.at[mine], run.origin.take(mine))


def _in_order(oids: Places) -> list[int]:
    if len(oids) and (oids == oids[0]).all():
        return [int(oids[0])]
    found, first = np.unique(oids, return_index=True)
    return [int(o) for o in found[np.argsort(first)]]


def _changes(relation: Relation, buffer: Buffer, kind: Bytes, at: Places, origin: Origin) -> Changes:
    marks = buffer.bytes[at + 5]
    has_old = (marks == _OLD_KEY) | (marks == _OLD_ROW)
    old = np.flatnonzero(has_old)
    tuples = at + 6
    _check_counts(relation, buffer, tuples)
    before, ends = buffer.tuples(tuples[old] + 2, len(relation.columns))
    has_new = kind != DELETE
    new = np.flatnonzero(has_new)
    behind = tuples.copy()
    behind[old] = ends + 1
    _check_counts(relation, buffer, behind[new])
    after, _ = buffer.tuples(behind[new] + 2, len(relation.columns))
    changes = Changes(relation, kind, origin, buffer, old, before, new, after)
    return replace(changes, after=_with_old_values(changes)) if len(old) else changes


def _with_old_values(changes: Changes) -> Sequence[Cells]:
    """Return the columns of the new rows, with the old row's value where an update left one as it was that the log
    does not repeat.

    The log leaves out large values that did not change, also those of a key, which the old row then has.
    """
    at_old = np.full(len(changes.kind), -1, np.int64)
    at_old[changes.old] = np.arange(len(changes.old))
    at_old = at_old[changes.new]
    made = []
    for column, before, after in zip(changes.relation.columns, changes.before, changes.after, strict=True):
        unknown = (after.kind == UNCHANGED) & (at_old >= 0)
        is_known = column.in_identity and unknown.any()
        made.append(after.filled(unknown, before.take(at_old[unknown])) if is_known else after)
    return made


def _check_counts(relation: Relation, buffer: Buffer, at: Places) -> None:
    if (buffer.numbers(">i2", at) != len(relation.columns)).any():
        name = f"{relation.schema}.{relation.table}"
        raise ConnectError(f"A row of table {name} in the log has another number of columns than the log said.")


def _truncation(message: bytes, origin: Origin, state: LogState) -> Truncation:
    (count,) = struct.unpack_from(">I", message, 1)
    oids = struct.unpack_from(f">{count}I", message, 6)
    return Truncation(tuple(state.relations[oid] for oid in oids), origin)


def _relation(message: bytes) -> Relation:
    (oid,) = struct.unpack_from(">I", message, 1)
    schema, at = _text(message, 5)
    table, at = _text(message, at)
    identity = chr(message[at])
    (count,) = struct.unpack_from(">H", message, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = message[at]
        name, at = _text(message, at + 1)
        type_oid, modifier = struct.unpack_from(">Ii", message, at)
        columns.append(RelationColumn(name, type_oid, modifier, bool(flags & 1)))
        at += 8
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def _text(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(0, at)
    return message[at:end].decode(), end + 1
