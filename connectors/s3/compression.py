"""How text files are compressed, as they grow. No names of files, no S3."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

_GZIP: Final = 31
"""zlib's window bits for a gzip header and trailer; the header bears no time, so equal rows give equal bytes."""
_GZIP_BYTES: Final = 268_000
"""What deflate holds at its default window and level of memory (zlib.h)."""
_ZSTD_BYTES: Final = 1_300_000
"""What zstd holds at its default level, about (ZSTD_estimateCStreamSize of level 1)."""
_EXTENSIONS: Final = {"none": "", "gzip": ".gz", "zstd": ".zst"}
_CONTENT_TYPES: Final = {"none": "", "gzip": "application/gzip", "zstd": "application/zstd"}


class Packer(Protocol):
    """Compresses the text of one file."""

    @property
    def size_bytes(self) -> int:
        """Memory held."""

    def pack(self, text: Any) -> Any:
        """What may be written of the file by now, of the text so far."""

    def end(self) -> bytes:
        """The rest of the file."""


@dataclass(frozen=True, slots=True)
class Compression:
    """kind: none, gzip or zstd. level: zlib's, -1 its default; zstd has its own."""

    kind: str = "none"
    level: int = -1

    @property
    def is_on(self) -> bool:
        """Files are compressed."""
        return self.kind != "none"

    @property
    def extension(self) -> str:
        """What it adds to a file name."""
        return _EXTENSIONS[self.kind]

    @property
    def content_type(self) -> str:
        """The media type of compressed files; empty: the format has its own."""
        return _CONTENT_TYPES[self.kind]

    def packer(self) -> Packer:
        """For a new file."""
        match self.kind:
            case "gzip":
                return _Gzip(self.level)
            case "zstd":
                return _Zstd()
        return _Plain()

    def unpacked(self, data: pa.Buffer) -> bytes:
        """The text of a file."""
        import pyarrow as pa

        if self.kind == "none":
            return bytes(data)
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


class _Taken:
    """A file that gives away what was written to it."""

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
