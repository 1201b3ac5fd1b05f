"""Tells of rows for tables that are not there and that the sink may not make: they are left out, as in Java. No I/O."""

from __future__ import annotations

import logging
from typing import Final

_log = logging.getLogger(__name__)
_SHOWN_CHARS: Final = 200
_WARNINGS_MAX: Final = 1000


class MissingTables:
    """Counts the rows that are left out, and knows the tables that were not there since the last flush.

    `notes` tells people of these rows. The task thread owns it.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._told: set[str] = set()
        self._known: set[str] = set()
        self._left_out = 0

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def leave_out(self, name: str, rows: int) -> None:
        """Count rows of a table that is not there, and make the note of it. A table is warned of once."""
        shown = " ".join(name.split())[:_SHOWN_CHARS]
        if name not in self._told and len(self._told) < _WARNINGS_MAX:
            self._told.add(name)
            _log.warning(
                "There is no table %s: rows whose route field names it are left out. Make it, or set "
                "iceberg.tables.auto-create-enabled=true.",
                shown,
            )
        self._known.add(name)
        self._left_out += rows
        self.notes = [f"Rows of tables that are not there, left out: {self._left_out}. The last one: {shown}."]

    def look_again(self) -> None:
        """Have the catalogue asked again, as somebody may have made the tables."""
        self._known.clear()
