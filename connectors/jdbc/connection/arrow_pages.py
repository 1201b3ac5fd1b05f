"""Cuts a stream of Arrow columns into pages, for readers that fetch Arrow. It makes no Python object per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connectors.jdbc.connection.pages import Page, PageRules
from connectors.jdbc.values.unconvertible_rows import BadCell, BadRow, bad_row

Columns = Sequence[pa.Array]
"""Holds one array per selected column, of a type that a driver would give: text, numbers, dates, timestamps in
microseconds.
"""


@dataclass(frozen=True, slots=True)
class ArrowRow(Sequence[Any]):
    """Gives one row of columns; a value is made when it is asked for."""

    columns: Columns
    row: int

    def __getitem__(self, place: Any) -> Any:
        return self.columns[place][self.row].as_py()

    def __len__(self) -> int:
        return len(self.columns)


class ArrowPages:
    """Cuts a stream of columns into pages of at most `rules.rows` rows, and reads one row ahead of each page.

    Owned by the reading thread.
    """

    def __init__(
        self,
        chunks: Iterator[Columns],
        rules: PageRules,
        close: Callable[[], None],
        bad: Mapping[int, BadCell] | None = None,
    ) -> None:
        """Take the stream. `bad` holds the rows of the chunk given last whose values do not fit; they are null in the
        chunk.
        """
        self._chunks = chunks
        self._bad = {} if bad is None else bad
        self._rules = rules
        self._close = close
        self._columns: Columns = ()
        self._start = 0
        self._left = 0

    def next(self) -> Page:
        """Return the next rows; a chunk's end ends a page, too."""
        self._fill()
        size = min(self._left, self._rules.rows)
        columns = [c.slice(self._start, size) for c in self._columns]
        self._start += size
        self._left -= size
        values, bad = self._built(columns, self._start - size)
        last = ArrowRow(columns, size - 1) if size else None
        self._fill()
        following = ArrowRow(self._columns, self._start) if self._left else None
        return Page(values, last, following, [columns[place] for place in self._rules.keep] if size else (), bad)

    def _built(self, columns: Columns, first: int) -> tuple[pa.StructArray, dict[int, BadRow]]:
        form = self._rules.format
        if not columns:
            return form.build(()), {}
        if not self._rules.sets_bad_aside:
            return form.of_driver_arrays(columns[: len(form.columns)]), {}
        size = len(columns[0])
        cells = {row - first: cell for row, cell in self._bad.items() if first <= row < first + size}
        values = form.of_driver_arrays(columns[: len(form.columns)], cells)
        return values, {row: bad_row(form.named(columns), row, cell) for row, cell in sorted(cells.items())}

    def close(self) -> None:
        """Close the stream."""
        self._columns, self._left = (), 0
        self._close()

    def _fill(self) -> None:
        while not self._left:
            columns = next(self._chunks, None)
            if columns is None:
                return
            self._columns, self._start, self._left = columns, 0, len(columns[0])
