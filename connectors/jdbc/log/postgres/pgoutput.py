"""Decodes many messages of PostgreSQL's logical replication (pgoutput) into changes by table, in columns. Pure; no I/O.

Source: PostgreSQL's documentation, "Logical Replication Message Formats" (protocol version 1) and "Streaming
Replication Protocol" (XLogData). Integers are big-endian; a log sequence number (LSN) has 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from connect.api.errors import ConnectError
from connectors.jdbc.log.shared.cells import UNCHANGED, Buffer, Bytes, Cells, Mask, Places

XLOG_HEADER = 25
"""XLogData has this many bytes before its message: the letter w, start, end and clock."""
_POSTGRES_EPOCH_US = 946_684_800_000_000
_LSN_AT = 1
INSERT, UPDATE, DELETE = ord("I"), ord("U"), ord("D")
_BEGIN, _COMMIT, _RELATION, _TRUNCATE = ord("B"), ord("C"), ord("R"), ord("T")
_UNKNOWN = np.ones(256, np.bool_)
"""An entry is True if the kind of a message is not known.

Y, O and M are also known: types, origins and messages of the application, which change no row.
"""
_UNKNOWN[[_BEGIN, _COMMIT, _RELATION, INSERT, UPDATE, DELETE, _TRUNCATE, ord("Y"), ord("O"), ord("M")]] = False
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
class Origin:
    """Holds where changes come from, as arrays that have a value per change.

    `final_lsn` (of the transaction's commit) and `place` (from 1 within the transaction) order all changes of a log.
    """

    lsn: Places
    final_lsn: Places
    place: Places
    xid: Places
    commit_us: Places
    last_commit_lsn: Places

    def take(self, rows: Mask | Places) -> Origin:
        """Return these changes."""
        return Origin(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.lsn)


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
class LogState:
    """Holds what earlier messages told: the tables, and the open transaction.

    `commit_end_lsn` ends the last whole transaction; the server, asked to start there, sends nothing before it.
    `begins` and `ends` tell, by the commit's LSN, where transactions begin and end in the messages that were decoded
    last.
    """

    relations: dict[int, Relation] = field(default_factory=dict)
    commit_end_lsn: int = 0
    final_lsn: int = 0
    place: int = 0
    xid: int = 0
    commit_us: int = 0
    is_open: bool = False
    begins: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)


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
        return int(struct.unpack_from(">Q", self.content, int(self.starts[-1]) + _LSN_AT)[0])

    def body(self, number: int) -> bytes:
        """Return the content of one message, perhaps with more bytes behind it."""
        end = int(self.starts[number + 1]) if number + 1 < len(self.starts) else len(self.content)
        return self.content[int(self.starts[number]) + XLOG_HEADER : end]


def decode(messages: Messages, state: LogState) -> Iterator[Changes | Truncation]:
    """Yield the changes in XLogData messages, by runs in which no table changes its columns; move `state` behind them.

    Within a run, all changes of a table come together. ConnectError: a message of another protocol version, or none.
    """
    try:
        yield from _decoded(messages, state)
    except (IndexError, struct.error, KeyError, ValueError) as error:
        raise ConnectError(f"The log holds a message that is none of pgoutput's ({type(error).__name__}).") from error


def _decoded(messages: Messages, state: LogState) -> Iterator[Changes | Truncation]:
    buffer, starts = Buffer(messages.content), messages.starts
    kinds = buffer.bytes[starts + XLOG_HEADER]
    row = (kinds == INSERT) | (kinds == UPDATE) | (kinds == DELETE)
    truncates = kinds == _TRUNCATE
    origin = _origins(buffer, starts, kinds, row | truncates, state)
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
    changes = np.cumsum(row | truncates)
    first = 0
    for i, relation in [*sorted(steps, key=lambda step: step[0]), (len(messages), None)]:
        rows = first + np.flatnonzero(row[first:i])
        yield from _run(_Rows(buffer, kinds[rows], starts[rows] + XLOG_HEADER, origin.take(changes[rows] - 1)), state)
        if relation is not None:
            state.relations[relation.oid] = relation
        elif i < len(messages):
            yield _truncation(messages.body(i), origin.take(changes[i : i + 1] - 1), state)
        first = i + 1


def _origins(buffer: Buffer, starts: Places, kinds: Bytes, counted: Mask, state: LogState) -> Origin:
    """Return the origins of every change; an open transaction's come first."""
    body = starts + XLOG_HEADER + 1
    begins, commits = np.flatnonzero(kinds == _BEGIN), np.flatnonzero(kinds == _COMMIT)
    final = _behind(state.final_lsn, buffer.numbers(">i8", body[begins]))
    commit_us = _behind(state.commit_us, buffer.numbers(">i8", body[begins] + 8) + _POSTGRES_EPOCH_US)
    xid = _behind(state.xid, buffer.numbers(">u4", body[begins] + 16).astype(np.int64))
    ends = _behind(state.commit_end_lsn, buffer.numbers(">i8", body[commits] + 9))
    rows = np.flatnonzero(counted)
    transaction = np.searchsorted(begins, rows)
    total = np.cumsum(counted)
    before = _behind(-state.place, total[begins])
    origin = Origin(
        lsn=buffer.numbers(">i8", starts[rows] + _LSN_AT),
        final_lsn=final[transaction],
        place=total[rows] - before[transaction],
        xid=xid[transaction],
        commit_us=commit_us[transaction],
        last_commit_lsn=ends[np.searchsorted(commits, rows)],
    )
    open_ = {lsn: at for lsn, at in state.begins.items() if state.is_open and lsn == state.final_lsn}
    state.begins = open_ | dict(
        zip(final[1:].tolist(), buffer.numbers(">i8", starts[begins] + _LSN_AT).tolist(), strict=True)
    )
    committed = buffer.numbers(">i8", body[commits] + 1)
    state.ends = dict(zip(committed.tolist(), ends[1:].tolist(), strict=True))
    state.final_lsn, state.commit_us, state.xid = int(final[-1]), int(commit_us[-1]), int(xid[-1])
    state.commit_end_lsn = int(ends[-1])
    state.place = int(total[-1] - before[-1]) if len(total) else state.place
    last_begin, last_commit = (int(found[-1]) if len(found) else -1 for found in (begins, commits))
    state.is_open = last_begin > last_commit or (last_begin == last_commit and state.is_open)
    return origin


def _behind(first: int, numbers: Any) -> Places:
    return np.concatenate((np.array([first], np.int64), numbers))


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
