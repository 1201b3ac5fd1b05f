"""Reads text of PostgreSQL databases in SQL_ASCII: the server neither checks nor converts it, whatever its encoding.

Text in UTF-8 is taken as text. A row with other bytes is a bad row, and the rows beside it are read.
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
"""From then on the server sends text of such a database as it is, where it would fail what reads other than UTF-8."""
UNCHECKED: Final = "SQL_ASCII"


def is_unchecked(connection: psycopg.Connection[Any]) -> bool:
    """Return True if the connection's database is in SQL_ASCII."""
    return connection.info.parameter_status("server_encoding") == UNCHECKED


@contextmanager
def as_stored(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Text of such a database comes as it is while a statement is read, whose text is made before."""
    if not is_unchecked(connection):
        yield
        return
    connection.execute(AS_STORED)
    yield
    connection.execute("SET client_encoding TO 'UTF8'")


def checked(chunks: Iterator[Columns], form: RowFormat, bad: BadCells | None) -> Iterator[Columns]:
    """Yield a reader's chunks with text where it came as bytes.

    `bad`: as `RowFormat.guarded`'s, of the chunk given last.
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
