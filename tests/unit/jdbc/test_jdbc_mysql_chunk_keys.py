"""A table of MySQL is read in chunks only by its key: rows that are alike in other columns would be passed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from connectors.jdbc.log.incremental.progress import TableProgress
from connectors.jdbc.log.mysql.chunks import MySqlChunks
from connectors.jdbc.log.mysql.row_order import OrderColumn, RowOrder
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import Raw

NAME = TableName("shop", "visits")


class ReadingError(Exception):
    """Says that rows are read."""


class Database:
    def end_transaction(self) -> None:
        raise ReadingError


def _chunk(key: tuple[str, ...], columns: list[OrderColumn]) -> Any:
    table = SimpleNamespace(events=SimpleNamespace(key=key), order=RowOrder.of(columns, key), name=NAME)
    unused: Any = None
    database: Any = Database()
    chunks = MySqlChunks(database, lambda _: table, unused, unused, unused, unused, quote=False)
    return chunks.chunk(NAME, TableProgress(NAME.full), 2)


def test_a_key_of_time_that_has_no_order_here_is_not_read_in_chunks() -> None:
    assert _chunk(("at",), [OrderColumn("at", "time", Raw.TEXT), OrderColumn("n", "int", Raw.INTEGER)]) is None
    assert _chunk((), [OrderColumn("n", "int", Raw.INTEGER)]) is None


def test_a_key_of_integers_is_read_in_chunks() -> None:
    with pytest.raises(ReadingError):
        _chunk(("n",), [OrderColumn("at", "time", Raw.TEXT), OrderColumn("n", "int", Raw.INTEGER)])
