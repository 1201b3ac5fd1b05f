"""How many rows the next page may have: as many as fit into its bytes, fewer while the servers are slow. Pure."""

from __future__ import annotations

from typing import Final

FIRST_ROWS: Final = 100
"""Rows of the first page of a table, whose size nobody knows."""


class PageSize:
    """The rows of the pages of one table. Owned by the task thread."""

    def __init__(self, most_rows: int, size_bytes: int) -> None:
        """`size_bytes`: how large pages should be; a row that is larger is a page of its own."""
        self._most_rows = most_rows
        self._size_bytes = size_bytes
        self._slow_rows = most_rows
        self.rows = min(FIRST_ROWS, most_rows)

    def came(self, rows: int, size_bytes: int) -> None:
        """A page came with so many rows and bytes."""
        self._slow_rows = min(self._most_rows, self._slow_rows * 2)
        if rows:
            fitting = max(1, self._size_bytes * rows // max(1, size_bytes))
            self.rows = min(fitting, self._slow_rows, self.rows * 8, self._most_rows)

    def failed(self, rows: int) -> None:
        """A page of so many rows did not come in time: the next try is for half of it.

        Several pages of one size that fail together halve it once.
        """
        self._slow_rows = self.rows = min(self.rows, max(1, rows // 2))
