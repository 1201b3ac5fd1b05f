"""Damaged segments, broken indexes and vanished files lose no change, and are said."""

from __future__ import annotations

import logging

import pytest
from cdc_folder import Clock, Folder, begun, bodies, index_of, read
from segment_writer import segment

from connectors.cassandra.log.segments.folder import CdcFolder
from connectors.cassandra.log.segments.place import Place
from connectors.cassandra.log.segments.segment_reader import Segments

BROKEN = ["", "junk", "12", b"\xff\xfe\0", None]
"""What an index file may hold instead, None: it is gone."""


def broken(folder: Folder, number: int, content: str | bytes | None) -> None:
    index = index_of(folder, number)
    if content is None:
        index.unlink()
    else:
        index.write_bytes(content.encode() if isinstance(content, str) else content)


def test_a_segment_that_vanishes_before_its_end_is_an_alarm(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    folder.write(1, b"a", completed=False)
    segments = begun(folder)
    assert read(segments) == [b"a"]
    for path in folder.path.iterdir():
        path.unlink()
    folder.write(2, b"b")
    with caplog.at_level(logging.ERROR):
        assert read(segments) == [b"b"]
    assert "CommitLog-8-1.log was deleted before all of its changes were read" in caplog.text


def test_an_index_that_is_ahead_of_its_segment_gives_no_more_than_is_written(folder: Folder) -> None:
    folder.write(1, b"a", completed=False)
    (folder.path / "CommitLog-8-1_cdc.idx").write_text("1000000")
    segments = begun(folder)
    assert read(segments) == [b"a"]
    place = segments.place()
    assert place is not None
    assert not place.finished, "what the node writes later is waited for"
    folder.write(1, b"a", b"b")
    assert read(segments) == [b"b"]


def test_a_damaged_segment_is_read_up_to_the_damage_named_and_kept(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a", b"b", b"c")
    folder.write(2, b"d")
    path = folder.path / "CommitLog-8-1.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"b")] ^= 1
    path.write_bytes(data)
    segments = begun(folder)
    with caplog.at_level(logging.ERROR):
        assert read(segments) == [b"a", b"d"]
    assert "CommitLog-8-1.log is damaged" in caplog.text
    assert "checksum of the mutation at position" in caplog.text
    kept = folder.path.with_name(f"{folder.path.name}_damaged") / path.name
    assert not kept.exists()
    segments.stored(Place(2, 0, finished=True))
    assert folder.names == []
    assert kept.read_bytes() == bytes(data)


def test_a_damaged_segment_is_kept_by_the_next_run_too(folder: Folder) -> None:
    kept = folder.path.with_name(f"{folder.path.name}_damaged")
    for place in (Place(1, 100, finished=True, damaged=True), Place(1, 0, finished=False, damaged=True)):
        folder.write(1, b"a")
        segments = begun(folder, Place.of(place.offset))
        read(segments)
        segments.stored(Place(1, 500, finished=True))
        assert folder.names == []
        assert sorted(path.name for path in kept.iterdir()) == ["CommitLog-8-1.log", "CommitLog-8-1_cdc.idx"]
        for path in kept.iterdir():
            path.unlink()


@pytest.mark.parametrize("content", BROKEN)
def test_a_segment_with_a_broken_index_is_read_to_its_end_once_a_later_one_has_one(
    folder: Folder, caplog: pytest.LogCaptureFixture, content: str | bytes | None
) -> None:
    folder.write(1, b"a", b"b", completed=False)
    broken(folder, 1, content)
    clock = Clock()
    segments = Segments(CdcFolder(folder.path), clock)
    segments.begin(None)
    assert read(segments) == []
    folder.write(2, b"c", completed=False)
    clock.now_s = 1
    assert read(segments) == [b"a", b"b", b"c"]
    assert str(folder.path / "CommitLog-8-1") in caplog.text
    place = segments.place()
    assert place is not None
    segments.stored(place)
    assert folder.names == ["CommitLog-8-2.log", "CommitLog-8-2_cdc.idx"]


@pytest.mark.parametrize("content", BROKEN)
def test_a_segment_with_a_broken_index_is_read_once_the_node_has_let_it_go(
    folder: Folder, content: str | bytes | None
) -> None:
    folder.write(1, b"a")
    broken(folder, 1, content)
    clock = Clock()
    segments = Segments(CdcFolder(folder.path), clock)
    segments.begin(None)
    first = read(segments)
    clock.now_s = 1
    assert [*first, *read(segments)] == [b"a"]


def test_a_broken_index_of_the_segment_in_use_is_waited_for_and_said(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a", completed=False)
    broken(folder, 1, "junk")
    clock = Clock()
    segments = Segments(CdcFolder(folder.path), clock)
    segments.begin(None)
    for clock.now_s in (0, 9):
        assert read(segments) == []
        assert segments.waits is None
    clock.now_s = 11
    for _ in range(3):
        assert read(segments) == []
    assert segments.waits is not None
    assert segments.waits.startswith(f"The index file {index_of(folder, 1)} is broken or gone")
    assert caplog.text.count("is broken or gone") == 1
    folder.write(1, b"a", b"b", completed=False)
    assert read(segments) == [b"a", b"b"]
    assert segments.waits is None


def test_an_index_that_is_gone_while_its_segment_is_read_does_not_end_it(folder: Folder) -> None:
    folder.write(1, b"a", completed=False)
    segments = begun(folder)
    assert read(segments) == [b"a"]
    index_of(folder, 1).unlink()
    assert read(segments) == []
    folder.write(1, b"a", b"b")
    assert read(segments) == [b"b"]


def test_a_segment_without_index_and_without_changes_stays_the_nodes_and_is_read_once(folder: Folder) -> None:
    folder.write(1, b"a", completed=False)
    folder.write(2, b"b", completed=False)
    index_of(folder, 1).unlink()
    segments = begun(folder)
    assert bodies(segments) == [b"a"]
    assert segments.place() is None
    assert segments.is_passing
    assert bodies(segments) == [b"b"]
    segments.has_changes()
    place = segments.place()
    assert place is not None
    segments.stored(place)
    assert folder.names == ["CommitLog-8-1.log", "CommitLog-8-2.log", "CommitLog-8-2_cdc.idx"]
    folder.write(2, b"b", b"c", completed=False)
    assert read(begun(folder, Place.of(place.offset))) == [b"c"]
    assert len(folder.names) == 3


def test_a_segment_that_ends_before_the_end_that_its_index_tells_is_damaged(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a")
    data = segment([[b"a" + b" " * 10], [b"b" + b" " * 10]], segment_id=1)
    log, index = folder.path / "CommitLog-8-1.log", index_of(folder, 1)
    first = len(segment([[b"a" + b" " * 10]], segment_id=1))
    for content, told in ((data[:first], len(data)), (data[:first] + bytes(500), len(data)), (data[: first + 5], 9999)):
        log.write_bytes(content)
        index.write_text(f"{told}\nCOMPLETED")
        segments = begun(folder)
        assert read(segments) == [b"a"]
        assert segments.unread_places == 1
        assert f"index file tells of {told}" in caplog.text
    # As the node leaves it that has replayed the segment: the size of the whole file.
    log.write_bytes(data + bytes(500))
    index.write_text(f"{len(data) + 500}\nCOMPLETED")
    segments = begun(folder)
    assert (read(segments), segments.unread_places) == ([b"a", b"b"], 0)


def test_a_segment_that_vanishes_before_it_is_opened_is_an_alarm_too(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a", completed=False)
    clock = Clock()
    segments = Segments(CdcFolder(folder.path), clock)
    segments.begin(None)
    assert read(segments) == [b"a"]
    folder.write(1, b"a", b"b", b"c", b"d", completed=True)
    folder.write(2, b"x")
    folder.write(3, b"e")
    clock.now_s = 1
    assert bodies(segments, 1) == [b"b"]
    for path in folder.path.glob("CommitLog-8-2*"):
        path.unlink()
    assert read(segments) == [b"c", b"d", b"e"]
    assert segments.lost_segments == 1
    assert "CommitLog-8-2.log was deleted before all of its changes were read" in caplog.text


def test_every_place_that_cannot_be_read_is_named_up_to_a_number_and_all_are_counted(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a")
    segments = begun(folder)
    assert bodies(segments) == [b"a"]
    for number in range(50):
        segments.keep(f"Mutation {number} is odd.")
    assert caplog.text.count("is odd.") == 20
    assert segments.unread_places == 50
