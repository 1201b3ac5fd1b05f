"""Checks ranges of tokens by the nodes that have them, and which node is asked."""

from __future__ import annotations

from collections.abc import Iterator

from cassandra.policies import LoadBalancingPolicy
from cassandra.query import PreparedStatement, SimpleStatement

from connectors.cassandra.cql.owners import MOST_PARTS, NO_NODES, OwnedPart, owned_parts
from connectors.cassandra.cql.routing import OwnedStatement, OwnersFirst

RING = {-50: "ab", 0: "bc", 40: "ca", 90: "ab"}


def parts(after: int, upto: int, ring: dict[int, str] = RING) -> list[tuple[int, str]]:
    ends = sorted(ring)

    def owners_of(token: int) -> frozenset[object]:
        return frozenset(ring[next((end for end in ends if token <= end), ends[0])])

    return [(part.upto, "".join(sorted(map(str, part.owners)))) for part in owned_parts(after, upto, ends, owners_of)]


def test_a_range_is_cut_where_no_node_has_all_of_it() -> None:
    assert parts(-100, 100) == [(0, "b"), (100, "a")]
    assert parts(-20, 30) == [(30, "c")]
    assert parts(-20, -10) == [(-10, "bc")]
    assert parts(50, 90) == [(90, "ab")]


def test_the_parts_are_the_range() -> None:
    for after, upto in ((-100, 100), (-50, 0), (0, 1), (-51, 91)):
        ends = [end for end, _ in parts(after, upto)]
        assert ends == sorted(set(ends))
        assert ends[-1] == upto
        assert ends[0] > after


def test_one_part_is_enough_where_all_nodes_have_all_or_none_is_known() -> None:
    assert parts(-100, 100, dict.fromkeys(RING, "abc")) == [(100, "abc")]
    assert parts(-100, 100, dict.fromkeys(RING, "")) == [(100, "")]


def test_a_range_of_too_many_parts_is_not_cut() -> None:
    ring = {token: "ab"[token % 2] for token in range(MOST_PARTS + 1)}
    assert owned_parts(-1, MOST_PARTS, sorted(ring), lambda token: frozenset(ring[token])) == [
        OwnedPart(MOST_PARTS, NO_NODES)
    ]
    assert len(owned_parts(0, MOST_PARTS, sorted(ring), lambda token: frozenset(ring[token]))) == MOST_PARTS


class InOrder(LoadBalancingPolicy):  # type: ignore[misc]
    def make_query_plan(self, working_keyspace: str | None = None, query: object = None) -> Iterator[str]:
        return iter("abcd")


def test_nodes_that_have_the_rows_are_asked_before_the_others() -> None:
    prepared = PreparedStatement([], b"", None, "SELECT", None, 5, [], b"")
    policy = OwnersFirst(InOrder())
    assert list(policy.make_query_plan(None, OwnedStatement(prepared, [], frozenset("cx")))) == ["c", "a", "b", "d"]
    assert list(policy.make_query_plan(None, OwnedStatement(prepared, [], NO_NODES))) == ["a", "b", "c", "d"]
    assert list(policy.make_query_plan(None, SimpleStatement("SELECT"))) == ["a", "b", "c", "d"]
