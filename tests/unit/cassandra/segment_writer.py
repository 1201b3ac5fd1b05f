"""Writes segments as a node does, for compressions and damages that none of the recorded ones has."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Sequence


def crc(*parts: bytes) -> bytes:
    return zlib.crc32(b"".join(parts)).to_bytes(4, "big")


def frame(body: bytes) -> bytes:
    size = len(body).to_bytes(4, "big")
    return size + crc(size) + body + crc(size, body)


def segment(
    sections: Sequence[Sequence[bytes]],
    *,
    segment_id: int = 7,
    version: int = 8,
    compression: str | None = None,
    compress: Callable[[bytes], bytes] = bytes,
    parameters: dict[str, object] | None = None,
) -> bytes:
    """A segment whose sections hold frames of these bodies."""
    given = parameters or ({} if compression is None else {"compressionClass": compression})
    text = json.dumps(given).encode()
    low, high = segment_id & 0xFFFFFFFF, segment_id >> 32
    data = struct.pack(">iqH", version, segment_id, len(text)) + text
    data += crc(struct.pack(">iIII", version, low, high, len(text)), text)
    for bodies in sections:
        content = b"".join(map(frame, bodies))
        block = content if compression is None else len(content).to_bytes(4, "big") + compress(content)
        at = len(data)
        data += struct.pack(">I", at + 8 + len(block)) + crc(struct.pack(">III", low, high, at)) + block
    return data
