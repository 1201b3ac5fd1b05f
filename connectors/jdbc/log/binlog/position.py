"""Holds a connector's position in a binary log, and writes and reads it as an offset. Pure.

Its members are those of Debezium's MariaDB and MySQL connectors (`file`, `pos`, `gtids`, `event`, `row`, `server_id`,
`ts_sec`, `snapshot`), which name the end of the last whole transaction. Our own members count rows of the transactions
behind that. Those of several parts are JSON, as an offset holds primitives only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from connectors.jdbc.log.binlog.gtid_set import GtidSet, gtid_parts
from connectors.jdbc.log.binlog.numbered_transactions import Run, Runs
from connectors.jdbc.log.binlog.packets import Gtid
from connectors.jdbc.log.shared import snapshot_segments as segments
from connectors.jdbc.log.shared.snapshot_segments import Fence, Key, Segment


class Row(NamedTuple):
    """Tells a changed row by two numbers from 1: its transaction's behind a place, and its own in that transaction.

    The row's own number counts the rows of its table, or those of all chosen tables, as `BinlogPosition` says.
    """

    transaction: int = 0
    row: int = 0


_START = Row()
_NOTHING = Row(1)
"""This is before the first row of the first transaction."""


class Skipped(NamedTuple):
    """Counts the rows that Debezium has delivered of the first transaction behind a place.

    These are all rows of its first `events` events, and the first `rows` rows of the next event.
    """

    events: int = 0
    rows: int = 0


WHOLE = Skipped()


@dataclass(frozen=True, slots=True)
class SnapshotEnd:
    """Holds the place in the log, and the GTIDs, at which a snapshot was taken: it has all changes up to there."""

    file: str
    pos: int
    gtids: Mapping[str, str] = field(default_factory=dict)

    def holds(self, file: str, end: int, gtid: Gtid | None) -> bool:
        """Tell if the snapshot has the changes of a transaction: by its GTID, or without one by `file` and `end`.

        `end` is the position behind one of its events. Positions of another server say nothing, as its files differ.
        """
        if gtid is None or not self.gtids:
            return (file_number(file), end) <= (file_number(self.file), self.pos)
        known = self.gtids.get(gtid.domain)
        if known is None:
            return False
        if ":" in known:
            return GtidSet({gtid.domain: known}).holds(gtid.domain, gtid.number)
        return gtid.number <= int(known.rpartition("-")[2])

    def is_passed(self, file: str, pos: int) -> bool:
        """Tell if the snapshot has nothing of the log from this place on."""
        return (file_number(file), pos) >= (file_number(self.file), self.pos)


def file_number(file: str) -> int:
    """Return the number of a log file, as 17 of binlog.000017: names behind 999999 do not sort by their text."""
    digits = file.rpartition(".")[2]
    return int(digits) if digits.isdecimal() else 0


class Place(NamedTuple):
    """Holds a place in the log of one server: a file, and the position in it."""

    file: str
    pos: int

    @property
    def order(self) -> tuple[int, int]:
        """Return the key by which places of the log are ordered."""
        return file_number(self.file), self.pos


@dataclass(frozen=True, slots=True)
class BinlogPosition:
    """Holds a position in the log: all changes before `file` and `pos` were delivered.

    * `gtids`: the last one of each domain (MariaDB), or the set of all by server (MySQL).
    * `ahead`: the last delivered row of each table of which rows behind the place were delivered. Its number counts
      the table's own rows, so that it holds whichever tables are chosen later.
    * `numbered`: the GTIDs of the transactions that `ahead` numbers, from the first one behind the place on; none if
      they have no GTIDs. None: an older release stored `ahead`, whose numbers count the rows of all chosen tables.
    * `reached`: the last row of all chosen tables together up to which all rows behind the place were delivered. Older
      releases go by it, and records of transactions.
    * `skipped`: the rows behind the place that Debezium has delivered, before those of `reached` and `ahead`.
    * `snapshot_done`: the tables that the first snapshot has read; None: it has read all.
    * `snapshot_table`: the table that the snapshot reads now, up to `snapshot_key`.
    * `fences`: the tables that were read in a later snapshot than the first, each with the end of that snapshot.
    * `history`: the number of the entry that holds the tables' columns at this place (`schema_history`); 0: none.
    """

    file: str
    pos: int
    gtids: Mapping[str, str] = field(default_factory=dict)
    reached: Row = _START
    ahead: Mapping[str, Row] = field(default_factory=dict)
    numbered: Runs | None = ()
    server_id: int = 0
    second: int = 0
    snapshot_done: tuple[str, ...] | None = None
    snapshot_table: str = ""
    snapshot_key: Key = ()
    fences: Mapping[str, Fence[SnapshotEnd]] = field(default_factory=dict)
    history: int = 0
    skipped: Skipped = WHOLE

    def offset(self) -> dict[str, object]:
        """Return the offset that stores this position."""
        made: dict[str, object] = {
            "file": self.file, "pos": self.pos, "event": self.skipped.events, "row": self.skipped.rows,
        }  # fmt: skip
        if self.gtids:
            made["gtids"] = ",".join(self.gtids[domain] for domain in sorted(self.gtids))
        if self.history:
            made["history"] = self.history
        if self.second:
            made |= {"server_id": self.server_id, "ts_sec": self.second}
        if self.snapshot_done is not None:
            made |= {"snapshot": True, "snapshot_done": json.dumps(self.snapshot_done)}
            if self.snapshot_table:
                made |= {"snapshot_table": self.snapshot_table, "snapshot_key": json.dumps(self.snapshot_key)}
        if self.fences:
            made["fences"] = json.dumps(segments.as_json(self.fences, _members))
        if self.reached.transaction:
            made["reached"] = json.dumps(self.reached)
        if self.ahead:
            made["ahead"] = json.dumps(self.ahead)
            if self.numbered is not None:
                made["numbered"] = json.dumps(self.numbered)
        return made

    def behind(self, transactions: int) -> dict[str, Row]:
        """Return `ahead` with its rows counted from a place so many transactions further on."""
        moved = {t: Row(at.transaction - transactions, at.row) for t, at in self.ahead.items()}
        return {table: at for table, at in moved.items() if at > _NOTHING}

    def before(self, transaction: int) -> BinlogPosition:
        """Return the position without what was delivered of the transactions from this number on."""
        end = Row(transaction)
        ahead = {table: min(at, end) for table, at in self.ahead.items()}
        return replace(self, reached=min(self.reached, end), ahead=ahead)


def read_binlog_offset(offset: Mapping[str, Any]) -> BinlogPosition:
    """Return the position of a stored offset, ours or Debezium's. Raise ValueError, which says what member is wrong."""
    file, pos = offset.get("file"), offset.get("pos")
    if not isinstance(file, str) or not isinstance(pos, int) or isinstance(pos, bool) or pos < 0:
        raise ValueError("file and pos: an offset of mode=log holds a file's name and a whole number")
    gtids = gtids_of(str(offset.get("gtids") or ""))
    done = None
    if offset.get("snapshot") and offset.get("snapshot_completed") is not True:
        done = tuple(map(str, json.loads(offset.get("snapshot_done") or "[]")))
    ahead = {str(table): Row(int(at[0]), int(at[1])) for table, at in json.loads(offset.get("ahead") or "{}").items()}
    reached = json.loads(offset.get("reached") or "[0, 0]")
    runs = offset.get("numbered")
    is_old = runs is None and (ahead or reached[0])
    return BinlogPosition(
        file,
        pos,
        gtids,
        Row(int(reached[0]), int(reached[1])),
        ahead,
        None
        if is_old
        else tuple(Run(str(prefix), int(first), int(count)) for prefix, first, count in json.loads(runs or "[]")),
        snapshot_done=done,
        snapshot_table=str(offset.get("snapshot_table") or ""),
        snapshot_key=tuple(map(str, json.loads(offset.get("snapshot_key") or "[]"))),
        fences=_fences(json.loads(offset.get("fences") or "{}")),
        history=int(offset.get("history") or 0),
        skipped=Skipped(int(offset.get("event") or 0), int(offset.get("row") or 0)),
    )


def ahead_of(fences: Mapping[str, Fence[SnapshotEnd]], file: str, pos: int) -> Mapping[str, Fence[SnapshotEnd]]:
    """Return the fences of snapshots that have some of the changes from this place on, which are then left out."""
    return {
        table: fence for table, fence in fences.items() if not all(seen.is_passed(file, pos) for seen in fence.seen)
    }


def _fences(state: Mapping[str, Any]) -> Mapping[str, Fence[SnapshotEnd]]:
    if not state or "snapshots" in state:
        return segments.of_json(state, _seen) if state else {}
    # An older version stored one snapshot for each table.
    return {str(table): Fence((), (Segment(_seen(at)),)) for table, at in state.items()}


def _members(seen: SnapshotEnd) -> list[object]:
    return [seen.file, seen.pos, ",".join(seen.gtids.values())]


def _seen(members: Sequence[object]) -> SnapshotEnd:
    return SnapshotEnd(str(members[0]), int(str(members[1])), gtids_of(str(members[2])))


def gtids_of(text: str) -> dict[str, str]:
    """Return the GTIDs in a text by MariaDB's domain or MySQL's server; none where they have another form."""
    parts = [part.strip() for part in text.split(",")]
    mariadb = [part for part in parts if part.count("-") == 2 and ":" not in part]
    # Debezium lists each server that wrote to a domain. The numbers of a domain go on across its servers.
    mariadb.sort(key=lambda part: int(part.rpartition("-")[2]))
    return {part.split("-", maxsplit=1)[0]: part for part in mariadb} or gtid_parts(text)
