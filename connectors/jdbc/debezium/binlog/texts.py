"""Reads bytes, choices, JSON and shapes of MySQL and MariaDB as Debezium has them. Pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from connect.api import schema as s
from connectors.jdbc.debezium.binlog.kinds import BinlogKind, as_they_are, by_value, text
from connectors.jdbc.debezium.geometry import POINT
from connectors.jdbc.debezium.texts import in_mode
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import Raw

_SPACED: Final = re.compile(r'("(?:[^"\\]|\\.)*")|([:,]) ', re.DOTALL)
_POINT_BYTES: Final = 21
_EMPTY: Final = struct.pack("<BII", 1, 7, 0)
"""Holds a collection without shapes, in the well-known binary form."""
SHAPE: Final = s.Schema(
    s.Type.STRUCT, name="io.debezium.data.geometry.Geometry", version=1, doc="Geometry",
    fields=(s.Field("wkb", s.BYTES), s.Field("srid", s.INT32.as_optional())),
)  # fmt: skip


def binary(mode: str) -> BinlogKind:
    """Return the kind of BINARY and BLOB."""
    if mode == "bytes":
        return BinlogKind(s.BYTES, Raw.BYTES, s.BYTES, as_they_are, b"")
    return BinlogKind(
        s.STRING, Raw.BYTES, s.BYTES, by_value(s.STRING, lambda octets: in_mode(_bytes(octets), mode)), ""
    )


def choice(members: Sequence[str], *, is_set: bool) -> BinlogKind:
    """Return the kind of ENUM or SET, whose schema lists the members."""
    kind = text("EnumSet" if is_set else "Enum")
    allowed = ",".join(member.replace(",", "\\,") for member in members)
    return replace(kind, schema=replace(kind.schema, parameters=MappingProxyType({"allowed": allowed})))


def json() -> BinlogKind:
    """Return the kind of JSON: a query's text is kept, and a text from the log loses the spaces between values."""
    kind = text("Json")
    compact = by_value(kind.schema, lambda document: _SPACED.sub(r"\1\2", str(document)))
    return replace(kind, logged=compact, absent="{}")


def point() -> BinlogKind:
    """Return the kind of POINT."""
    absent = {"x": 0.0, "y": 0.0, "wkb": struct.pack("<BI2d", 1, 1, 0.0, 0.0), "srid": None}
    return BinlogKind(POINT, Raw.BYTES, s.BYTES, by_value(POINT, _point), absent)


def shape() -> BinlogKind:
    """Return the kind of all other shapes."""
    absent = {"wkb": _EMPTY, "srid": None}
    return BinlogKind(SHAPE, Raw.BYTES, s.BYTES, by_value(SHAPE, _shape), absent, always_optional=True)


def _shape(octets: object) -> dict[str, object]:
    found = _bytes(octets)
    return {"wkb": found[4:], "srid": int.from_bytes(found[:4], "little", signed=True) or None}


def _point(octets: object) -> dict[str, object]:
    found = _shape(octets)
    wkb = _bytes(found["wkb"])
    if len(wkb) != _POINT_BYTES:
        raise Misfit("it is no point")
    x, y = struct.unpack("<2d", wkb[5:])
    return {"x": x, "y": y, **found}


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value
