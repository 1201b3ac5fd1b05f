"""Encodes the default values of an Avro schema's fields, for records that lack such a field. Pure."""

from __future__ import annotations

import struct
from typing import Any

from connect.api.errors import SchemaError
from connect.convert.avro.model import MISSING, AvroType


def default_bytes(avro: AvroType, value: Any, path: str) -> bytes:
    """Return the encoding of a default value given as JSON. SchemaError when it does not fit its type."""
    try:
        return _bytes(avro, value)
    except (struct.error, TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise SchemaError(f"The default {value!r:.80} in the Avro schema does not fit its type.", field=path) from error


def _bytes(avro: AvroType, value: Any) -> bytes:
    match avro.kind:
        case "null":
            return b""
        case "boolean":
            return b"\x01" if value else b"\x00"
        case "int" | "long":
            return _long(int(value))
        case "float" | "double":
            return struct.pack("<f" if avro.kind == "float" else "<d", float(value))
        case "string":
            return _sized(value.encode())
        case "bytes":
            return _sized(value.encode("latin-1"))
        case "fixed":
            data: bytes = value.encode("latin-1")
            return data
        case "enum":
            return _long(avro.symbols.index(value))
        case "union":
            index = next((i for i, b in enumerate(avro.branches) if (b.kind == "null") == (value is None)), 0)
            return _long(index) + _bytes(avro.branches[index], value)
    return _nested_bytes(avro, value)


def _nested_bytes(avro: AvroType, value: Any) -> bytes:
    if avro.kind == "record":
        return b"".join(
            _bytes(f.type, value[f.name] if f.name in value or f.default is MISSING else f.default) for f in avro.fields
        )
    if avro.kind == "map":
        entries = [_sized(key.encode()) + _bytes(avro.member, item) for key, item in value.items()]
    else:
        entries = [_bytes(avro.member, item) for item in value]
    return (_long(len(entries)) + b"".join(entries) if entries else b"") + b"\x00"


def _sized(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    folded = (number << 1) ^ (number >> 63)
    groups = bytearray()
    while folded > 0x7F:
        groups.append(folded & 0x7F | 0x80)
        folded >>= 7
    return bytes([*groups, folded])
