"""Checks the commit log's bytes: all that recorded segments hold comes out, and nothing that a node did not write."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from cdc_fixtures import KINDS, Frame, all_frames, described, expected, frames_in, segment_bytes, tables, updates
from segment_writer import segment

from connectors.cassandra.cql.cursor import Cursor, TruncatedError, signed
from connectors.cassandra.log.events.decode import MutationDecoder
from connectors.cassandra.log.segments.index_file import SegmentProgress, parse_index
from connectors.cassandra.log.segments.segment import (
    CorruptSegmentError,
    UnsupportedSegmentError,
    parse_header,
    read_section,
)
from connectors.cassandra.log.segments.segment_file import SegmentFile

BODIES = [[b"first mutation", b"second mutation"], [b"third mutation" * 500]]
WHOLE = SegmentProgress(0, completed=True)


def read(file: SegmentFile, progress: SegmentProgress, most: int = 100, most_bytes: int = 10**9) -> Iterator[Frame]:
    """What comes next, until nothing does."""
    while (found := file.frames(progress, most, most_bytes)) is not None:
        yield from frames_in(found)


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_segments_hold_exactly_the_expected_events(kind: str) -> None:
    found = [described(position, update) for position, update in updates(segment_bytes(kind))]
    wanted = [{k: v for k, v in event.items() if k != "est"} for event in expected(kind)]
    if kind == "lz4":  # of which the first and the last fifty are written down
        assert len(found) == 3811
        found = found[:50] + found[-50:]
    assert found == wanted


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("LZ4Compressor", lambda data: len(data).to_bytes(4, "little") + pa.compress(data, "lz4_raw", asbytes=True)),
        ("SnappyCompressor", lambda data: pa.compress(data, "snappy", asbytes=True)),
        ("ZstdCompressor", lambda data: pa.compress(data, "zstd", asbytes=True)),
        ("org.apache.cassandra.io.compress.DeflateCompressor", zlib.compress),
    ],
)
def test_each_compression_gives_the_same_frames_and_positions(name: str, compress) -> None:
    plain = list(all_frames(segment(BODIES, parameters={"compressionClass": None, "x": "y" * (len(name) - 7)})))
    found = list(all_frames(segment(BODIES, compression=name, compress=compress)))
    assert [frame.body for frame in found] == [body for section in BODIES for body in section]
    # Positions count uncompressed bytes, so they differ by the headers alone.
    assert {a.end - b.end for a, b in zip(found, plain, strict=True)} == {found[0].end - plain[0].end}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (segment([], version=6), "version 6"),
        (segment([], version=9), "version 9"),
        (segment([], parameters={"compressionClass": "BrotliCompressor"}), "compressed by BrotliCompressor"),
        (segment([], parameters={"encCipher": "AES", "encKeyAlias": "k", "encIV": "00"}), "encrypted"),
    ],
)
def test_what_is_not_read_here_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UnsupportedSegmentError, match=message):
        parse_header(data)


def test_a_segment_that_is_not_begun_has_no_header() -> None:
    assert parse_header(b"") is None
    assert parse_header(bytes(1000)) is None
    assert parse_header(segment(BODIES)[:17]) is None


def test_every_changed_byte_of_a_completed_segment_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-8-7.log"
    whole = segment(BODIES[:1])
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
        file = SegmentFile(path)
        found = []
        with pytest.raises((CorruptSegmentError, UnsupportedSegmentError)):
            found.extend(frame.body for frame in read(file, WHOLE))
        file.close()
        assert found == BODIES[0][: len(found)]


def test_a_file_cut_anywhere_gives_a_beginning_of_its_frames(tmp_path: Path) -> None:
    whole = segment(BODIES)
    bodies = [body for section in BODIES for body in section]
    path = tmp_path / "CommitLog-8-7.log"
    for size in range(0, len(whole), 23):
        path.write_bytes(whole[:size])
        file = SegmentFile(path)
        found = [frame.body for frame in read(file, SegmentProgress(10**9, completed=False))]
        file.close()
        assert found == bodies[: len(found)]
        assert len(found) in {0, 2}, "a section is there whole or not at all"


def test_a_growing_file_is_read_as_far_as_it_is_synced_and_no_frame_twice(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-8-7.log"
    whole = segment(BODIES)
    header = parse_header(whole)
    assert header is not None
    first = read_section(whole, header, header.size, header.size)
    assert first is not None
    path.write_bytes(whole)
    file = SegmentFile(path)
    assert [f.body for f in read(file, SegmentProgress(header.size, completed=False))] == []
    assert [f.body for f in read(file, SegmentProgress(first.end, completed=False))] == BODIES[0]
    assert [f.body for f in read(file, SegmentProgress(first.end, completed=False))] == []
    # Of a completed segment the number is not looked at.
    assert [f.body for f in read(file, SegmentProgress(0, completed=True))] == BODIES[1]
    file.close()


def test_a_reader_goes_on_behind_a_position_in_the_middle_of_a_section(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-8-7.log"
    path.write_bytes(segment(BODIES))
    all_of_it = list(all_frames(path.read_bytes()))
    file = SegmentFile(path, all_of_it[0].end)
    assert list(read(file, WHOLE)) == all_of_it[1:]
    file.close()


@pytest.mark.parametrize(("most", "most_bytes"), [(1, 10**9), (2, 10**9), (100, 1), (100, 20), (3, 7000)])
def test_parts_of_any_size_hold_each_frame_once(tmp_path: Path, most: int, most_bytes: int) -> None:
    path = tmp_path / "CommitLog-8-7.log"
    path.write_bytes(segment(BODIES * 3))
    file, parts = SegmentFile(path), []
    while (found := file.frames(WHOLE, most, most_bytes)) is not None:
        parts.append(frames_in(found))
        assert not file.is_at_end or len(parts[-1]) <= most
    assert file.is_at_end
    assert [frame for part in parts for frame in part] == list(all_frames(path.read_bytes()))
    assert all(len(part) <= most for part in parts)
    # So many bytes, and what the last mutation has more of them.
    assert all(sum(len(frame.body) for frame in part[:-1]) < most_bytes for part in parts)
    file.close()


def test_the_twin_finds_the_same_frames_as_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        native = list(all_frames(segment_bytes(kind)))
        with monkeypatch.context() as without:
            without.setattr("connectors.cassandra.log.segments.segment.module", lambda: None)
            assert list(all_frames(segment_bytes(kind))) == native


def test_damage_fails_a_completed_segment_and_is_read_again_in_one_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-8-7.log"
    whole = bytearray(segment(BODIES))
    whole[-1] ^= 1
    path.write_bytes(whole)
    file = SegmentFile(path)
    assert [f.body for f in read(file, SegmentProgress(10**9, completed=False))] == BODIES[0]
    with pytest.raises(CorruptSegmentError, match="checksum of the mutation at position"):
        list(read(file, WHOLE))
    whole[-1] ^= 1
    path.write_bytes(whole)
    assert [f.body for f in read(file, WHOLE)] == BODIES[1]
    file.close()


@pytest.mark.parametrize(
    ("text", "progress"),
    [
        ("1048551\nCOMPLETED", SegmentProgress(1048551, completed=True)),
        ("370368", SegmentProgress(370368, completed=False)),
        ("370368\n", SegmentProgress(370368, completed=False)),
        ("", None),
        ("COMPLETED", None),
    ],
)
def test_an_index_file_tells_how_far_is_safe(text: str, progress: SegmentProgress | None) -> None:
    assert parse_index(text) == progress


@pytest.mark.parametrize(
    ("data", "value"),
    [("00", 0), ("7f", 127), ("8080", 128), ("bfff", 2**14 - 1), ("c04000", 2**14), ("ff" + "ff" * 8, 2**64 - 1)],
)
def test_integers_of_variable_length_are_read_to_their_end(data: str, value: int) -> None:
    cursor = Cursor(bytes.fromhex(data))
    assert cursor.vint() == value
    assert cursor.at == len(data) // 2
    with pytest.raises(TruncatedError):
        cursor.u8()


def test_deltas_wrap_around_as_in_java() -> None:
    assert signed(2**63 - 1, 64) == 2**63 - 1
    assert signed(2**63, 64) == -(2**63)
    assert signed(2**64 + 5, 64) == 5
    assert signed(2**32 - 1, 32) == -1


def test_a_cut_mutation_is_never_taken_for_a_whole_one() -> None:
    data = segment_bytes("plain")
    decoder = MutationDecoder(tables(), 7)
    bodies = [frame.body for frame in all_frames(data) if frame.body[1:17] in {t.bytes for t in tables()}]
    longest = max(bodies, key=len)
    assert decoder.decode(longest).updates
    for size in range(len(longest)):
        with pytest.raises((TruncatedError, ValueError)):
            decoder.decode(longest[:size])
