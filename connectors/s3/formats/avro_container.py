"""Makes and reads the parts of Avro's object container files: a header with the schema, and blocks of records. No I/O.

Source of the layout: Avro 1.12 specification, "Object Container Files".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

_MAGIC: Final = b"Obj\x01"
_MARKER_BYTES: Final = 16


def header(schema_text: str, codec: str) -> bytes:
    """Return the header of a file with this schema and codec."""
    members = {"avro.schema": schema_text.encode(), "avro.codec": codec.encode()}
    texts = b"".join(_long(len(k)) + k.encode() + _long(len(v)) + v for k, v in members.items())
    return _MAGIC + _long(len(members)) + texts + _long(0) + _marker(schema_text, codec)


def block(rows: int, packed: bytes, schema_text: str, codec: str) -> bytes:
    """Return a block for a file with the header of this schema and codec."""
    return _long(rows) + _long(len(packed)) + packed + _marker(schema_text, codec)


def header_size(data: memoryview) -> int:
    """Return the position of the first block in a file whose header `header` made."""
    members, at = _read_long(data, len(_MAGIC))
    for _ in range(2 * members):
        size, at = _read_long(data, at)
        at += size
    return at + 1 + _MARKER_BYTES


def packed_blocks(data: memoryview) -> Iterator[memoryview]:
    """Yield the packed records of each block of a file."""
    at = header_size(data)
    while at < len(data):
        _, at = _read_long(data, at)
        size, at = _read_long(data, at)
        yield data[at : at + size]
        at += size + _MARKER_BYTES


def _marker(schema_text: str, codec: str) -> bytes:
    """Return the marker between blocks. It depends on schema and codec alone, so that equal rows give equal bytes."""
    return hashlib.blake2b(f"{codec}\n{schema_text}".encode(), digest_size=_MARKER_BYTES).digest()


def _long(number: int) -> bytes:
    """Encode a whole number, 0 or greater, as Avro's long."""
    folded, made = number << 1, bytearray()
    while folded > 0x7F:
        made.append(folded & 0x7F | 0x80)
        folded >>= 7
    made.append(folded)
    return bytes(made)


def _read_long(data: memoryview, at: int) -> tuple[int, int]:
    """Return a whole number, 0 or greater, and the position behind it."""
    folded = shift = 0
    while True:
        byte = data[at]
        folded |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return folded >> 1, at
