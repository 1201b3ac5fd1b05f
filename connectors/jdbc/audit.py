"""What the mode of a table cannot see, for the log at the start. Pure: the table's shape and the settings in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from connectors.jdbc.catalog import TableShape
from connectors.jdbc.config import JdbcSourceConfig
from connectors.jdbc.cursors import has_index


class BlindSpot(NamedTuple):
    """A sentence, and whether a person can do something about it."""

    text: str
    can_be_mended: bool


def blind_spots(
    label: str, shape: TableShape, cursor: tuple[str, ...], config: JdbcSourceConfig
) -> Iterator[BlindSpot]:
    """What is not seen of a table or query. `cursor`: the columns that order its rows, empty names are expressions."""
    if config.mode == "bulk":
        return
    yield BlindSpot(f"{label}: deleted rows are not seen with mode={config.mode}.", False)
    if config.mode == "incrementing":
        yield BlindSpot(f"{label}: changed rows are not seen with mode=incrementing.", False)
    if config.offset_mode == "confluent":
        text = f"{label}: rows whose transaction commits late are lost with offset.mode=confluent; safe reads them."
        yield BlindSpot(text, True)
    if config.query_text:
        return
    nullable = [name for name in cursor if name and name not in shape.not_null]
    if nullable:
        text = f"{label}: rows with NULL in {', '.join(nullable)} are never read. Make it NOT NULL."
        yield BlindSpot(text, True)
    if not has_index(shape, cursor[:1]):
        what = cursor[0] or "the first of several timestamp columns"
        text = f"{label}: no index begins with {what}, so every poll reads the whole table. Create one."
        yield BlindSpot(text, True)
