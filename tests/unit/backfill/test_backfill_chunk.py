"""Every row is in Kafka once, wherever a run of a lane dies and whoever else runs the lane meanwhile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from fake_lane import LETTERS, MARKERS, Broker, CountedNumbers, Numbers, PickyNumbers, chunks, committed_markers, run

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.backfill.job import chunk as protocol
from connect.backfill.job.chunk import Signal, Step
from connect.backfill.job.markers import Marker, chunk_states
from connect.kafka.client.errors import FencedError

WORK = chunks(3, 40)
EVERY_ROW = Counter(range(120))


class KilledError(Exception):
    """The process is gone."""


def killer(step: Step, after: int):
    """Dies at the step, the `after`th time it comes."""
    left = after

    def on_step(at: Step, _chunk: str) -> None:
        nonlocal left
        if at is step:
            left -= 1
            if left == 0:
                raise KilledError

    return on_step


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(protocol, "_PAUSE_S", 0.0)


@pytest.mark.parametrize("max_bytes", [10**6, 25], ids=["a part per chunk", "several parts"])
@pytest.mark.parametrize("step", Step)
def test_a_lane_that_is_killed_at_any_step_and_run_again_has_every_row_once(step, max_bytes):
    for after in range(1, 14):
        broker = Broker()
        try:
            run(broker, WORK, killer(step, after), max_bytes=max_bytes)
        except KilledError:
            seen = Counter(broker.rows)
            assert max(seen.values(), default=1) == 1
            run(broker, WORK, max_bytes=max_bytes)
        assert Counter(broker.rows) == EVERY_ROW


@pytest.mark.parametrize("step", Step)
def test_a_part_ends_only_where_reading_can_go_on_and_what_the_source_counted_is_what_was_read(step):
    for after in range(1, 14):
        broker = Broker()
        try:
            run(broker, WORK, killer(step, after), max_bytes=25, reader=CountedNumbers())
        except KilledError:
            run(broker, WORK, max_bytes=25, reader=CountedNumbers())
        assert Counter(broker.rows) == EVERY_ROW
        states = chunk_states(committed_markers(broker, 0))
        assert {state.unread for state in states.values()} == {0}
        assert all(state.counted is not None for state in states.values())


def test_rows_behind_which_reading_can_never_go_on_are_not_collected_for_ever():
    class Endless(Numbers):
        def read(self, split, after):
            for batch in super().read(split, after):
                yield replace(batch, position=SourcePosition({}, None))

    with pytest.raises(ConnectError, match=r"Chunk c0 has 20 rows.*Give the table a key"):
        run(Broker(), chunks(1, 100), max_bytes=1, reader=Endless())


@pytest.mark.parametrize("step", Step)
def test_rows_that_the_source_gives_up_are_letters_once_and_count_as_read(step):
    for after in range(1, 14):
        broker = Broker()
        try:
            run(broker, WORK, killer(step, after), reader=PickyNumbers(), max_bytes=25)
        except KilledError:
            run(broker, WORK, reader=PickyNumbers(), max_bytes=25)
        assert sorted(int(value) for _, value in broker.committed[LETTERS]) == sorted([*range(5, 120, 10), 99])
        assert Counter(broker.rows) == EVERY_ROW
        found = [Marker(**one) for one in map(decoded, broker.committed[MARKERS])]
        assert [sum(getattr(m, name) for m in found) for name in ("read", "rows", "letters")] == [120, 107, 13]


@pytest.mark.parametrize("step", Step)
def test_a_zombie_that_wakes_up_behind_its_successor_commits_nothing(step):
    broker = Broker()
    woken = []

    def sleep_meanwhile(at: Step, _chunk: str) -> None:
        if at is step and not woken:
            woken.append(at)
            run(broker, WORK)

    if step in {Step.BEGUN, Step.FENCED}:
        # It looks at the markers when the other one has done all, and finds nothing left to do.
        assert run(broker, WORK, sleep_meanwhile).skipped == 3
    else:
        with pytest.raises(FencedError):
            run(broker, WORK, sleep_meanwhile)
    assert woken
    assert Counter(broker.rows) == EVERY_ROW


def test_a_second_run_writes_nothing_anew():
    broker = Broker()
    run(broker, WORK)
    report = run(broker, WORK)
    assert (report.chunks, report.skipped) == (0, 3)
    assert len(broker.committed[MARKERS]) == 3


@pytest.mark.parametrize("signal", [Signal.PAUSE, Signal.CANCEL, Signal.SUPERSEDED])
def test_a_signal_is_heard_before_the_next_chunk(signal):
    broker = Broker()
    report = run(broker, WORK, signals=[Signal.GO_ON, signal])
    assert (report.signal, report.chunks, len(broker.rows)) == (signal, 1, 40)
    run(broker, WORK)
    assert Counter(broker.rows) == EVERY_ROW


def test_a_chunk_with_more_bytes_than_planned_is_committed_in_parts_that_stay_small():
    broker = Broker()
    run(broker, chunks(1, 100), max_bytes=45)
    found = [Marker(**one) for one in map(decoded, broker.committed[MARKERS])]
    assert [marker.part for marker in found] == list(range(len(found)))
    assert [marker.is_last for marker in found] == [False] * (len(found) - 1) + [True]
    assert max(marker.rows for marker in found) <= 30
    assert Counter(broker.rows) == Counter(range(100))


def test_a_source_that_is_away_for_a_while_repeats_no_row():
    calls = count(1)

    def fail_now_and_then() -> None:
        if next(calls) % 3 == 0:
            raise RetriableError("the database is away")

    broker = Broker()
    run(broker, WORK, reader=Numbers(fail_now_and_then), max_bytes=5)
    assert Counter(broker.rows) == EVERY_ROW


def test_a_source_that_stays_away_ends_the_run():
    def fail() -> None:
        raise RetriableError("the database is away")

    broker = Broker()
    with pytest.raises(RetriableError, match="away"):
        run(broker, WORK, reader=Numbers(fail))
    assert not broker.rows


def test_an_empty_chunk_is_done():
    broker = Broker()
    assert run(broker, chunks(2, 0)).chunks == 2
    assert run(broker, chunks(2, 0)).skipped == 2


def test_lost_markers_stop_the_lane_before_a_row_is_written_twice():
    broker = Broker()
    run(broker, chunks(1, 100), max_bytes=45)
    del broker.committed[MARKERS][0]
    rows = len(broker.rows)
    with pytest.raises(ConnectError, match="markers of this job are lost"):
        run(broker, chunks(1, 100), max_bytes=45)
    assert len(broker.rows) == rows


def test_a_marker_tells_the_order_free_checksum_of_its_rows():
    broker = Broker()
    run(broker, WORK)
    states = chunk_states(Marker(**one) for one in map(decoded, broker.committed[MARKERS]))
    assert len({state.checksum for state in states.values()}) == 3
    assert [state.read for state in states.values()] == [40, 40, 40]
    assert [(state.rows, state.letters) for state in states.values()] == [(40, 0), (40, 0), (39, 1)]
    assert broker.committed[LETTERS] == [(None, b"99")]


def decoded(record):
    from connect.backfill.job.markers import parsed

    key, value = record
    return {**parsed(key), **parsed(value)}
