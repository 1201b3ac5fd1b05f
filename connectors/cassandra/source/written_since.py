"""Finds which rows of a page were written since a moment, by the writetimes that the server tells. Pure.

CQL cannot select rows by writetime, so the whole table is read all the same. Deleted rows are not seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import Cells, decode_column
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.cql.values import parts

_BIGINT: Final = CqlType("bigint")
_NEVER_US: Final = -(2**63)


class WrittenSince:
    """Selects those rows of one table that were written since a moment.

    A row counts as new if the server does not tell all of its times. This concerns collections before Cassandra 5.0,
    and rows that have nothing but their key.
    """

    def __init__(self, table: Table, since_us: int, *, element_times: bool) -> None:
        """Select rows written at or after `since_us`, in microseconds since 1970.

        `element_times` says that the server tells the times of collections' elements, as Cassandra 5.0 does.
        """
        others = [c for c in table.columns if c not in table.primary_key]
        self._since_us = since_us
        self._timed = [c for c in others if element_times or not c.type.is_multicell]
        self._tells_all = len(self._timed) == len(others)
        self.more = "".join(f", writetime({quoted(column.name)})" for column in self._timed)
        """Is CQL text that is selected behind all other columns."""
        self.count = len(self._timed)
        """Is the number of columns that `more` selects."""

    def rows(self, times: Sequence[Cells], count: int) -> npt.NDArray[np.int64]:
        """Return the numbers of those of `count` rows that count as new. `times` are the columns of `more`."""
        if not self._tells_all:
            return np.arange(count)
        newest = np.full(count, _NEVER_US, np.int64)
        for column, cells in zip(self._timed, times, strict=True):
            found = _newest_elements(cells, count) if column.type.is_multicell else _moments(cells)
            newest = np.maximum(newest, found)
        return np.flatnonzero((newest >= self._since_us) | (newest == _NEVER_US))


def _moments(cells: Cells) -> npt.NDArray[np.int64]:
    found = decode_column(cells, _BIGINT, "writetime").fill_null(_NEVER_US).to_numpy(zero_copy_only=False)
    return np.asarray(found, np.int64)


def _newest_elements(cells: Cells, count: int) -> npt.NDArray[np.int64]:
    newest = np.full(count, _NEVER_US, np.int64)
    for row in range(count):
        data = cells.value(row)
        told = () if data is None else (t for t in parts(data, 4) if t is not None)
        newest[row] = max((int.from_bytes(time, "big", signed=True) for time in told), default=_NEVER_US)
    return newest
