"""Compresses text files while they grow. It knows no file names and no S3."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

_GZIP: Final = 31
"""If zlib gets this number of window bits, its output has a gzip header and trailer.

The header has no time, so equal rows give equal bytes.
"""
_GZIP_BYTES: Final = 268_000
"""Deflate holds this many bytes of memory with its default window and memory level (zlib.h)."""
_ZSTD_BYTES: Final = 1_300_000
"""Zstd holds about this many bytes of memory at its default level (ZSTD_estimateCStreamSize of level 1)."""
_EXTENSIONS: Final = {"none": "", "gzip": ".gz", "zstd": ".zst", "snappy": ".snappy"}
_CONTENT_TYPES: Final = {
    "none": "", "gzip": "application/gzip", "zstd": "application/zstd", "snappy": "application/x-snappy",
}  # fmt: skip
_SNAPPY_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
"""The stream of snappy-java's SnappyOutputStream begins with this: magic, version and oldest compatible version."""
_SNAPPY_BLOCK: Final = 32 * 1024


class Packer(Protocol):
    """Compresses the text of one file."""

    @property
    def size_bytes(self) -> int:
        """Return the bytes of memory that the packer holds."""

    def pack(self, text: Any) -> Any:
        """Take more text, and return the compressed bytes that are ready by now."""

    def end(self) -> bytes:
        """Return the rest of the compressed bytes."""


@dataclass(frozen=True, slots=True)
class Compression:
    """Describes how text files are compressed.

    `kind` is none, gzip, zstd or snappy (the stream of snappy-java). `level` is the level of gzip; -1 means zlib's
    default. It does not count for the others.
    """

    kind: str = "none"
    level: int = -1

    @property
    def is_on(self) -> bool:
        """Return True if files are compressed."""
        return self.kind != "none"

    @property
    def extension(self) -> str:
        """Return the extension that the compression adds to a file name."""
        return _EXTENSIONS[self.kind]

    @property
    def content_type(self) -> str:
        """Return the media type of compressed files; empty if the format's own is used."""
        return _CONTENT_TYPES[self.kind]

    def packer(self) -> Packer:
        """Return a packer for a new file."""
        match self.kind:
            case "gzip":
                return _Gzip(self.level)
            case "zstd":
                return _Zstd()
            case "snappy":
                return _Snappy()
        return _Plain()

    def unpacked(self, data: pa.Buffer) -> bytes:
        """Return the text of a file."""
        import pyarrow as pa

        if self.kind == "none":
            return bytes(data)
        if self.kind == "snappy":
            return _unpacked_snappy(bytes(data))
        with pa.CompressedInputStream(pa.BufferReader(data), self.kind) as stream:
            text: bytes = stream.read()
        return text


class _Plain:
    size_bytes = 0

    def pack(self, text: Any) -> Any:
        return text

    def end(self) -> bytes:
        return b""


class _Gzip:
    size_bytes = _GZIP_BYTES

    def __init__(self, level: int) -> None:
        self._packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP)

    def pack(self, text: Any) -> bytes:
        return self._packer.compress(text)

    def end(self) -> bytes:
        return self._packer.flush()


class _Zstd:
    size_bytes = _ZSTD_BYTES

    def __init__(self) -> None:
        import pyarrow as pa

        self._file = _Taken()
        self._stream = pa.CompressedOutputStream(pa.PythonFile(self._file, "w"), "zstd")

    def pack(self, text: Any) -> bytes:
        self._stream.write(text)
        return self._file.take()

    def end(self) -> bytes:
        self._stream.close()
        return self._file.take()


class _Snappy:
    size_bytes = _SNAPPY_BLOCK

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._begun = False

    def pack(self, text: Any) -> bytes:
        self._waiting += text
        whole = len(self._waiting) - len(self._waiting) % _SNAPPY_BLOCK
        return self._packed(whole)

    def end(self) -> bytes:
        return self._packed(len(self._waiting))

    def _packed(self, size: int) -> bytes:
        import pyarrow as pa

        made = [] if self._begun else [_SNAPPY_HEAD]
        self._begun = True
        for at in range(0, size, _SNAPPY_BLOCK):
            packed = pa.Codec("snappy").compress(bytes(self._waiting[at : min(at + _SNAPPY_BLOCK, size)]), asbytes=True)
            made.append(struct.pack(">i", len(packed)) + packed)
        del self._waiting[:size]
        return b"".join(made)


def _unpacked_snappy(data: bytes) -> bytes:
    at, parts = len(_SNAPPY_HEAD), []
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        parts.append(unpacked_snappy_block(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return b"".join(parts)


def unpacked_snappy_block(data: bytes) -> bytes:
    """Return the content of one block. A block begins with the size of its content as a varint."""
    import pyarrow as pa

    size, shift, at = 0, 0, 0
    while True:
        size |= (data[at] & 0x7F) << shift
        if data[at] < 0x80:
            break
        shift, at = shift + 7, at + 1
    unpacked: bytes = pa.Codec("snappy").decompress(data, size, asbytes=True)
    return unpacked


class _Taken:
    """Takes the place of a file, and returns the bytes that were written to it."""

    closed = False

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: Any) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        data, self._data = bytes(self._data), bytearray()
        return data

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
