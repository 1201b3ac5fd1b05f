"""Checks the size of a whole table, estimated from what one node says of its own ranges."""

from __future__ import annotations

from connectors.cassandra.source.estimates import Estimate, extrapolated


def test_ranges_that_cover_the_ring_are_added_up() -> None:
    ring = [(-(2**63), 0, 10, 100), (0, -(2**63), 30, 200)]
    assert extrapolated(ring) == Estimate(40, 7000)


def test_a_node_with_a_part_of_the_ring_speaks_for_the_rest() -> None:
    # From 3/8 over the end of the ring to -3/8: a quarter of it.
    assert extrapolated([(3 * 2**61, -3 * 2**61, 10, 100)]) == Estimate(40, 4000)


def test_nothing_is_said_before_a_table_was_flushed() -> None:
    assert extrapolated([]) is None
    assert extrapolated([(0, 2**62, 0, 0)]) is None
