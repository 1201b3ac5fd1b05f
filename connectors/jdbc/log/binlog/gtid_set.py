"""Reads MySQL's sets of global transaction identifiers, and encodes them for the server's dump command. Pure.

Source: MySQL's manual, "GTID Sets"; its source documentation of COM_BINLOG_DUMP_GTID and Previous_gtids_event.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Mapping
from uuid import UUID

_PART = re.compile(r"(?P<server>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?P<ranges>(?::\d+(?:-\d+)?)+)")


class GtidSet:
    """Holds the numbers of transactions by the server that made them. Owned by the reading thread."""

    def __init__(self, parts: Mapping[str, str]) -> None:
        """Read the sets as text, `uuid:1-5:7` by server. Raise ValueError when a text has another form."""
        # Begins and ends (inclusive) by server, each ascending.
        self._ranges: dict[str, tuple[list[int], list[int]]] = {}
        for server, text in parts.items():
            found = _PART.fullmatch(text)
            if found is None:
                raise ValueError(f"gtids: {text!r} is no set of transactions")
            for span in found["ranges"][1:].split(":"):
                first, _, last = span.partition("-")
                self.add(server, int(first), int(last or first))

    def add(self, server: str, first: int, last: int | None = None) -> None:
        """Add one more transaction to the set, or all from a first to a last one."""
        last = first if last is None else last
        firsts, lasts = self._ranges.setdefault(server, ([], []))
        at = bisect_right(firsts, first)
        if at and lasts[at - 1] >= first - 1:
            at -= 1
            lasts[at] = max(lasts[at], last)
        else:
            firsts.insert(at, first)
            lasts.insert(at, last)
        while at + 1 < len(firsts) and firsts[at + 1] <= lasts[at] + 1:
            lasts[at] = max(lasts[at], lasts.pop(at + 1))
            del firsts[at + 1]

    def holds(self, server: str, number: int) -> bool:
        """Tell if the set holds a transaction."""
        firsts, lasts = self._ranges.get(server, ([], []))
        at = bisect_right(firsts, number)
        return bool(at) and number <= lasts[at - 1]

    def lacks(self, other: GtidSet) -> str | None:
        """Return transactions of another set that this one does not hold, as text, or None if it holds all."""
        for server, (firsts, lasts) in other._ranges.items():
            ours, ends = self._ranges.get(server, ([], []))
            for first, last in zip(firsts, lasts, strict=True):
                at = bisect_right(ours, first)
                if not at or ends[at - 1] < last:
                    return f"{server}:{first}-{last}" if last > first else f"{server}:{first}"
        return None

    def parts(self) -> dict[str, str]:
        """Return the set as text, by server."""
        return {
            server: server + "".join(f":{a}-{b}" if b > a else f":{a}" for a, b in zip(*ranges, strict=True))
            for server, ranges in self._ranges.items()
        }

    def encoded(self) -> bytes:
        """Encode the set as a server reads it: ends are exclusive."""
        made = struct.pack("<Q", len(self._ranges))
        for server, (firsts, lasts) in sorted(self._ranges.items()):
            made += UUID(server).bytes + struct.pack("<Q", len(firsts))
            made += b"".join(struct.pack("<QQ", a, b + 1) for a, b in zip(firsts, lasts, strict=True))
        return made


def gtid_parts(text: str) -> dict[str, str]:
    """Return a set's text by server; empty when it names transactions in another way (MariaDB's, or with tags)."""
    parts = ["".join(part.split()) for part in text.split(",") if part.strip()]
    found = [_PART.fullmatch(part) for part in parts]
    return {match["server"].lower(): match[0].lower() for match in found if match is not None} if all(found) else {}


def previous_gtids(body: bytes) -> GtidSet | None:
    """Return the set in a Previous_gtids_event; None when it is empty or has tags."""
    (count,) = struct.unpack_from("<Q", body)
    made, at = GtidSet({}), 8
    if not count or count >> 56:
        return None
    for _ in range(count):
        server = str(UUID(bytes=body[at : at + 16]))
        (spans,) = struct.unpack_from("<Q", body, at + 16)
        at += 24
        for _ in range(spans):
            first, end = struct.unpack_from("<QQ", body, at)
            made.add(server, first, end - 1)
            at += 16
    return made
