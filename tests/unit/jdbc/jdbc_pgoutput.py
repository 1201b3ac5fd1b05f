"""Writes pgoutput messages as PostgreSQL does, and reads the decoder's answer back row by row."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.jdbc.log.postgres.pgoutput import Changes, LogState, Messages, Truncation, decode
from connectors.jdbc.log.shared.cells import NULL, UNCHANGED, Cells

Row = Sequence[Any]
"""A value per column: text, None, or `...` for a large value left as it was."""
EPOCH_US = 946_684_800_000_000


@dataclass
class Log:
    """A log that is written to; `lsn` grows by one per message."""

    lsn: int = 1000
    messages: list[bytes] = field(default_factory=list)
    final_lsn: int = 0

    def add(self, body: bytes) -> None:
        self.lsn += 1
        self.messages.append(b"w" + struct.pack(">QQq", self.lsn, self.lsn, 0) + body)

    def relation(self, oid: int, table: str, columns: Iterable[tuple[str, int]], identity: str = "d") -> None:
        columns = list(columns)
        body = b"R" + struct.pack(">I", oid) + b"public\0" + table.encode() + b"\0" + identity.encode()
        body += struct.pack(">H", len(columns))
        for place, (name, type_oid) in enumerate(columns):
            body += bytes([place == 0 or identity == "f"]) + name.encode() + b"\0" + struct.pack(">Ii", type_oid, -1)
        self.add(body)

    def begin(self, xid: int, commit_us: int = EPOCH_US) -> None:
        self.final_lsn = self.lsn + 1000
        self.add(b"B" + struct.pack(">QqI", self.final_lsn, commit_us - EPOCH_US, xid))

    def sender(self, name: str, lsn: int) -> None:
        self.add(b"O" + struct.pack(">Q", lsn) + name.encode() + b"\0")

    def commit(self) -> None:
        self.lsn = self.final_lsn
        self.add(b"C" + struct.pack(">BQQq", 0, self.final_lsn, self.final_lsn + 5, 0))
        self.lsn = self.final_lsn + 5

    def insert(self, oid: int, row: Row) -> None:
        self.add(b"I" + struct.pack(">I", oid) + b"N" + _tuple(row))

    def update(self, oid: int, row: Row, old: Row | None = None, mark: bytes = b"K") -> None:
        before = b"" if old is None else mark + _tuple(old)
        self.add(b"U" + struct.pack(">I", oid) + before + b"N" + _tuple(row))

    def delete(self, oid: int, old: Row, mark: bytes = b"K") -> None:
        self.add(b"D" + struct.pack(">I", oid) + mark + _tuple(old))

    def truncate(self, *oids: int) -> None:
        self.add(b"T" + struct.pack(">IB", len(oids), 0) + struct.pack(f">{len(oids)}I", *oids))

    def note(self, prefix: str, content: bytes, *, within: bool = True) -> None:
        head = b"M" + struct.pack(">BQ", within, self.lsn + 1)
        self.add(head + prefix.encode() + b"\0" + struct.pack(">I", len(content)) + content)


def _tuple(row: Row) -> bytes:
    made = struct.pack(">H", len(row))
    for value in row:
        if value is None:
            made += b"n"
        elif isinstance(value, str):
            text = value.encode()
            made += b"t" + struct.pack(">I", len(text)) + text
        else:
            made += b"u"
    return made


def read_back(messages: Sequence[bytes], state: LogState | None = None) -> list[tuple[object, ...]]:
    """(table, kind, final_lsn, place, old row, new row) of each change; (kind, tables) of a truncation."""
    found: list[tuple[object, ...]] = []
    for item in decode(Messages.of(messages), state or LogState()):
        if isinstance(item, Truncation):
            found.append(("T", tuple(r.table for r in item.relations)))
        elif isinstance(item, Changes):
            found += rows_of(item)
    return found


def rows_of(item: Changes) -> list[tuple[object, ...]]:
    """The changes of one table, as in `read_back`."""
    old = dict(zip(item.old.tolist(), _values(item, item.before, len(item.old)), strict=True))
    new = dict(zip(item.new.tolist(), _values(item, item.after, len(item.new)), strict=True))
    return [
        (
            item.relation.table,
            chr(item.kind[i]),
            int(item.origin.final_lsn[i]),
            int(item.origin.place[i]),
            old.get(i),
            new.get(i),
        )
        for i in range(len(item.kind))
    ]


def _values(item: Changes, columns: Sequence[Cells], count: int) -> list[tuple[object, ...]]:
    made = []
    for cells in columns:
        texts = item.buffer.values([cells])[0].to_pylist()
        made.append(
            [
                ... if kind == UNCHANGED else None if kind == NULL else text.decode()
                for kind, text in zip(cells.kind.tolist(), texts, strict=True)
            ]
        )
    return list(zip(*made, strict=True)) if made else [()] * count
