"""Makes the mapping of an index from the schema of a topic's values, with Confluent's types. Pure."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from connect.api import schema as s

_TEXT: Final = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
_TYPES: Final = MappingProxyType({
    s.Type.INT8: "byte", s.Type.INT16: "short", s.Type.INT32: "integer", s.Type.INT64: "long",
    s.Type.FLOAT32: "float", s.Type.FLOAT64: "double", s.Type.BOOLEAN: "boolean", s.Type.BYTES: "binary",
})  # fmt: skip
_LOGICAL: Final = MappingProxyType({s.DATE: "date", s.TIME: "date", s.TIMESTAMP: "date", s.DECIMAL: "double"})


def mapping_of(schema: s.Schema, *, compact_maps: bool) -> dict[str, Any] | None:
    """Return the mapping of a struct's fields; None if the value is no struct."""
    return _mapped(schema, compact_maps=compact_maps) if schema.type is s.Type.STRUCT else None


def _mapped(schema: s.Schema, *, compact_maps: bool) -> dict[str, Any]:
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return {"type": logical}
    match schema.type:
        case s.Type.STRUCT:
            fields = {f.name: _mapped(f.schema, compact_maps=compact_maps) for f in schema.fields}
            return {"properties": fields}
        case s.Type.ARRAY:
            assert schema.items is not None
            return _mapped(schema.items, compact_maps=compact_maps)
        case s.Type.MAP:
            assert schema.keys is not None
            assert schema.items is not None
            if compact_maps and schema.keys.type is s.Type.STRING:
                return {"type": "object"}
            pair = {"key": schema.keys, "value": schema.items}
            return {"properties": {name: _mapped(one, compact_maps=compact_maps) for name, one in pair.items()}}
        case s.Type.STRING:
            return {**_TEXT}
    return {"type": _TYPES[schema.type]}
