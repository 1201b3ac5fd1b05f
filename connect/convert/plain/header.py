"""Any converter as a header converter: one value at a time through a column of one row."""

from __future__ import annotations

from connect.api.codec import Converter
from connect.api.records import Column, Header


class ColumnHeaderConverter:
    """A HeaderConverter over a Converter. Owned by one task thread."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def encode(self, topic: str, header: Header) -> bytes | None:
        """The header's bytes; None for a null value."""
        column = Column.from_rows([header.value], header.schema)
        encoded: bytes | None = self._converter.encode(topic, column)[0].as_py()
        return encoded

    def decode(self, topic: str, key: str, data: bytes | None) -> Header:
        """The header of these bytes."""
        import pyarrow as pa

        (column,) = self._converter.decode(topic, pa.array([data], pa.binary()))
        return Header(key, column.rows()[0], column.schema)
