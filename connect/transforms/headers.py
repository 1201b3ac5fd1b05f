"""Provides InsertHeader and DropHeaders. A header is a Python object in every batch, so they work row by row."""

from __future__ import annotations

from dataclasses import replace

from connect.api.records import Batch, Header
from connect.api.values.parse import parse_string
from connect.transforms.settings.config import DropHeadersConfig, InsertHeaderConfig


class InsertHeader:
    """Appends the same header to every row, also to a row that has a header of that name."""

    def __init__(self, config: InsertHeaderConfig) -> None:
        literal = parse_string(config.literal)
        self._header = Header(config.header, literal.value, literal.schema)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch with the header added to every row."""
        headers = batch.headers if batch.headers is not None else [()] * len(batch)
        return [replace(batch, headers=[(*row, self._header) for row in headers])]


class DropHeaders:
    """Removes every header of these names."""

    def __init__(self, config: DropHeadersConfig) -> None:
        self._names = frozenset(config.headers)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch without the headers of these names."""
        if batch.headers is None:
            return [batch]
        return [replace(batch, headers=[[h for h in row if h.key not in self._names] for row in batch.headers])]
