"""What the newest writes of all rows are, in a temporary file: rows may be more than memory holds.

The truth is the state topic. SQLite makes the file, writes to it when its cache of 16 MiB is full, and removes it.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from connect.api.state import StateEntry

_CACHE_KIB: Final = 16_384


class RowMemory:
    """Owned by the task thread."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in (
            *(f"PRAGMA cache_size = -{_CACHE_KIB}", "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"),
            "CREATE TABLE state (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(statement)
        self._changed: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """What was kept."""
        found = self._database.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return None if found is None else bytes(found[0])

    def put(self, key: bytes, value: bytes) -> None:
        """Keep it, and tell of it in `take_changes`."""
        self.load(StateEntry(key, value))
        self._changed[key] = value

    def load(self, entry: StateEntry) -> None:
        """What the state topic holds."""
        if entry.value is None:
            self._database.execute("DELETE FROM state WHERE key = ?", (entry.key,))
        else:
            self._database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (entry.key, entry.value))

    def forget(self, key: bytes) -> None:
        """Remember it no more, and tell of that in `take_changes`."""
        self.load(StateEntry(key, None))
        self._changed[key] = None

    def small_entries(self, most_bytes: int) -> list[StateEntry]:
        """Those whose values have so many bytes at most."""
        found = self._database.execute("SELECT key, value FROM state WHERE length(value) <= ?", (most_bytes,))
        return [StateEntry(*row) for row in found]

    def take_changes(self) -> list[StateEntry]:
        """What was put since the last call."""
        changed, self._changed = self._changed, {}
        return [StateEntry(key, value) for key, value in changed.items()]

    def close(self) -> None:
        """Remove the file. May be called twice."""
        self._database.close()
