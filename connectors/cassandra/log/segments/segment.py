"""Reads a commit log segment as bytes: its name, header, sections and mutation frames. Pure.

Source: CommitLogDescriptor, CommitLogSegmentReader and CommitLogReader of Cassandra 4.0 to 5.0. All numbers are
big-endian, checksums are CRC-32. A position is logical: of compressed segments it counts uncompressed bytes, as the
node's own positions do.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import numpy as np

from connect.api.errors import ConnectError
from connectors.cassandra.native import module

VERSIONS: Final = (7, 8)
MARKER_SIZE: Final = 8
_LEAST_MUTATION: Final = 10
_CHECKSUM_SIZE: Final = 4
_INT, _TWO_INTS = struct.Struct(">i"), struct.Struct(">II")
Decompress = Callable[[bytes, int], bytes]
"""Called with compressed bytes and the size of the result; gives the result."""


class CorruptSegmentError(ConnectError):
    """Bytes of a segment are not what the node wrote. `position` is their place in the file."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class UnsupportedSegmentError(ConnectError):
    """The segment has a version, an encryption or a compression that is not supported."""


class Readable(Protocol):
    """Bytes that are in memory or in a file."""

    def __len__(self) -> int:
        """Return the number of bytes."""

    def __getitem__(self, part: slice, /) -> bytes:
        """Return some of the bytes."""


@dataclass(frozen=True, slots=True)
class Header:
    """The start of a segment, which has `size` bytes. `decompress` is None where sections are not compressed."""

    version: int
    segment_id: int
    size: int
    decompress: Decompress | None


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a segment that was written by one sync of the log.

    `start`: the logical position of its marker; `next_file`: where the next one is. `data`: frames, uncompressed; the
    first of them begins at the logical position `start` + 8.
    """

    start: int
    data: bytes
    next_file: int

    @property
    def end(self) -> int:
        """Return the logical position of the marker of the next section."""
        return self.start + MARKER_SIZE + len(self.data)


Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Mutations of a segment: of each where it begins in `data`, and its size.

    `ends`: the logical positions behind their frames, from which a reader goes on.
    """

    segment: int
    version: int
    data: bytes
    starts: Ints
    sizes: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def body(self, number: int) -> bytes:
        """Return the bytes of one mutation."""
        start = int(self.starts[number])
        return self.data[start : start + int(self.sizes[number])]

    def part(self, begin: int, end: int | None = None) -> Frames:
        """Return some of the mutations."""
        starts, sizes, ends = (array[begin:end] for array in (self.starts, self.sizes, self.ends))
        return replace(self, starts=starts, sizes=sizes, ends=ends)


def joined(parts: Sequence[Frames]) -> Frames:
    """Join frames of several sections of one segment, as if they were of one section."""
    if len(parts) == 1:
        return parts[0]
    pieces = [part.data[int(part.starts[0]) : int(part.starts[-1] + part.sizes[-1])] for part in parts]
    places = np.cumsum([0, *map(len, pieces[:-1])])
    shifted = [part.starts - part.starts[0] + place for part, place in zip(parts, places, strict=True)]
    return replace(
        parts[0],
        data=b"".join(pieces),
        starts=np.concatenate(shifted),
        sizes=np.concatenate([part.sizes for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
    )


def parse_header(data: Readable) -> Header | None:
    """Return the header; None while it is not written yet.

    UnsupportedSegmentError: a version or compression not read here. CorruptSegmentError: its checksum is wrong.
    """
    fixed = data[:14]
    if len(fixed) < 14 or not any(fixed):
        return None
    version, segment_id, length = struct.unpack(">iqH", fixed)
    if version not in VERSIONS:
        raise UnsupportedSegmentError(
            f"The segment is of commit log version {version}; versions {VERSIONS[0]} (Cassandra 4.x) and {VERSIONS[1]} "
            "(Cassandra 5.0) are read.",
            fix="Run the agent beside Cassandra 4.0 to 5.0.",
        )
    parameters = data[14 : 14 + length]
    stored = data[14 + length : 18 + length]
    if len(stored) < 4:
        return None
    checked = struct.pack(">iIII", version, segment_id & 0xFFFFFFFF, segment_id >> 32 & 0xFFFFFFFF, length) + parameters
    if zlib.crc32(checked) != int.from_bytes(stored, "big"):
        raise CorruptSegmentError("The header's checksum does not fit its bytes.", 0)
    return Header(version, segment_id, 18 + length, _decompressor(json.loads(parameters)))


def read_section(data: Readable, header: Header, at: int, start: int) -> Section | None:
    """Return the section whose marker is at byte `at` and logical position `start`; None where nothing more is written
    yet.

    CorruptSegmentError: the marker's checksum is wrong, or the section does not fit the file. On the newest segment
    that may be a write that is not finished: read it again later.
    """
    marker = data[at : at + MARKER_SIZE]
    if len(marker) < MARKER_SIZE or not any(marker):
        return None
    end, checksum = _TWO_INTS.unpack(marker)
    if checksum != _marker_checksum(header.segment_id, at):
        raise CorruptSegmentError(f"The checksum of the section marker at byte {at} does not fit.", at)
    if end < at + MARKER_SIZE or end > len(data):
        raise CorruptSegmentError(f"The section at byte {at} ends at byte {end}; the file has {len(data)} bytes.", at)
    if header.decompress is None:
        return Section(start, data[at + MARKER_SIZE : end], end)
    size = int.from_bytes(data[at + MARKER_SIZE : at + 12], "big")
    return Section(start, _decompressed(header.decompress, data[at + 12 : end], size, at), end)


def read_frames(section: Section, header: Header) -> tuple[Frames, CorruptSegmentError | None]:
    """Return the mutations of a section in order, up to one that is damaged, and what is wrong with that."""
    native, at = module(), 0
    found = [np.empty(0, np.int64)] * 2
    if native is not None:
        *arrays, at = native.find_frames(section.data)
        found = [np.frombuffer(array, np.int64) for array in arrays]
    *more, error = _find_frames(section.data, at, section.start + MARKER_SIZE)
    starts, sizes = (np.append(array, np.array(others, np.int64)) for array, others in zip(found, more, strict=True))
    ends = starts + sizes + (_CHECKSUM_SIZE + section.start + MARKER_SIZE)
    return Frames(header.segment_id, header.version, section.data, starts, sizes, ends), error


def _find_frames(data: bytes, at: int, base: int) -> tuple[list[int], list[int], CorruptSegmentError | None]:
    """Starts and sizes of mutations; `base`: the logical position of the data's first byte.

    Decides what is damaged: where native code stops, be it only at the end of the frames, this goes on.
    """
    starts: list[int] = []
    sizes: list[int] = []
    while at + 4 <= len(data):
        (size,) = _INT.unpack_from(data, at)
        if not size:
            break
        damage = _damage(data, at, size)
        if damage is not None:
            return starts, sizes, CorruptSegmentError(damage.format(f"position {base + at}"), base + at)
        starts.append(at + 8)
        sizes.append(size)
        at += size + 12
    return starts, sizes, None


def _damage(data: bytes, at: int, size: int) -> str | None:
    """Describe what is wrong with the frame of a mutation of this size."""
    begin, end = at + 8, at + 8 + size
    if size < _LEAST_MUTATION or end + _CHECKSUM_SIZE > len(data):
        return f"A mutation of {size} bytes at {{}} does not fit."
    of_size = zlib.crc32(data[at : at + 4])
    if of_size != int.from_bytes(data[at + 4 : begin], "big"):
        return "The checksum of the size at {} does not fit."
    if zlib.crc32(data[begin:end], of_size) != int.from_bytes(data[end : end + _CHECKSUM_SIZE], "big"):
        return "The checksum of the mutation at {} does not fit."
    return None


def _marker_checksum(segment_id: int, at: int) -> int:
    return zlib.crc32(struct.pack(">III", segment_id & 0xFFFFFFFF, segment_id >> 32 & 0xFFFFFFFF, at))


def _decompressed(decompress: Decompress, block: bytes, size: int, at: int) -> bytes:
    try:
        data = decompress(block, size)
    except (OSError, ValueError, zlib.error) as error:
        raise CorruptSegmentError(f"The section at byte {at} cannot be uncompressed: {error}", at) from error
    if len(data) != size:
        raise CorruptSegmentError(f"The section at byte {at} has {len(data)} bytes, {size} are announced.", at)
    return data


def _decompressor(parameters: dict[str, object]) -> Decompress | None:
    if parameters.get("encCipher") or parameters.get("encKeyAlias"):
        raise UnsupportedSegmentError(
            "The segment is encrypted, which is not read here.",
            fix="Turn transparent_data_encryption_options off for the commit log of this node.",
        )
    name = str(parameters.get("compressionClass") or "").rpartition(".")[2]
    if not name:
        return None
    if name not in _DECOMPRESSORS:
        raise UnsupportedSegmentError(
            f"The segment is compressed by {name}; {', '.join(_DECOMPRESSORS)} are read.",
            fix="Set commitlog_compression to one of these.",
        )
    return _DECOMPRESSORS[name]


def _by_arrow(codec: str, block: bytes, size: int) -> bytes:
    import pyarrow as pa

    data: bytes = pa.Codec(codec).decompress(block, decompressed_size=size, asbytes=True)
    return data


def _lz4(block: bytes, size: int) -> bytes:
    # Cassandra's LZ4Compressor puts the size before the block, least significant byte first.
    return _by_arrow("lz4_raw", block[4:], size) if size else b""


_DECOMPRESSORS: Final[dict[str, Decompress]] = {
    "LZ4Compressor": _lz4,
    "SnappyCompressor": partial(_by_arrow, "snappy"),
    "ZstdCompressor": partial(_by_arrow, "zstd"),
    "DeflateCompressor": lambda block, size: zlib.decompress(block, bufsize=max(1, size)),
}
