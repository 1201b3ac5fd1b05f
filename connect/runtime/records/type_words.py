"""Describes types of Connect in words. Pure."""

from __future__ import annotations

from connect.api.schema import DECIMAL, Schema


def type_name(schema: Schema | None) -> str:
    """Return a Connect type in words; an empty text without one."""
    if schema is None:
        return ""
    found = schema.name or schema.type.name.lower()
    if schema.name == DECIMAL:
        found += f" of scale {schema.parameters.get('scale')}"
    elif schema.name is None and schema.items is not None:
        found += f" of {type_name(schema.items)}"
    return f"{found} or null" if schema.optional else found
