"""Checks what is read while the last part is sent: one part, the right one, and nothing that stays behind."""

from __future__ import annotations

import threading

import pytest
from fake_lane import chunks

from connect.api.errors import RetriableError
from connect.backfill.job.parts import ChunkPart, RemainingChunk
from connect.backfill.lane.read_ahead import ReadAhead

FIRST, SECOND, THIRD = (RemainingChunk(chunk) for chunk in chunks(3, 20))
_SOON_S = 10.0


class Source:
    """Two parts a chunk; says which were read, and waits where it is told to."""

    def __init__(self):
        self.read = []
        self.closed = []
        self.failing = set()
        self._changed = threading.Condition()

    def parts(self, rest):
        try:
            for number in range(2):
                self._note(self.read, (rest.chunk.id, number))
                if (rest.chunk.id, number) in self.failing:
                    raise RetriableError("the database is away")
                yield ChunkPart(rows=number, is_last=number == 1)
        finally:
            self._note(self.closed, rest.chunk.id)

    def wait_for(self, *parts):
        with self._changed:
            assert self._changed.wait_for(lambda: self.read[-len(parts) :] == list(parts), _SOON_S), self.read

    def _note(self, where, what):
        with self._changed:
            where.append(what)
            self._changed.notify_all()


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def ahead(source):
    made = ReadAhead(source.parts)
    yield made
    made.close()


def test_the_next_part_is_read_while_one_is_held_and_never_a_second_one(source, ahead):
    held = ahead.parts(FIRST, SECOND)
    assert next(held).rows == 0
    source.wait_for(("c0", 0), ("c0", 1))
    assert next(held).is_last
    source.wait_for(("c0", 1), ("c1", 0))
    # Everything that was begun is done when it is closed, so nothing else was.
    ahead.close()
    assert source.read == [("c0", 0), ("c0", 1), ("c1", 0)]
    assert sorted(source.closed) == ["c0", "c1"]


def test_what_was_read_early_is_not_read_again(source, ahead):
    found = [part.is_last for rest, then in ((FIRST, SECOND), (SECOND, None)) for part in ahead.parts(rest, then)]
    assert found == [False, True, False, True]
    assert source.read == [("c0", 0), ("c0", 1), ("c1", 0), ("c1", 1)]


def test_after_a_failure_a_chunk_is_read_anew_and_what_came_behind_it_is_forgotten(source, ahead):
    assert len(list(ahead.parts(FIRST, SECOND))) == 2
    source.wait_for(("c1", 0))
    # The transaction of the first chunk's last part was aborted.
    again = RemainingChunk(FIRST.chunk, {"next": 10})
    assert len(list(ahead.parts(again, SECOND))) == 2
    assert source.read.count(("c0", 1)) == 2
    assert source.closed[:2] == ["c0", "c1"]
    assert [part.rows for part in ahead.parts(SECOND, None)] == [0, 1]


def test_a_part_that_was_given_is_given_again_when_its_chunk_is_asked_for_again(source, ahead):
    for _ in range(2):
        assert next(ahead.parts(FIRST, SECOND)).rows == 0
    assert source.read.count(("c0", 0)) == 2


@pytest.mark.parametrize(
    "rest", [THIRD, RemainingChunk(SECOND.chunk, {"next": 30})], ids=["another chunk", "further on"]
)
def test_what_was_read_early_from_another_place_is_not_used(source, ahead, rest):
    assert len(list(ahead.parts(FIRST, SECOND))) == 2
    source.wait_for(("c1", 0))
    read = len(source.read)
    assert [part.rows for part in ahead.parts(rest, None)] == [0, 1]
    assert source.read[read:] == [(rest.chunk.id, 0), (rest.chunk.id, 1)]


def test_an_error_comes_where_its_part_would_and_only_there(source, ahead):
    source.failing = {("c1", 0)}
    assert len(list(ahead.parts(FIRST, SECOND))) == 2
    source.wait_for(("c1", 0))
    with pytest.raises(RetriableError, match="away"):
        next(ahead.parts(SECOND, THIRD))
    source.failing = set()
    assert len(list(ahead.parts(SECOND, THIRD))) == 2


def test_an_error_of_what_is_never_asked_for_is_none(source, ahead):
    source.failing = {("c1", 0)}
    assert len(list(ahead.parts(FIRST, SECOND))) == 2
    assert [part.rows for part in ahead.parts(THIRD, None)] == [0, 1]
