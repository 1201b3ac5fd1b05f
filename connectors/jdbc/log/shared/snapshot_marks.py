"""Tells the first and last rows of a first read, as the source block of an event names them in `snapshot`. Pure."""

from __future__ import annotations

import pyarrow as pa

FIRST, FIRST_OF_TABLE, LAST_OF_TABLE, LAST = "first", "first_in_data_collection", "last_in_data_collection", "last"


def marks(rows: int, *, starts_table: bool, starts_all: bool, ends_table: bool, ends_all: bool) -> pa.Array:
    """Return the marks of `rows` consecutive rows of a table, which are at least one.

    `starts_table` and `ends_table` say that the first row begins the table and that the last one ends it; `starts_all`
    and `ends_all` say the same of the whole read.
    """
    found = ["true"] * rows
    if starts_table:
        found[0] = FIRST_OF_TABLE
    if ends_table:
        found[-1] = LAST_OF_TABLE
    if starts_all:
        found[0] = FIRST
    if ends_all:
        found[-1] = LAST
    return pa.array(found)
