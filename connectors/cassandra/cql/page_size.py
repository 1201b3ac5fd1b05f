"""Decides how many rows the next page may have: what fits into its bytes, fewer while servers are slow. Pure."""

from __future__ import annotations

from typing import Final

FIRST_ROWS: Final = 100
"""The rows of the first page of a table, as nobody knows how large its rows are."""


class PageSize:
    """Decides how many rows the pages of one table have. Owned by the task thread."""

    def __init__(self, most_rows: int, size_bytes: int) -> None:
        """`size_bytes` is how large pages should be. A larger row is a page of its own."""
        self._most_rows = most_rows
        self._size_bytes = size_bytes
        self._slow_rows = most_rows
        self.rows = min(FIRST_ROWS, most_rows)

    def came(self, rows: int, size_bytes: int) -> None:
        """Take note of the rows and bytes of a page that came."""
        self._slow_rows = min(self._most_rows, self._slow_rows * 2)
        if rows:
            fitting = max(1, self._size_bytes * rows // max(1, size_bytes))
            self.rows = min(fitting, self._slow_rows, self.rows * 8, self._most_rows)

    def failed(self, rows: int) -> None:
        """Take note that a page of so many rows did not come in time: the next try is for half of it.

        Several pages of one size that fail together halve it once.
        """
        self._slow_rows = self.rows = min(self.rows, max(1, rows // 2))
