"""Reads PostgreSQL's geometric types as Debezium's structs, with the well-known binary form of the shape. Pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from connect.api import schema as s
from connectors.jdbc.debezium.kinds import Kind, by_value

_PACKAGE: Final = "io.debezium.data.geometry."
_POINT, _LINE_STRING, _POLYGON = 1, 2, 3
"""Shapes have these numbers in the well-known binary form (OGC 06-103r4)."""
_NUMBER = re.compile(r"[+-]?(?:Infinity|NaN|[0-9.]+(?:e[+-]?\d+)?)", re.IGNORECASE)
Point = tuple[float, float]

POINT: Final = s.Schema(
    s.Type.STRUCT, name=_PACKAGE + "Point", version=1, doc="Geometry (POINT)",
    fields=(
        s.Field("x", s.FLOAT64), s.Field("y", s.FLOAT64), s.Field("wkb", s.BYTES.as_optional()),
        s.Field("srid", s.INT32.as_optional()),
    ),
)  # fmt: skip
LINE: Final = s.Schema(
    s.Type.STRUCT, name=_PACKAGE + "Line", version=1, doc="Geometry (LINE)",
    fields=tuple(s.Field(name, s.FLOAT64) for name in "abc"),
)  # fmt: skip
CIRCLE: Final = s.Schema(
    s.Type.STRUCT, name=_PACKAGE + "Circle", version=1, doc="Geometry (CIRCLE)",
    fields=(s.Field("center", POINT), s.Field("radius", s.FLOAT64)),
)  # fmt: skip
SHAPE: Final = s.Schema(
    s.Type.STRUCT, name=_PACKAGE + "Geometry", version=2, doc="Geometry",
    fields=(
        s.Field("wkb", s.BYTES), s.Field("srid", s.INT32.as_optional()),
        s.Field("extensions", s.map_of(s.STRING, s.STRING, optional=True)),
    ),
)  # fmt: skip


def _kind(schema: s.Schema, convert: Callable[[str], object], absent: object) -> Kind:
    return Kind(schema, by_value(schema, convert), absent, always_optional=schema is not POINT)


def point(text: str) -> dict[str, object]:
    """Return a point as Debezium's struct, which also has the point's binary form."""
    (one,) = _points(text)
    return {"x": one[0], "y": one[1], "wkb": _wkb(_POINT) + struct.pack("<2d", *one), "srid": None}


def _line(text: str) -> dict[str, object]:
    return dict(zip("abc", _numbers(text), strict=True))


def _circle(text: str) -> dict[str, object]:
    x, y, radius = _numbers(text)
    return {"center": point(f"({x!r},{y!r})"), "radius": radius}


def _segment(text: str) -> dict[str, object]:
    return _shape(_string(_points(text)), type="lseg")


def _path(text: str) -> dict[str, object]:
    return _shape(_string(_points(text)), type="path", closed="true" if text.startswith("(") else "false")


def _box(text: str) -> dict[str, object]:
    (right, top), (left, bottom) = _points(text)
    corners = [(right, top), (right, bottom), (left, bottom), (left, top), (right, top)]
    return _shape(_ring(corners), type="box")


def _polygon(text: str) -> dict[str, object]:
    points = _points(text)
    return _shape(_ring(points if points[0] == points[-1] else [*points, points[0]]), type="polygon")


def _shape(wkb: bytes, **extensions: str) -> dict[str, object]:
    return {"wkb": wkb, "srid": None, "extensions": list(extensions.items())}


def _string(points: Sequence[Point]) -> bytes:
    return _wkb(_LINE_STRING) + _counted(points)


def _ring(points: Sequence[Point]) -> bytes:
    return _wkb(_POLYGON) + struct.pack("<I", 1) + _counted(points)


def _counted(points: Sequence[Point]) -> bytes:
    return struct.pack("<I", len(points)) + b"".join(struct.pack("<2d", *one) for one in points)


def _wkb(shape: int) -> bytes:
    return struct.pack("<BI", 1, shape)


def _numbers(text: str) -> list[float]:
    return [float(found) for found in _NUMBER.findall(text)]


def _points(text: str) -> list[Point]:
    numbers = _numbers(text)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


_UNIT_SQUARE: Final = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)]
_UNIT_STEP: Final = [(0.0, 0.0), (1.0, 0.0)]
KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "point": _kind(POINT, point, point("(0,0)")),
        "line": _kind(LINE, _line, _line("{0,1,0}")),
        "lseg": _kind(SHAPE, _segment, _shape(_string(_UNIT_STEP), type="lseg")),
        "box": _kind(SHAPE, _box, _shape(_ring(_UNIT_SQUARE), type="box")),
        "path": _kind(SHAPE, _path, _shape(_string(_UNIT_STEP), type="path")),
        "polygon": _kind(SHAPE, _polygon, _polygon("((0,0),(1,0),(0,1))")),
        "circle": _kind(CIRCLE, _circle, _circle("<(0,0),0>")),
    }
)
"""Maps names of types to their kinds. Each kind has the value by which Debezium replaces a shape that is not known."""
