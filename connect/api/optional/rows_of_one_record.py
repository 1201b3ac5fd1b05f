"""Tells sinks that keep one row of each key which rows would replace another row of their own record.

Java's transforms make one row of a record. One that makes several, as Explode, may leave them the record's key, and the
last of them would be kept without a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from connect.api.errors import SchemaError
from connect.api.records import Consumed


class RowsOfOneRecord:
    """Keeps the keys of a batch's rows that are written, if a transform may have made several rows of a record."""

    def __init__(self, consumed: Consumed | None) -> None:
        is_numbered = consumed is not None and consumed.row_numbers is not None
        self._offsets: list[int] | None = consumed.offsets.to_pylist() if consumed and is_numbered else None
        self._written: set[tuple[int, str]] = set()

    def wrote(self, row: int, key: Sequence[object]) -> SchemaError | None:
        """Note that a row with this key is to be written; return why it is a bad row if its record has another one."""
        if self._offsets is None:
            return None
        place = (self._offsets[row], repr(key))  # a key may hold lists
        if place not in self._written:
            self._written.add(place)
            return None
        return SchemaError(
            "A transform made several rows of this record, and another one of them has the same key.",
            fix="Give each row a key of its own, as by the field that index.field of Explode adds.",
        )

    def deleted(self, row: int, key: Sequence[object]) -> None:
        """Note that this key is to be deleted, so that a later row of the record replaces nothing."""
        if self._offsets is not None:
            self._written.discard((self._offsets[row], repr(key)))
