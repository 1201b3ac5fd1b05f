"""Unpacks compressed rows of MariaDB's binary log, in the one form in which a server packs them. Pure."""

from __future__ import annotations

import zlib
from typing import Final

from connect.api.errors import ConnectError

LARGEST_BYTES: Final = 1 << 30
"""No event has more bytes: it is the largest value of max_allowed_packet."""


def inflated(record: bytes) -> bytes:
    """Return the rows of a compressed event. ConnectError: they are packed in another form, cut off, or too large."""
    # The lowest bits of the first byte: how many bytes of size follow it (MariaDB, sql/log_event.cc).
    algorithm, size_bytes = record[0] >> 4 & 7, record[0] & 7
    if algorithm:
        raise ConnectError(
            f"The binary log holds an event that is compressed in a way not known here ({algorithm}).",
            fix="Turn log_bin_compress off on the server.",
        )
    size = int.from_bytes(record[1 : 1 + size_bytes], "big")
    unpack = zlib.decompressobj()
    try:
        rows = unpack.decompress(record[1 + size_bytes :], min(size, LARGEST_BYTES) + 1)
    except zlib.error:
        rows = b""
    if len(rows) != size or not unpack.eof:
        raise ConnectError("The binary log holds a compressed event that is not packed as it says.")
    return rows
