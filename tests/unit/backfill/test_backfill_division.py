"""Chunks that turn out much larger than planned are cut again, and every row is written once, whoever dies."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from fake_lane import TOPIC, Broker, Numbers, committed_markers, run
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api.optional.bulk import Split
from connect.api.records import Batch, Column, SourcePosition
from connect.backfill.job import oversized_chunks
from connect.backfill.job.chunk import Step
from connect.backfill.job.markers import Marker, chunk_states, markers
from connect.backfill.job.oversized_chunks import PIECES, pieces_of, placed_chunks
from connectors.jdbc.follow.splits import divided

END = 1_000_000
ROUNDS_AT_MOST = 60


class KilledError(Exception):
    """The process is gone."""


class Keys(Numbers):
    """Some keys of a wide range, in pages of ten; its splits are those of tables."""

    def __init__(self, keys):
        super().__init__()
        self.keys = sorted(keys)

    def read(self, split, after):
        low, high = split.bounds["from"] if after is None else after["last"] + 1, split.bounds["to"]
        own = self.within(low, high)
        for start in range(0, len(own), 10):
            page = own[start : start + 10]
            position = SourcePosition({}, {"last": page[-1]})
            yield Batch(TOPIC, Column.from_rows([str(key) for key in page], None), position=position)

    def within(self, low, high):
        return self.keys[
            bisect_left(self.keys, low or 0) : len(self.keys) if high is None else bisect_left(self.keys, high)
        ]

    def divide(self, split, offset, parts):
        return divided(split, offset["last"], END if split.bounds["to"] is None else split.bounds["to"], parts)


def planned(parts, rows):
    edges = [None, *(END * part // parts for part in range(1, parts)), None]
    return [Split(f"t-{i}", {"from": edges[i], "to": edges[i + 1]}, rows) for i in range(parts)]


def every_marker(broker, lanes):
    return [marker for lane in range(lanes) for marker in committed_markers(broker, lane)]


def moved(broker, plan, source, lanes, on_step=lambda _step, _chunk: None):
    """Rounds of all lanes until every chunk is done, as a driver has them; how many, and the chunks in the end."""
    for rounds in range(ROUNDS_AT_MOST):
        found = every_marker(broker, lanes)
        chunks, states = placed_chunks(plan, found, lanes), chunk_states(found)
        if all(chunk.id in states and states[chunk.id].is_done for chunk, _ in chunks):
            return rounds, chunks
        for lane in range(lanes):
            own = [chunk for chunk, placed in chunks if placed == lane]
            try:
                run(broker, own, on_step, reader=source, max_bytes=60, lane=lane)
            except KilledError:
                assert max(Counter(broker.rows).values(), default=1) == 1
    raise AssertionError(f"not done after {ROUNDS_AT_MOST} rounds")


clusters = st.lists(st.tuples(st.integers(0, END - 1), st.integers(1, 300), st.integers(1, 50)), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(clusters, st.integers(1, 5), st.integers(1, 4), st.integers(5, 40), st.sampled_from(Step), st.integers(1, 30))
def test_each_key_is_written_once_however_the_keys_lie_and_wherever_a_lane_dies(
    places, parts, lanes, rows, step, dies_at
):
    keys = {min(first + n * gap, END - 1) for first, many, gap in places for n in range(many)}
    broker, source, steps = Broker(), Keys(keys), count(1)

    def die_once(at, _chunk):
        if at is step and next(steps) == dies_at:
            raise KilledError

    _, chunks = moved(broker, planned(parts, rows), source, lanes, die_once)
    assert Counter(broker.rows) == Counter(keys)
    # What the markers say of a chunk is what the source has within the bounds that the chunk has now.
    states = chunk_states(every_marker(broker, lanes))
    assert len(chunks) == len({chunk.id for chunk, _ in chunks}) == len(states)
    for chunk, _ in chunks:
        assert states[chunk.id].read == len(source.within(chunk.bounds["from"], chunk.bounds["to"]))


def test_a_chunk_with_nearly_all_rows_is_shared_out_among_all_lanes():
    keys = [500_000 + n for n in range(4_000)]
    broker, lanes = Broker(), 4
    rounds, chunks = moved(broker, planned(4, 100), Keys(keys), lanes)
    assert Counter(broker.rows) == Counter(keys)
    read = Counter()
    states = chunk_states(every_marker(broker, lanes))
    for chunk, lane in chunks:
        read[lane] += states[chunk.id].read
    assert max(read.values()) < 4_000 * 0.6, "one lane has not done the work alone"
    assert rounds < 8
    alone = Broker()
    assert moved(alone, planned(4, 4_000), Keys(keys), lanes)[0] == 1, "as planned, so nothing is cut"
    assert not any(marker.pieces for marker in every_marker(alone, lanes))


def test_a_chunk_stays_whole_below_four_times_its_rows_and_where_nothing_can_be_cut():
    source, chunk = Keys(range(1000)), Split("t-0", {"from": 0, "to": 1000}, 100)
    assert not pieces_of(source, chunk, 399, {"last": 398})
    assert len(pieces_of(source, chunk, 400, {"last": 399})) == PIECES + 1
    assert not pieces_of(source, chunk, 1000, {"last": 999})
    assert not pieces_of(source, replace(chunk, rows=0), 400, {"last": 399})
    assert not pieces_of(Numbers(), chunk, 400, {"last": 399})


@pytest.mark.parametrize("to", [1000, None])
def test_ranges_of_a_table_have_each_key_behind_the_last_one_and_names_of_their_own(to):
    split = Split("orders-000003", {"from": 10, "to": to, "mark": {"incrementing": 5}}, 7)
    made = divided(split, 99, 1000, 4)
    edges = [(one.bounds["from"], one.bounds["to"]) for one in made]
    assert edges == [(10, 100), (100, 325), (325, 550), (550, 775), (775, to)]
    assert [one.id for one in made] == ["orders-000003", *(f"orders-000003.{n}" for n in range(1, 5))]
    assert {one.bounds["mark"]["incrementing"] for one in made} == {5}
    assert divided(split, 999, 1000, 4) == ()
    assert [one.bounds["from"] for one in divided(split, 997, 1000, 4)] == [10, 998, 999]


def test_a_marker_of_a_chunk_that_was_cut_comes_back_as_it_was():
    pieces = (Split("c", {"from": 1, "to": 5}, 2), Split("c.1", {"from": 5, "to": None}, 2))
    marker = Marker("c", 3, 10, 10, 100, 7, True, offset={"last": 4}, written_ms=5, pieces=pieces)
    assert markers([marker.record]) == [marker]
    plain = replace(marker, pieces=())
    assert b"pieces" not in plain.record[1]
    assert markers([plain.record]) == [plain]


def test_pieces_of_pieces_are_placed_in_the_same_lanes_each_time():
    def cut(name, *into):
        pieces = tuple(Split(one, {}, 1) for one in (name, *into))
        return Marker(name, 0, 1, 1, 1, 1, True, pieces=pieces)

    plan = [Split("a", {}, 1), Split("b", {}, 1)]
    found = [cut("b", "b.1", "b.2"), cut("b.2", "b.2.1")]
    placed = {chunk.id: lane for chunk, lane in placed_chunks(plan, found, 3)}
    assert placed == {"a": 0, "b": 1, "b.1": 2, "b.2": 0, "b.2.1": 1}
    assert placed == {chunk.id: lane for chunk, lane in placed_chunks(plan, reversed(found), 3)}
    assert oversized_chunks.PIECES == 16
