"""Tells if rows of one Connect schema can be read with another one. Pure."""

from __future__ import annotations

from typing import Final

from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type

_WIDER: Final = {
    Type.INT8: (Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64),
    Type.INT16: (Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64),
    Type.INT32: (Type.INT64, Type.FLOAT64),
    Type.FLOAT32: (Type.FLOAT64,),
}


def check_fits(own: Schema, target: Schema, *, open_structs: bool, path: str = "") -> None:
    """Raise SchemaError for the first field whose values the target has no place for.

    `open_structs`: a field that the target does not know is no failure.
    """
    if own.type is not target.type and target.type not in _WIDER.get(own.type, ()):
        raise SchemaError(
            f"The record has {own.name or own.type} here, the registered schema {target.name or target.type}.",
            field=path, fix="Cast the field, or register a schema that fits.",
        )  # fmt: skip
    if own.optional and not target.optional and target.default is None and path:
        raise SchemaError("The record may have no value here, the registered schema requires one.", field=path)
    if own.type is Type.STRUCT:
        _check_fields(own, target, open_structs=open_structs, path=path)
    for mine, theirs, name in ((own.items, target.items, "[]"), (own.keys, target.keys, ".key")):
        if mine is not None and theirs is not None:
            check_fits(mine, theirs, open_structs=open_structs, path=f"{path}{name}")


def _check_fields(own: Schema, target: Schema, *, open_structs: bool, path: str) -> None:
    for member in own.fields:
        below, theirs = f"{path}.{member.name}".lstrip("."), target.field(member.name)
        if theirs is not None:
            check_fits(member.schema, theirs, open_structs=open_structs, path=below)
        elif not open_structs:
            raise SchemaError("The record has this field, the registered schema has not.", field=below)
    for member in target.fields:
        missing = own.field(member.name) is None
        if missing and not member.schema.optional and member.schema.default is None:
            below = f"{path}.{member.name}".lstrip(".")
            raise SchemaError("The registered schema requires this field, the record has it not.", field=below)
