"""Checks which lane works on which chunk: in turn, or where order counts a partition's chunks one after the other."""

from __future__ import annotations

from connect.api.optional.bulk import Split
from connect.backfill.job.oversized_chunks import STRAND, lanes_of, placed_chunks


def test_chunks_are_shared_out_in_turn():
    assert list(lanes_of([Split(str(n), {}, 1) for n in range(5)], 2)) == [0, 1, 0, 1, 0]


def test_chunks_of_a_strand_are_in_one_lane_in_their_order():
    splits = [Split(f"{strand}{n}", {STRAND: strand}, 1) for n, strand in enumerate("aabacbc")]
    placed = [(split.id, lane) for split, lane in placed_chunks(splits, [], 2)]
    assert placed == [("a0", 0), ("a1", 0), ("b2", 1), ("a3", 0), ("c4", 0), ("b5", 1), ("c6", 0)]
