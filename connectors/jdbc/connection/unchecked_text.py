"""Reads text of PostgreSQL databases with the encoding SQL_ASCII, where the server neither checks nor converts text.

Text that is UTF-8 is taken as text. A row with other bytes is a bad row, and the other rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import pyarrow as pa

from connectors.jdbc.connection.arrow_pages import Columns
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import ColumnPlan, Raw
from connectors.jdbc.values.unconvertible_rows import BadCells

STORED_ENCODING: Final = "SELECT current_setting('server_encoding')"
AS_STORED: Final = "SET client_encoding TO 'SQL_ASCII'"
"""After this statement the server sends text of such a database unchanged. Else it would fail at text that is not
UTF-8.
"""
UNCHECKED: Final = "SQL_ASCII"


def is_unchecked(connection: psycopg.Connection[Any]) -> bool:
    """Return True if the connection's database has the encoding SQL_ASCII."""
    return connection.info.parameter_status("server_encoding") == UNCHECKED


@contextmanager
def as_stored(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Have the server send text of such a database unchanged inside the block, in which the rows of a statement are
    read. The text of the statement itself is made before, in UTF-8.
    """
    if not is_unchecked(connection):
        yield
        return
    connection.execute(AS_STORED)
    yield
    connection.execute("SET client_encoding TO 'UTF8'")


def checked(chunks: Iterator[Columns], form: RowFormat, bad: BadCells | None) -> Iterator[Columns]:
    """Yield a reader's chunks, in which text that came as bytes is made text.

    `bad` takes the cells that are not UTF-8 in the chunk that was yielded last, see `RowFormat.guarded`.
    """
    for columns in chunks:
        if bad is not None:
            bad.clear()
        texts = [
            form.guarded(plan, octets, _text, bad)
            if plan.raw is Raw.TEXT and pa.types.is_binary(octets.type)
            else octets
            for plan, octets in zip(form.columns, columns, strict=False)
        ]
        yield [*texts, *columns[len(texts) :]]


def _text(_plan: ColumnPlan, octets: pa.Array) -> pa.Array:
    try:
        return octets.cast(pa.string())
    except pa.ArrowInvalid:
        raise Misfit("it is not UTF-8, and the database, in SQL_ASCII, does not say what it is") from None
