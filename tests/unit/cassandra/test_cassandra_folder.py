"""Segments are read once, oldest first, and deleted only when all of their changes are in Kafka."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from cdc_fixtures import frames_in
from segment_writer import segment

from connect.api.errors import ConnectError
from connectors.cassandra.log.folder import CdcFolder
from connectors.cassandra.log.segments import Place, Segments


class Folder:
    """A cdc_raw folder in which a node writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, number: int, *bodies: bytes, completed: bool = True) -> None:
        data = segment([[body + b" " * 10] for body in bodies], segment_id=number)
        (self.path / f"CommitLog-8-{number}.log").write_bytes(data + bytes(100))
        (self.path / f"CommitLog-8-{number}_cdc.idx").write_text(f"{len(data)}" + "\nCOMPLETED" * completed)

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


def bodies(segments: Segments, most: int = 100) -> list[bytes]:
    return [frame.body.strip() for frame in frames_in(segments.frames(most, 10**9))]


def read(segments: Segments) -> list[bytes]:
    """What comes next, until nothing does."""
    found: list[bytes] = []
    before: Place | None = None
    while True:
        frames = bodies(segments)
        place = segments.place()
        found += frames
        if not frames and place == before:
            return found
        before = place


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def begun(folder: Folder, place: Place | None = None) -> Segments:
    segments = Segments(CdcFolder(folder.path))
    segments.begin(place)
    return segments


def test_segments_are_read_by_their_ids(folder: Folder) -> None:
    folder.write(10, b"c")
    folder.write(9, b"a", b"b")
    (folder.path / "CommitLog-8-8.log").write_bytes(b"a segment without an index is the node's alone")
    assert read(begun(folder)) == [b"a", b"b", b"c"]


def test_a_segment_is_deleted_when_its_end_is_stored_and_never_before(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a", b"b")
    folder.write(2, b"c", completed=False)
    segments = begun(folder)
    assert bodies(segments, 1) == [b"a"]
    in_the_middle = segments.place()
    assert in_the_middle is not None
    assert read(segments) == [b"b", b"c"]
    segments.stored(in_the_middle)
    assert len(folder.names) == 4
    segments.stored(Place(1, 0, finished=True))
    assert folder.names == ["CommitLog-8-2.log", "CommitLog-8-2_cdc.idx"]
    last = segments.place()
    assert last is not None
    segments.stored(last)
    assert len(folder.names) == 2, "the node still writes to it"
    folder.write(2, b"c")
    assert read(segments) == []
    segments.stored(Place(2, last.position, finished=True))
    assert folder.names == []
    assert read(segments) == []
    assert "deleted before all of its changes" not in caplog.text


def test_a_later_stored_place_covers_the_segments_before_it(folder: Folder) -> None:
    for number in (1, 2, 3):
        folder.write(number, b"x")
    segments = begun(folder)
    assert len(read(segments)) == 3
    segments.stored(Place(3, 0, finished=False))
    assert folder.names == ["CommitLog-8-3.log", "CommitLog-8-3_cdc.idx"]


def test_a_restart_goes_on_behind_the_stored_place(folder: Folder) -> None:
    folder.write(1, b"a", b"b")
    first = begun(folder)
    assert bodies(first, 1) == [b"a"]
    place = first.place()
    assert place is not None
    assert read(begun(folder, Place.of(place.offset))) == [b"b"]


def test_a_stored_end_is_deleted_by_the_next_run_when_the_last_one_was_killed(folder: Folder) -> None:
    folder.write(1, b"a")
    folder.write(2, b"b")
    segments = begun(folder, Place(1, 100, finished=True))
    assert folder.names == ["CommitLog-8-2.log", "CommitLog-8-2_cdc.idx"]
    assert read(segments) == [b"b"]


def test_an_older_segment_that_got_its_first_change_late_is_read(folder: Folder) -> None:
    folder.write(2, b"b")
    segments = begun(folder)
    assert read(segments) == [b"b"]
    folder.write(1, b"a")
    assert read(segments) == [b"a"]


def test_a_growing_segment_is_followed_to_its_end(folder: Folder) -> None:
    folder.write(1, b"a", completed=False)
    segments = begun(folder)
    assert read(segments) == [b"a"]
    folder.write(1, b"a", b"b", completed=False)
    assert read(segments) == [b"b"]
    (folder.path / "CommitLog-8-1_cdc.idx").write_text("")
    assert read(segments) == []
    folder.write(1, b"a", b"b", b"c")
    assert read(segments) == [b"c"]
    place = segments.place()
    assert place is not None
    assert place.finished


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


def test_an_index_that_is_gone_while_its_segment_is_read_is_an_alarm_and_the_next_is_read(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write(1, b"a", completed=False)
    segments = begun(folder)
    assert read(segments) == [b"a"]
    (folder.path / "CommitLog-8-1_cdc.idx").unlink()
    folder.write(2, b"b")
    with caplog.at_level(logging.ERROR):
        assert read(segments) == [b"b"]
    assert "CommitLog-8-1.log was deleted before all of its changes were read" in caplog.text


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


def test_a_folder_that_is_not_there_names_the_key(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="cannot be listed: No such file") as raised:
        CdcFolder(tmp_path / "gone").segments()
    assert raised.value.key == "cdc.raw.folder"
