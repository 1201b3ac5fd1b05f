"""Tells where messages of PostgreSQL's logical replication come from: their transactions, and places in them. Pure.

Source: PostgreSQL's documentation, "Logical Replication Message Formats" (protocol version 1) and "Streaming
Replication Protocol" (XLogData). Integers are big-endian; a log sequence number (LSN) has 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.log.shared.cells import Buffer, Bytes, Mask, Places

XLOG_HEADER: Final = 25
"""XLogData has this many bytes before its message: the letter w, start, end and clock."""
LSN_AT: Final = 1
BEGIN, COMMIT, SENDER = ord("B"), ord("C"), ord("O")
_POSTGRES_EPOCH_US: Final = 946_684_800_000_000


class Sender(NamedTuple):
    """Names a server, by its replication origin, that a transaction was replicated from, and its commit's LSN there."""

    name: str
    lsn: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Holds where changes come from, as arrays that have a value per change.

    `final_lsn` (of the transaction's commit) and `place` (from 1 within the transaction) order all changes of a log.
    `sender` is the number in `senders` of the one that the transaction was replicated from, or -1.
    """

    lsn: Places
    final_lsn: Places
    place: Places
    xid: Places
    commit_us: Places
    last_commit_lsn: Places
    sender: Places
    senders: Sequence[Sender]

    def take(self, rows: Mask | Places) -> Origin:
        """Return these changes."""
        return Origin(
            self.lsn[rows], self.final_lsn[rows], self.place[rows], self.xid[rows], self.commit_us[rows],
            self.last_commit_lsn[rows], self.sender[rows], self.senders,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.lsn)


@dataclass(slots=True)
class TransactionState:
    """Holds what earlier messages told of the last transaction, which may be open.

    `commit_end_lsn` ends the last whole transaction; the server, asked to start there, sends nothing before it.
    `place` and `notes` count the changes and the notes of the last transaction, and it was replicated from `sender`,
    if that is not None. `begins` and `ends` tell, by the
    commit's LSN, where transactions begin and end in the messages that were decoded last.
    """

    commit_end_lsn: int = 0
    final_lsn: int = 0
    place: int = 0
    notes: int = 0
    xid: int = 0
    commit_us: int = 0
    is_open: bool = False
    sender: Sender | None = None
    begins: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Framing:
    """Holds the transactions of some messages; the one that was open before them comes first.

    `starts` are the places of the messages in a buffer, and `begins` and `commits` the numbers of those that begin and
    end a transaction.
    """

    starts: Places
    begins: Places
    commits: Places
    final_lsn: Places
    commit_us: Places
    xid: Places
    end_lsn: Places
    sender: Places
    senders: Sequence[Sender]

    @classmethod
    def of(cls, buffer: Buffer, starts: Places, kinds: Bytes, state: TransactionState) -> Framing:
        """Read the messages that begin and end transactions."""
        body = starts + XLOG_HEADER + 1
        begins, commits = np.flatnonzero(kinds == BEGIN), np.flatnonzero(kinds == COMMIT)
        told = np.flatnonzero(kinds == SENDER)
        before = [] if state.sender is None else [state.sender]
        sender = np.full(len(begins) + 1, -1)
        sender[0] = len(before) - 1
        sender[np.searchsorted(begins, told)] = len(before) + np.arange(len(told))
        return cls(
            starts,
            begins,
            commits,
            _behind(state.final_lsn, buffer.numbers(">i8", body[begins])),
            _behind(state.commit_us, buffer.numbers(">i8", body[begins] + 8) + _POSTGRES_EPOCH_US),
            _behind(state.xid, buffer.numbers(">u4", body[begins] + 16).astype(np.int64)),
            _behind(state.commit_end_lsn, buffer.numbers(">i8", body[commits] + 9)),
            sender,
            [*before, *(_sender(buffer, int(at)) for at in body[told])],
        )

    def origin(self, buffer: Buffer, counted: Mask, before: int) -> Origin:
        """Return the origins of the counted messages.

        Their places count them within their transactions. The one that was open before has `before` of them already.
        """
        at = np.flatnonzero(counted)
        transaction = np.searchsorted(self.begins, at)
        return Origin(
            lsn=buffer.numbers(">i8", self.starts[at] + LSN_AT),
            final_lsn=self.final_lsn[transaction],
            place=self.counts(counted, before)[at],
            xid=self.xid[transaction],
            commit_us=self.commit_us[transaction],
            last_commit_lsn=self.end_lsn[np.searchsorted(self.commits, at)],
            sender=self.sender[transaction],
            senders=self.senders,
        )

    def counts(self, counted: Mask, before: int) -> Places:
        """Return how many counted messages each message's transaction has up to it."""
        total = np.cumsum(counted)
        of_earlier = _behind(-before, total[self.begins])
        found: Places = total - of_earlier[np.searchsorted(self.begins, np.arange(len(counted)), side="right")]
        return found

    def move(self, buffer: Buffer, state: TransactionState, changes: Mask, notes: Mask) -> None:
        """Move `state` behind the messages. The masks mark changes, and notes within transactions."""
        open_ = {lsn: at for lsn, at in state.begins.items() if state.is_open and lsn == state.final_lsn}
        begun = buffer.numbers(">i8", self.starts[self.begins] + LSN_AT)
        state.begins = open_ | dict(zip(self.final_lsn[1:].tolist(), begun.tolist(), strict=True))
        committed = buffer.numbers(">i8", self.starts[self.commits] + XLOG_HEADER + 2)
        state.ends = dict(zip(committed.tolist(), self.end_lsn[1:].tolist(), strict=True))
        state.final_lsn, state.commit_us = int(self.final_lsn[-1]), int(self.commit_us[-1])
        state.xid, state.commit_end_lsn = int(self.xid[-1]), int(self.end_lsn[-1])
        state.sender = None if self.sender[-1] < 0 else self.senders[self.sender[-1]]
        if len(changes):
            state.place = int(self.counts(changes, state.place)[-1])
            state.notes = int(self.counts(notes, state.notes)[-1])
        last_begin, last_commit = (int(found[-1]) if len(found) else -1 for found in (self.begins, self.commits))
        state.is_open = last_begin > last_commit or (last_begin == last_commit and state.is_open)


def transaction_ids(origin: Origin) -> pa.StringArray:
    """Return the name of the transaction that each change's event tells."""
    texts = (pa.array(numbers).cast(pa.string()) for numbers in (origin.xid, origin.lsn))
    return pc.binary_join_element_wise(*texts, ":")


def source_members(origin: Origin) -> dict[str, object]:
    """Return the members of the source block that tell where changes come from."""
    lsn = pa.array(origin.lsn).cast(pa.string())
    last = pa.array(origin.last_commit_lsn).cast(pa.string())
    return {
        "ts_ms": origin.commit_us // 1000, "ts_us": origin.commit_us, "ts_ns": origin.commit_us * 1000,
        "snapshot": "false", "txId": origin.xid, "lsn": origin.lsn,
        "sequence": pc.binary_join_element_wise('["', last, '","', lsn, '"]', ""), **_sender_members(origin),
    }  # fmt: skip


def _sender_members(origin: Origin) -> dict[str, object]:
    """Return the members that name the server from which changes were replicated, if any were."""
    if not (origin.sender >= 0).any():
        return {}
    at = pa.array(origin.sender, mask=origin.sender < 0)
    names, lsns = zip(*origin.senders, strict=True)
    return {
        "origin": pa.array(names, pa.string()).take(at),
        "origin_lsn": pa.array(lsns, pa.int64()).take(at),
    }  # fmt: skip


def _sender(buffer: Buffer, at: int) -> Sender:
    """Read the sender behind the first byte of its message."""
    (lsn,) = buffer.numbers(">i8", np.array([at])).tolist()
    return Sender(buffer.text_bytes(at + 8).decode(errors="replace"), lsn)


def _behind(first: int, numbers: Any) -> Places:
    return np.concatenate((np.array([first], np.int64), numbers))
