"""Compresses the blocks of Avro's object container files (Avro 1.12 specification, "Required Codecs")."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from connectors.s3.formats.compression import unpacked_snappy_block

_RAW_DEFLATE: Final = -15
"""If zlib gets this number of window bits, its deflate has no header."""


class Codec(NamedTuple):
    """Holds the functions that compress and decompress a block."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


def _pack_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(-1, zlib.DEFLATED, _RAW_DEFLATE)
    return packer.compress(data) + packer.flush()


def _pack_snappy(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("snappy").compress(data, asbytes=True)
    return packed + struct.pack(">I", zlib.crc32(data))


def _unpack_snappy(data: bytes) -> bytes:
    return unpacked_snappy_block(data[:-4])


def _pack_zstd(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


def _unpack_zstd(data: bytes) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        unpacked: bytes = stream.read()
    return unpacked


CODECS: Final[Mapping[str, Codec]] = {
    "null": Codec(bytes, bytes),
    "deflate": Codec(_pack_deflate, lambda data: zlib.decompress(data, _RAW_DEFLATE)),
    "snappy": Codec(_pack_snappy, _unpack_snappy),
    "bzip2": Codec(bz2.compress, bz2.decompress),
    "xz": Codec(lzma.compress, lzma.decompress),
    "zstandard": Codec(_pack_zstd, _unpack_zstd),
}
"""Maps the values of avro.codec to the codecs."""
