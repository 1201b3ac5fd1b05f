"""Decides how many rows to ask for in the next page: as many as fit its bytes, fewer while servers are slow. Pure."""

from __future__ import annotations

from typing import Final

FIRST_ROWS: Final = 100
"""The first page of a table has so many rows, as nobody knows yet how large its rows are."""


class PageSize:
    """Decides how many rows the pages of one table have. Owned by the task thread."""

    def __init__(self, most_rows: int, size_bytes: int) -> None:
        """Allow `most_rows` rows and aim at `size_bytes` bytes in each page. A row that is larger gets its own page."""
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
        """Reduce the next try to half of `rows`, as a page of so many rows did not come in time.

        Several pages of one size that fail together halve it once.
        """
        self._slow_rows = self.rows = min(self.rows, max(1, rows // 2))
