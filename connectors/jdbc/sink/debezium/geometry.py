"""Gives geometries the forms and the types of columns that databases have for them. Pure.

A geometry is a struct of its Well-Known Binary and the number of its reference system.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import sqlalchemy as sa

from connect.api import schema as s

_NAMES: Final = "io.debezium.data.geometry."
POINT: Final = f"{_NAMES}Point"
SHAPES: Final = (f"{_NAMES}Geometry", f"{_NAMES}Geography", POINT)
_HAS_SYSTEM: Final = 0x20000000
"""PostGIS sets this bit of a geometry's type where the number of the reference system stands behind it."""
_HEAD: Final = 5


class Shape(sa.types.UserDefinedType[bytes]):
    """Names a type of columns that SQLAlchemy has no type for."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **kw: object) -> str:
        """Return the name."""
        del kw
        return self.name


def mysql_shapes(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
    """Return geometries as MariaDB and MySQL store them: the reference system's number, and the WKB."""
    del schema
    found = [None if value is None else _stored(value) for value in array.to_pylist()]
    return pa.array(found, pa.binary()), s.Type.BYTES


def postgres_points(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
    """Return points as the texts that PostgreSQL reads."""
    del schema
    found = [None if value is None else f"({value['x']!r},{value['y']!r})" for value in array.to_pylist()]
    return pa.array(found, pa.string()), s.Type.STRING


def _stored(value: Mapping[str, Any]) -> bytes:
    return struct.pack("<I", value.get("srid") or 0) + _plain(value["wkb"] or b"")


def _plain(wkb: bytes) -> bytes:
    """Return a WKB without PostGIS's number of the reference system in it."""
    if len(wkb) < _HEAD:
        raise ValueError(f"a geometry has a WKB of at least {_HEAD} bytes, and this one has {len(wkb)}")
    order = "<" if wkb[0] else ">"
    [kind] = struct.unpack_from(f"{order}I", wkb, 1)
    if not kind & _HAS_SYSTEM:
        return wkb
    return wkb[:1] + struct.pack(f"{order}I", kind & ~_HAS_SYSTEM) + wkb[_HEAD + 4 :]
