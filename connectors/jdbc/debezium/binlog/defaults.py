"""Reads the default of a column for its schema, from the catalog's text. Pure.

As in Debezium, a timestamp that the server computes becomes the zero of its type: for CURRENT_TIMESTAMP the schema has
1970-01-01 as its default.
"""

from __future__ import annotations

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Final

import pyarrow as pa

from connect.api.arrow import arrow_type
from connectors.jdbc.debezium.binlog.columns import CatalogColumn
from connectors.jdbc.debezium.binlog.kinds import BinlogKind
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import Raw

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - moments are told in UTC
_MOMENTS: Final = frozenset({"timestamp", "datetime"})
_WITHOUT: Final = frozenset({"json", "text", "blob"})


def default_of(column: CatalogColumn, kind: BinlogKind) -> object:
    """Return the default as a Python value, or None if the schema has no default."""
    name = column.declared.name
    if column.default is None or name in _WITHOUT:
        return None
    if column.is_computed:
        return _absent(kind) if name in _MOMENTS and column.not_null else None
    try:
        given = _given(column, kind, column.default)
        (value,) = kind.told(pa.array([given], arrow_type(kind.reads))).to_pylist()
    except (Misfit, pa.ArrowException, ValueError, InvalidOperation):
        return None
    return _absent(kind) if value is None and column.not_null else value


def _absent(kind: BinlogKind) -> object:
    return pa.array([kind.absent], arrow_type(kind.schema))[0].as_py()


def _given(column: CatalogColumn, kind: BinlogKind, text: str) -> object:
    """Return the Python value that the reader would give for this text; None for a zero date."""
    match kind.raw:
        case Raw.INTEGER:
            return int(Decimal(text).to_integral_value(ROUND_HALF_UP))
        case Raw.FLOAT:
            return float(text)
        case Raw.DECIMAL:
            scale = int((kind.reads.parameters or {}).get("scale", "0"))
            return Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        case Raw.BYTES:
            return _octets(column, text)
        case Raw.DATE | Raw.WALL_CLOCK | Raw.INSTANT if text.startswith("0000-00-00"):
            return None
        case Raw.DATE:
            return dt.date.fromisoformat(text[:10])
        case Raw.WALL_CLOCK | Raw.INSTANT:
            return (dt.datetime.fromisoformat(text) - _EPOCH) // dt.timedelta(microseconds=1)
    return text


def _octets(column: CatalogColumn, text: str) -> bytes:
    if column.declared.name == "bit":
        digits = text.removeprefix("b'").removesuffix("'")
        return int(digits, 2).to_bytes(((column.declared.size or 1) + 7) // 8, "big")
    octets = bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()
    return octets.ljust(column.declared.size or 1, b"\0") if column.declared.name == "binary" else octets
