"""Segments are read once, oldest first, and deleted only when all of their changes are in Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest
from cdc_folder import Folder, begun, bodies, read

from connect.api.errors import ConnectError, RetriableError
from connectors.cassandra.log.segments.folder import CdcFolder
from connectors.cassandra.log.segments.folder_lock import FolderLock
from connectors.cassandra.log.segments.place import Place


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


def test_a_folder_that_is_not_there_names_the_key(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="cannot be listed: No such file") as raised:
        CdcFolder(tmp_path / "gone").segments()
    assert raised.value.key == "cdc.raw.folder"


def test_what_was_read_and_not_deleted_before_a_kill_is_not_read_again(folder: Folder) -> None:
    for number in (1, 2):
        folder.write(number, b"a")
    folder.write(3, b"b", completed=False)
    segments = begun(folder)
    assert read(segments) == [b"a", b"a", b"b"]
    place = segments.place()
    assert place is not None
    # The offset is stored, and nothing was deleted yet; of one segment only the index is left.
    (folder.path / "CommitLog-8-1.log").unlink()
    folder.write(3, b"b", b"c", completed=False)
    again = begun(folder, Place.of(place.offset))
    assert folder.names == ["CommitLog-8-3.log", "CommitLog-8-3_cdc.idx"]
    assert read(again) == [b"c"]
    assert again.lost_segments == 0


def test_a_segment_read_in_part_is_gone_on_with_behind_an_older_one_that_came_late(folder: Folder) -> None:
    folder.write(2, b"b", completed=False)
    segments = begun(folder)
    assert read(segments) == [b"b"]
    place = segments.place()
    assert place is not None
    folder.write(1, b"a")
    again = begun(folder, Place.of(place.offset))
    assert bodies(again) == [b"a"]
    place = again.place()
    assert place is not None
    assert place.segment == 1
    folder.write(2, b"b", b"c", completed=False)
    assert read(begun(folder, Place.of(place.offset))) == [b"c"]


def test_two_agents_do_not_read_one_folder(folder: Folder) -> None:
    lock = FolderLock(folder.path)
    with pytest.raises(RetriableError, match=f"Another agent reads {folder.path}"):
        FolderLock(folder.path)
    lock.release()
    lock.release()
    FolderLock(folder.path).release()
