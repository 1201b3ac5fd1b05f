"""Reads and writes JsonConverter's envelope `{"schema":…,"payload":…}`, its schema half once per schema."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal

from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connect.api.values.strict_json import no_constant
from connect.convert.json.read import Reading
from connect.convert.json.schema_text import parse_schema, schema_text
from connect.convert.json.text import Node
from connect.convert.json.write import Writing

OPEN, MIDDLE, CLOSE = b'{"schema":', b',"payload":', b"}"
NOT_AN_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)


_SCANNER = json.JSONDecoder(parse_float=Decimal, parse_constant=no_constant)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text that stands before the payload of every row of one schema."""

    text: bytes
    schema: Schema | None


class EnvelopeCache:
    """Keeps the envelope prefixes last used, up to `size` in each direction. Owned by one task thread."""

    def __init__(self, size: int, reading: Reading, writing: Writing) -> None:
        self._size = max(size, 1)
        self._reading = reading
        self._writing = writing
        self._written: OrderedDict[Schema, bytes] = OrderedDict()
        self._read: OrderedDict[bytes, Prefix] = OrderedDict()

    def prefix_of(self, schema: Schema | None) -> bytes:
        """Return the bytes that come before the payload of a value of this schema."""
        if schema is None:
            return OPEN + b"null" + MIDDLE
        text = self._written.get(schema)
        if text is None:
            text = OPEN + schema_text(schema, self._writing).encode() + MIDDLE
            self._written[schema] = text
            if len(self._written) > self._size:
                self._written.popitem(last=False)
        return text

    def find(self, row: bytes) -> Prefix | None:
        """Return the prefix of a row in the form that Java writes; None for another form.

        SchemaError: the schema is wrong.
        """
        for known in reversed(self._read.values()):
            if row.startswith(known.text):
                return known
        node_and_text = _split(row)
        if node_and_text is None:
            return None
        node, text = node_and_text
        prefix = Prefix(text, parse_schema(node, self._reading))
        self._read[text] = prefix
        if len(self._read) > self._size:
            self._read.popitem(last=False)
        return prefix


def _split(row: bytes) -> tuple[Node, bytes] | None:
    if not row.startswith(OPEN):
        return None
    try:
        text = row.decode()
        node, end = _SCANNER.raw_decode(text, len(OPEN))
    except (ValueError, RecursionError):
        return None
    if not text.startswith(MIDDLE.decode(), end):
        return None
    return node, text[:end].encode() + MIDDLE


def open_envelope(node: Node) -> tuple[Node, Node]:
    """Return schema and payload of a parsed envelope in any form. SchemaError when the JSON is no envelope."""
    if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
        raise SchemaError(NOT_AN_ENVELOPE, key="schemas.enable")
    return node["schema"], node["payload"]
