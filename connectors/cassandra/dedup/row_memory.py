"""Keeps the newest writes of all rows in a temporary file, as there may be more rows than fit into memory.

The state topic is what counts after a restart. SQLite makes the file, writes to it when its cache of 16 MiB is full,
and removes it.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from connect.api.state import StateEntry

_CACHE_KIB: Final = 16_384


class RowMemory:
    """Is a `Memory` for more rows than fit into RAM. Owned by the task thread."""

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
        """Return the bytes that are stored for a key; None if there are none."""
        found = self._database.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return None if found is None else bytes(found[0])

    def put(self, key: bytes, value: bytes) -> None:
        """Store the bytes for a key; `take_changes` returns them as an entry."""
        self.load(StateEntry(key, value))
        self._changed[key] = value

    def load(self, entry: StateEntry) -> None:
        """Take over an entry of the state topic; an entry without a value deletes the key."""
        if entry.value is None:
            self._database.execute("DELETE FROM state WHERE key = ?", (entry.key,))
        else:
            self._database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (entry.key, entry.value))

    def forget(self, key: bytes) -> None:
        """Delete a key; `take_changes` returns an entry without a value for it."""
        self.load(StateEntry(key, None))
        self._changed[key] = None

    def behind(self, key: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Return up to `most` entries whose keys are greater than `key`, in the order of their keys."""
        query = "SELECT key, value FROM state WHERE key > ? ORDER BY key LIMIT ?"
        return [(bytes(found), bytes(value)) for found, value in self._database.execute(query, (key, most))]

    def take_changes(self) -> list[StateEntry]:
        """Return the entries that were put or deleted since the last call."""
        changed, self._changed = self._changed, {}
        return [StateEntry(key, value) for key, value in changed.items()]

    def close(self) -> None:
        """Remove the file. May be called twice."""
        self._database.close()
