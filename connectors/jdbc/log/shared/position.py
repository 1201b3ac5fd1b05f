"""Holds a connector's position in PostgreSQL's log, and reads and writes it as an offset. Pure.

The members of Debezium's PostgreSQL connector (`lsn`, `lsn_proc`, `lsn_commit`, `txId`, `ts_usec`, `snapshot`,
`last_snapshot_record`) name the last whole transaction, so that Debezium goes on from our offset without a gap. Offsets
that Debezium wrote are read, too. Our further members say how much of the open transaction was delivered. An offset may
hold only primitive values, so members with several parts are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from connectors.jdbc.log.shared import snapshot_visibility
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.log.shared.snapshot_visibility import Fences, SnapshotVisibility
from connectors.jdbc.settings.table_choice import TableName

Offset = Mapping[str, Any]


class Coordinate(NamedTuple):
    """Holds the place of a change: the LSN of its transaction's commit, and its number in the transaction, from 1."""

    final_lsn: int = 0
    place: int = 0


_START = Coordinate()
TIMELINE: Final = "timeline"
"""This member of an offset holds the timeline of the server's log."""
_EVENTS, _MESSAGE = "lsn_events_processed", "messageType"


@dataclass(frozen=True, slots=True)
class SnapshotPlace:
    """Holds how far the first read is: full names of tables that were read, the one being read, and its last key."""

    done: tuple[str, ...] = ()
    table: str = ""
    key: tuple[str, ...] = ()

    def tables_left(self, tables: Iterable[TableName]) -> list[TableName]:
        """Return the tables that are not read yet, the begun one first.

        Were another one first, its pages would take the begun table's key out of the position, and rows of that table
        that were delivered and deleted since would keep no delete.
        """
        left = [name for name in tables if name.full not in self.done]
        return sorted(left, key=lambda name: name.full != self.table)


@dataclass(frozen=True, slots=True)
class TransactionProgress:
    """Holds how far Debezium was in a transaction: it had delivered `events` of the events at the LSN `lsn`."""

    xid: int
    lsn: int
    events: int


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Holds a position in the log: everything before it was delivered.

    `commit_lsn` is where the server is asked to start. All changes up to `reached` were delivered, and `ahead` holds
    the tables of which later changes were delivered, too. `snapshot` is the state of the first read, or None if it is
    over. `fences` are kept until the log is behind them. `told` is what Debezium delivered of the next transaction; it
    is kept until the log is behind it. `timeline` is that of the server's log, or 0 if an older release or Debezium
    stored the position.
    """

    commit_lsn: int
    reached: Coordinate = _START
    ahead: Mapping[str, Coordinate] = field(default_factory=dict)
    xid: int = 0
    commit_us: int = 0
    snapshot: SnapshotPlace | None = None
    fences: Fences = field(default_factory=dict)
    told: TransactionProgress | None = None
    timeline: int = 0

    def offset(self) -> dict[str, object]:
        """Return the position as it is stored."""
        made: dict[str, object] = {"lsn": self.commit_lsn, "lsn_proc": self.commit_lsn, "lsn_commit": self.commit_lsn}
        if self.xid:
            made |= {"txId": self.xid, "ts_usec": self.commit_us}
        if self.told is not None:
            made |= {"lsn": self.told.lsn, "lsn_proc": self.told.lsn, "txId": self.told.xid, "ts_usec": self.commit_us}
            made |= {_EVENTS: self.told.events, _MESSAGE: "INSERT"}
        if self.snapshot is not None:
            made |= {"snapshot": True, "last_snapshot_record": False, "snapshot_done": json.dumps(self.snapshot.done)}
            if self.snapshot.table:
                made |= {"snapshot_table": self.snapshot.table, "snapshot_key": json.dumps(self.snapshot.key)}
        if self.reached.final_lsn:
            made |= {"tx_lsn": self.reached.final_lsn, "tx_place": self.reached.place}
        if self.ahead:
            made["ahead"] = json.dumps(self.ahead)
        if self.fences:
            made["fences"] = json.dumps(snapshot_visibility.stored(self.fences))
        if self.timeline:
            made[TIMELINE] = self.timeline
        return made

    def fence_of(self, table: str) -> Fence[SnapshotVisibility]:
        """Return the fence that tells which changes of a table the first read has seen."""
        return self.fences.get(table) or self.fences.get("") or Fence()

    def moved(self, commit_lsn: int) -> LogPosition:
        """Return the position moved to `commit_lsn`, where nothing in between concerns the connector."""
        behind = snapshot_visibility.ahead_of(self.fences, commit_lsn)
        return replace(self, commit_lsn=commit_lsn, fences=behind, told=told_ahead_of(self.told, commit_lsn))


def told_ahead_of(told: TransactionProgress | None, commit_lsn: int) -> TransactionProgress | None:
    """Return `told`, what Debezium delivered of a transaction; None if the log from `commit_lsn` on is behind it."""
    return told if told is not None and told.lsn >= commit_lsn else None


def partition_of(prefix: str) -> dict[str, object]:
    """Return the source partition, in the form that Debezium uses."""
    return {"server": prefix}


def read_offset(offset: Offset) -> LogPosition:
    """Return the position of a stored offset, ours or Debezium's. ValueError says which member is wrong."""
    found = (_lsn(offset, name) for name in ("lsn_commit", "lsn_proc", "lsn"))
    commit_lsn = next((lsn for lsn in found if lsn), 0)
    snapshot = None
    is_done = offset.get("last_snapshot_record") or offset.get("snapshot_completed") is True
    if offset.get("snapshot") and not is_done:
        snapshot = SnapshotPlace(
            tuple(map(str, json.loads(offset.get("snapshot_done") or "[]"))),
            str(offset.get("snapshot_table") or ""),
            tuple(map(str, json.loads(offset.get("snapshot_key") or "[]"))),
        )
    elif not commit_lsn:
        raise ValueError("lsn: an offset of mode=log holds the LSN to go on from, as a whole number")
    ahead = {
        str(table): Coordinate(int(at[0]), int(at[1])) for table, at in json.loads(offset.get("ahead") or "{}").items()
    }
    reached = Coordinate(_lsn(offset, "tx_lsn"), _lsn(offset, "tx_place"))
    xid = _lsn(offset, "txId")
    return LogPosition(
        commit_lsn,
        reached,
        ahead,
        xid,
        _lsn(offset, "ts_usec"),
        snapshot,
        _fences(offset),
        _told(offset, xid),
        _lsn(offset, TIMELINE),
    )


def _told(offset: Offset, xid: int) -> TransactionProgress | None:
    """Return what Debezium's own offset says about an open transaction; None for our offsets, which name no message
    kind.

    Older versions of Debezium do not count the events at the place; all of those then come again, so that none is lost.
    """
    if not offset.get("lsn_proc") or _MESSAGE not in offset:
        return None
    return TransactionProgress(xid, _lsn(offset, "lsn_proc"), _lsn(offset, _EVENTS))


def _fences(offset: Offset) -> Fences:
    if offset.get("fences"):
        return snapshot_visibility.restored(json.loads(offset["fences"]))
    if offset.get("seen_snapshot"):
        # An older version stored one snapshot for all tables.
        return {"": Fence((), (Segment(SnapshotVisibility(str(offset["seen_snapshot"]), _lsn(offset, "seen_lsn"))),))}
    return {}


def _lsn(offset: Offset, name: str) -> int:
    value = offset.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name}: must be a whole number, and is {type(value).__name__}")
    return value


def lsn_of_text(text: str) -> int:
    """Return the number of an LSN in PostgreSQL's form, as 16/B374D848."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def text_of_lsn(lsn: int) -> str:
    """Return PostgreSQL's form of an LSN."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
