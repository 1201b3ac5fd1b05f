"""Sends change events to partitions by the hash of some of their fields.

Source of the rules: Debezium 3's documentation of io.debezium.transforms.partitions.PartitionRouting, and Java's
documentation of hashCode.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from connect.api import schema as s
from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.api.schema import Schema, Type
from connect.transforms.cast.values import epoch_ms
from connect.transforms.settings.debezium_config import PartitionRoutingConfig
from connect.transforms.structure.structs import is_struct

_INT32: Final = 1 << 32
_LARGEST: Final = (1 << 31) - 1
_SKIPPED: Final = frozenset({"t", "m"})
"""Events with these operations have no row: TRUNCATE, and messages of pg_logical_emit_message."""
Path = tuple[str, ...]


class PartitionRouting:
    """Gives each change event the partition to which the hash of its fields leads. It is owned by one task thread."""

    def __init__(self, config: PartitionRoutingConfig) -> None:
        self._paths: Sequence[Path] = [tuple(map(str.strip, field.split("."))) for field in config.fields]
        self._count = config.count

    def apply(self, batch: Batch) -> list[Batch]:
        """Return a batch for each partition, with its rows in order; tombstones and other records keep their
        partition.
        """
        schema = batch.values.schema
        if schema is None or not is_struct(schema) or not (schema.name or "").endswith(".Envelope"):
            return [batch]
        groups: dict[int | None, list[int]] = {}
        refused: dict[int, ConnectError] = {}
        for i, event in enumerate(batch.values.rows()):
            try:
                groups.setdefault(self._partition(event, schema, batch.partition), []).append(i)
            except ConnectError as error:
                refused[i] = error
        if refused:
            raise RejectedRowsError(refused)
        return [
            replace(batch.take(rows) if len(groups) > 1 else batch, partition=partition)
            for partition, rows in groups.items()
        ]

    def _partition(self, event: Mapping[str, Any] | None, schema: Schema, own: int | None) -> int | None:
        if event is None or event.get("op") in _SKIPPED:
            return own
        hashes = [found for path in self._paths if (found := _hash_at(event, schema, path)) is not None]
        return (sum(hashes) & _LARGEST) % self._count if hashes else own


def _hash_at(event: Mapping[str, Any], schema: Schema, path: Path) -> int | None:
    """Return the hash of a field; None if the event has no such field, or the field is null."""
    value: Any = event
    for at, step in enumerate(path):
        if value is None:
            return None
        is_change = step == "change" and at < len(path) - 1
        name = ("before" if event.get("op") == "d" else "after") if is_change else step
        found = schema.field(name) if is_struct(schema) else None
        if found is None:
            return None
        value, schema = value.get(name), found
    return None if value is None else _hashed(value, schema, ".".join(path))


def _hashed(value: Any, schema: Schema, path: str) -> int:
    kind = _LOGICAL.get(schema.name or "") or _BY_TYPE.get(schema.type)
    if kind is None:
        raise SchemaError(
            f"A partition cannot be told by a value of type {schema.name or schema.type}.", field=path,
            fix="Name other fields in partition.payload.fields: texts, numbers, booleans, decimals or times.",
        )  # fmt: skip
    return kind(value)


def _of_long(value: int) -> int:
    bits = value & 0xFFFFFFFFFFFFFFFF
    return (bits ^ (bits >> 32)) % _INT32


def _of_double(value: float) -> int:
    bits = 0x7FF8000000000000 if math.isnan(value) else struct.unpack(">Q", struct.pack(">d", value))[0]
    return (bits ^ (bits >> 32)) % _INT32


def _of_float(value: float) -> int:
    if math.isnan(value):
        return 0x7FC00000
    (bits,) = struct.unpack(">I", struct.pack(">f", value))
    return int(bits)


def _of_text(value: str) -> int:
    units, total = value.encode("utf-16-be", "surrogatepass"), 0
    for (unit,) in struct.iter_unpack(">H", units):
        total = (31 * total + unit) % _INT32
    return total


def _of_decimal(value: Decimal) -> int:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled, total = int("".join(map(str, digits))), 0
    words = max((unscaled.bit_length() + 31) // 32, 0)
    for word in range(words - 1, -1, -1):
        total = (31 * total + (unscaled >> (32 * word) & 0xFFFFFFFF)) % _INT32
    return (31 * (-total if sign else total) - exponent) % _INT32


def _of_date(value: dt.date | dt.time) -> int:
    return _of_long(epoch_ms(value))


_BY_TYPE: Final[Mapping[Type, Callable[[Any], int]]] = MappingProxyType({
    Type.INT8: int, Type.INT16: int, Type.INT32: int, Type.INT64: _of_long, Type.STRING: _of_text,
    Type.FLOAT32: _of_float, Type.FLOAT64: _of_double, Type.BOOLEAN: lambda value: 1231 if value else 1237,
})  # fmt: skip
_LOGICAL: Final[Mapping[str, Callable[[Any], int]]] = MappingProxyType(
    {s.DECIMAL: _of_decimal, s.DATE: _of_date, s.TIME: _of_date, s.TIMESTAMP: _of_date}
)
