"""Reads bytes, enums and hstore as Debezium has them. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pyarrow as pa

from connect.api import schema as s
from connectors.jdbc.debezium.kinds import TEXT, Kind, by_value, placeholder
from connectors.jdbc.log.postgres.text import unhexed

_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")(?:, )?', re.DOTALL)


def in_mode(octets: bytes, mode: str) -> bytes | str:
    """Return bytes in the form that binary.handling.mode names."""
    match mode:
        case "base64":
            return base64.b64encode(octets).decode()
        case "base64-url-safe":
            return base64.urlsafe_b64encode(octets).decode()
        case "hex":
            return octets.hex()
    return octets


def binary(mode: str) -> Kind:
    """Return the kind of BYTEA."""
    if mode == "bytes":
        return Kind(s.BYTES, unhexed, b"", str.encode)

    def read(values: pa.BinaryArray) -> pa.Array:
        return pa.array([None if v is None else in_mode(v, mode) for v in unhexed(values).to_pylist()], pa.string())

    kind = Kind(s.STRING, read, "")
    return replace(kind, unavailable=placeholder) if mode == "hex" else kind


def unknown(mode: str) -> Kind:
    """Return the kind of a type that is not known. Its values become the bytes of their texts."""
    schema = s.BYTES if mode == "bytes" else s.STRING
    read = by_value(schema, lambda text: in_mode(text.encode(), mode))
    return Kind(schema, read, in_mode(b"", mode), lambda text: in_mode(text.encode(), mode))


def enum(labels: Sequence[str]) -> Kind:
    """Return the kind of an enum, whose schema lists the values."""
    kind = TEXT.named("io.debezium.data.Enum")
    parameters = MappingProxyType({"allowed": ",".join(labels)})
    return replace(kind, schema=replace(kind.schema, parameters=parameters))


def hstore(mode: str) -> Kind:
    """Return the kind of HSTORE, as JSON or as a map."""
    if mode == "map":
        schema = s.map_of(s.STRING, s.STRING.as_optional())
        read = by_value(schema, lambda text: list(pairs(text).items()))
        return Kind(schema, read, [], lambda text: [(text, text)])
    schema = TEXT.named("io.debezium.data.Json").schema
    read = by_value(schema, lambda text: _json(pairs(text)))
    return Kind(schema, read, "{}", lambda text: _json({text: text}))


def pairs(text: str) -> dict[str, str | None]:
    """Return the pairs of hstore's text."""
    return {_plain(m[1]): None if m[2] is None else _plain(m[2]) for m in _PAIR.finditer(text)}


def _plain(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def _json(found: Mapping[str, str | None]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def semantic(name: str) -> Kind:
    """Return the kind of a text whose schema has the name of a semantic type."""
    return TEXT.named(f"io.debezium.data.{name}")
