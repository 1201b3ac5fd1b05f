"""Turns any converter into a header converter: it passes one value at a time through a column of one row."""

from __future__ import annotations

from connect.api.codec import Converter
from connect.api.records import Column, Header


class ColumnHeaderConverter:
    """Converts header values by a Converter. One task thread owns it."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def encode(self, topic: str, header: Header) -> bytes | None:
        """Return the header's bytes; None when the converter encodes the value as null."""
        column = Column.from_rows([header.value], header.schema)
        encoded: bytes | None = self._converter.encode(topic, column)[0].as_py()
        return encoded

    def decode(self, topic: str, key: str, data: bytes | None) -> Header:
        """Return the header of this key with the value that these bytes hold."""
        import pyarrow as pa

        (column,) = self._converter.decode(topic, pa.array([data], pa.binary()))
        return Header(key, column.rows()[0], column.schema)
