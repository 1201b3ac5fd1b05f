"""Gives pages of a statement as Arrow: defines the interface of readers, and the generic pages of a driver's cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import sqlalchemy as sa

from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.unconvertible_rows import BadCells, BadRow, bad_row

FETCH_ROWS = 1024
"""This many rows are turned into Arrow at a time, so that their Python objects fit into the processor's cache."""


@dataclass(frozen=True, slots=True)
class PageRules:
    """Holds the most rows that a page may have, and their form. The driver's own values are kept for columns in `keep`.

    With `sets_bad_aside` rows that no record can hold are apart in the page; otherwise the first one is a SchemaError.
    """

    rows: int
    format: RowFormat
    keep: tuple[int, ...] = ()
    sets_bad_aside: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Holds the rows of one page of a result, in order.

    `last` is the last row and `following` the one after the page, as the driver gives them. `following` is None if the
    result ends here. `kept` has the driver's values of the columns in `PageRules.keep`. `bad` has the rows that no
    record can hold, by their numbers in the page; `values` lacks these rows, and `last`, `following` and `kept` do not.
    """

    values: pa.StructArray
    last: Sequence[Any] | None
    following: Sequence[Any] | None
    kept: Sequence[Sequence[Any] | pa.Array] = ()
    bad: Mapping[int, BadRow] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values) + len(self.bad)


class Pages(Protocol):
    """Gives the pages of a statement that is being read. Owned by the reading thread."""

    def next(self) -> Page:
        """Return the next rows; a page without rows is the end.

        RetriableError: reading has to begin again behind the last delivered place.
        """

    def close(self) -> None:
        """Close the cursor."""


class Reader(Protocol):
    """Reads statements: in the generic way of `Database`, or in a faster way of a dialect."""

    def pages(self, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Start reading, in memory that does not grow with the result. `doing` says in messages what the statement
        is for.
        """


class CursorPages:
    """Makes pages from a DBAPI cursor, which is read one row ahead. Owned by the reading thread."""

    def __init__(
        self,
        result: sa.CursorResult[Any],
        fetch: Callable[[int], Sequence[Any]],
        rules: PageRules,
        errors: ErrorTranslator,
        doing: str,
    ) -> None:
        self._result = result
        self._fetch = fetch
        self._rules = rules
        self._errors = errors
        self._doing = doing
        self._ahead: list[Sequence[Any]] = []

    def next(self) -> Page:
        """Return the next rows."""
        built: list[pa.StructArray] = []
        kept: list[list[Any]] = [[] for _ in self._rules.keep]
        bad: dict[int, BadRow] = {}
        last: Sequence[Any] | None = None
        missing = self._rules.rows
        while missing > 0 and (rows := self._rows(min(missing, FETCH_ROWS))):
            columns = tuple(zip(*rows, strict=True))
            built.append(self._built(columns, self._rules.rows - missing, bad))
            for values, place in zip(kept, self._rules.keep, strict=True):
                values.extend(columns[place])
            last = rows[-1]
            missing -= len(rows)
        self._ahead = self._rows(1)
        values = pa.concat_arrays(built) if built else self._rules.format.build(())
        return Page(values, last, self._ahead[0] if self._ahead else None, kept, bad)

    def _built(self, columns: Sequence[Sequence[Any]], first: int, bad: dict[int, BadRow]) -> pa.StructArray:
        form = self._rules.format
        if not self._rules.sets_bad_aside:
            return form.build(columns)
        cells: BadCells = {}
        values = form.build(columns, cells)
        bad.update({first + row: bad_row(form.named(columns), row, cell) for row, cell in sorted(cells.items())})
        return values

    def close(self) -> None:
        """Close the cursor."""
        self._ahead = []
        with self._errors.translated(self._doing):
            self._result.close()

    def _rows(self, wanted: int) -> list[Sequence[Any]]:
        ahead, self._ahead = self._ahead, []
        if len(ahead) >= wanted:
            return ahead
        with self._errors.translated(self._doing):
            return [*ahead, *self._fetch(wanted - len(ahead))]
