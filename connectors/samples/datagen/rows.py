"""Chooses what makes the rows of a configuration, and makes them as batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from connect.api.errors import ConfigError
from connect.api.records import Column, Header
from connectors.samples.datagen.avro_schema import values_of
from connectors.samples.datagen.quick_starts import QuickStart, quick_starts
from connectors.samples.datagen.values import BLOCK_ROWS, Place, TextPool

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.samples.datagen.config import DatagenConfig


def rows_of(config: DatagenConfig) -> QuickStart:
    """Return what makes the rows. ValueError: the quick start, the schema or the key's field is not known."""
    if config.quick_start:
        known = quick_starts().get(config.quick_start.lower())
        if known is None:
            raise ValueError(f"Known here are {', '.join(quick_starts())}; give others as a schema in schema.string")
        rows = QuickStart(config.key_field or known.key, known.rows)
    else:
        rows = QuickStart(config.key_field, values_of(config.schema_text or _read(config)))
    if rows.key and rows.rows.schema.field(rows.key) is None:
        raise ValueError(f"The rows have no field {rows.key}, which schema.keyfield names")
    return rows


def _read(config: DatagenConfig) -> str:
    name, path = "schema.filename", config.schema_file
    try:
        return config.allowed.read_bytes(name, path).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"File {path} cannot be read: {error}.", key=name, fix="Put the schema there.") from None


class MadeRows:
    """Gives the rows from an iteration on. A row depends on the seed and its iteration alone."""

    def __init__(self, rows: QuickStart, seed: int, end: int | None = None) -> None:
        """Make no row from the iteration `end` on; None: there is no end."""
        self._rows, self._seed, self._end = rows, seed, end
        self._block: tuple[int, pa.StructArray] | None = None
        self._pools: dict[str, TextPool] = {}

    def columns(self, first: int, most: int) -> tuple[Column | None, Column]:
        """Return keys, if rows have any, and values of `most` rows from `first` on; of fewer where the block ends."""
        number, start = divmod(first, BLOCK_ROWS)
        if self._block is None or self._block[0] != number:
            block_first = number * BLOCK_ROWS
            # A block that ends sooner has the same rows as far as it goes.
            count = BLOCK_ROWS if self._end is None else min(BLOCK_ROWS, self._end - block_first)
            place = Place(str(self._seed), block_first, count, self._pools)
            self._block = (number, self._rows.rows.column(place))
        values = self._block[1].slice(start, most)
        schema = self._rows.rows.schema
        keys = None
        if self._rows.key:
            keys = Column.from_arrow(pc.struct_field(values, self._rows.key), schema.field(self._rows.key))
        return keys, Column.from_arrow(values, schema)


def headers_of(generation: int, task: int, first: int, count: int) -> list[list[Header]]:
    """Return the headers that Datagen gives each record: how often its task was started, its number and iteration."""
    from connect.api.schema import Schema, Type

    long = Schema(Type.INT64)
    fixed = [Header("task.generation", generation, long), Header("task.id", task, long)]
    return [[*fixed, Header("current.iteration", row, long)] for row in range(first, first + count)]
