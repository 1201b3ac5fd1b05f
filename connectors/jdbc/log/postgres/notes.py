"""Decodes the notes of applications in PostgreSQL's log, which pg_logical_emit_message writes. Pure; no I/O.

Source: PostgreSQL's documentation, "Logical Replication Message Formats": Message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np

from connect.api.records import Batch
from connectors.jdbc.log.postgres.origins import XLOG_HEADER, Framing, Origin, TransactionState, transaction_ids
from connectors.jdbc.log.shared.cells import Buffer, Bytes, Mask, Places
from connectors.jdbc.log.shared.envelope import ProvisionalPlaces
from connectors.jdbc.log.shared.position import Coordinate, LogPosition
from connectors.jdbc.log.shared.transactions import EVENTS_OF_CHANGE

NOTE: Final = ord("M")
NOTES: Final = "LOGICAL_DECODING_MESSAGE"
"""No table has this name. Notes have it among the tables of a transaction, as in Debezium, and in positions."""
_FLAGS_AT: Final = XLOG_HEADER + 1
_WITHIN: Final = 1
"""A note with this flag is part of a transaction."""
_PREFIX_AT: Final = 10
"""A note has its kind, flags and LSN before its prefix."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Holds notes in the order of the log.

    A note that is part of a transaction comes with it, and its place is its number among the transaction's notes. Any
    other one stands alone: it has no transaction, the place 0, and its own LSN instead of a commit's. That is where its
    record ends, so that the commit of the transaction behind it may have the same one. `changes_before` tells how
    many changes the transaction has before each note.
    """

    origin: Origin
    stands_alone: Mask
    prefixes: Sequence[str]
    contents: Sequence[bytes]
    changes_before: Places

    def take(self, wanted: Mask) -> Notes:
        """Return these notes."""
        kept = np.flatnonzero(wanted).tolist()
        prefixes, contents = [self.prefixes[i] for i in kept], [self.contents[i] for i in kept]
        return Notes(
            self.origin.take(wanted), self.stands_alone[wanted], prefixes, contents, self.changes_before[wanted]
        )

    def __len__(self) -> int:
        return len(self.prefixes)


class TellsNotes(Protocol):
    """Makes records of notes."""

    def __call__(self, notes: Notes, source: Mapping[str, object], places: ProvisionalPlaces | None) -> Batch | None:
        """Return the records, or None if none of the notes is wanted.

        `source` holds the members of the source block that are the same for all. `places` are the provisional places in
        transactions, or None if records do not tell them.
        """


def within_transactions(buffer: Buffer, starts: Places, kinds: Bytes) -> Mask:
    """Return a mask of the messages that are notes within a transaction."""
    found: Mask = (kinds == NOTE) & (buffer.bytes[starts + _FLAGS_AT] == _WITHIN)
    return found


def notes_of(
    framing: Framing, buffer: Buffer, is_note: Mask, bodies: Iterable[bytes], *, changes: Mask, state: TransactionState
) -> Notes:
    """Return the notes among messages. `is_note` and `changes` mark the notes and the changes, `bodies` has the content
    of each note, and `state` is that before the messages.
    """
    at = np.flatnonzero(is_note)
    within = is_note & (buffer.bytes[framing.starts + _FLAGS_AT] == _WITHIN)
    alone = ~within[at]
    origin = framing.origin(buffer, is_note, 0)
    origin = replace(
        origin,
        final_lsn=np.where(alone, origin.lsn, origin.final_lsn),
        place=np.where(alone, 0, framing.counts(within, state.notes)[at]),
        xid=np.where(alone, 0, origin.xid),
        commit_us=np.where(alone, 0, origin.commit_us),
        last_commit_lsn=np.where(alone, origin.lsn, origin.last_commit_lsn),
        sender=np.where(alone, -1, origin.sender),
    )
    found = [_prefix_and_content(body) for body in bodies]
    prefixes, contents = [prefix for prefix, _ in found], [content for _, content in found]
    return Notes(origin, alone, prefixes, contents, framing.counts(changes, state.place)[at])


def _prefix_and_content(body: bytes) -> tuple[str, bytes]:
    end = body.index(0, _PREFIX_AT)
    (size,) = struct.unpack_from(">I", body, end + 1)
    content = body[end + 5 : end + 5 + size]
    if len(content) < size:
        raise ValueError("the content of a note reaches beyond its message")
    # A server whose encoding is SQL_ASCII may send any bytes.
    return body[_PREFIX_AT:end].decode(errors="replace"), content


def note_places(notes: Notes) -> ProvisionalPlaces:
    """Return where notes are in their transactions: each behind the changes before it. Those that stand alone have the
    number -1.
    """
    numbers = np.where(notes.stands_alone, -1, notes.origin.final_lsn)
    # The last number of a change is that of no event.
    orders = (notes.changes_before + 1) * EVENTS_OF_CHANGE - 1
    return ProvisionalPlaces(transaction_ids(notes.origin), numbers, orders)


def undelivered(notes: Notes, position: LogPosition) -> Mask:
    """Return a mask of the notes that were not delivered before a position, ours or Debezium's."""
    done, told = position.ahead.get(NOTES, Coordinate()), position.told
    final_lsn, place = notes.origin.final_lsn, notes.origin.place
    fresh: Mask = (final_lsn > done.final_lsn) | ((final_lsn == done.final_lsn) & (place > done.place))
    if told is not None:
        # Debezium moves its place on with each note that stands alone.
        was_told = (notes.origin.xid == told.xid) & (notes.origin.lsn <= told.lsn)
        fresh &= ~np.where(notes.stands_alone, final_lsn <= position.commit_lsn, was_told)
    return fresh
