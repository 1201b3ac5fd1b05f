"""The node that is asked first has the rows itself: the owner of the token, or the next one in the data centre."""

from __future__ import annotations

import pytest

from connectors.cassandra.replicas import first_replica

TOKENS = [-100, 0, 50, 100]
OWNERS = ["far", "near1", "near2", "far"]


@pytest.mark.parametrize(
    ("token", "expected"),
    [(-200, "near1"), (-100, "near1"), (-1, "near1"), (0, "near1"), (1, "near2"), (50, "near2"), (51, "near1"),
     (2**63 - 1, "near1")],
)  # fmt: skip
def test_the_first_near_node_of_the_ring(token: int, expected: str) -> None:
    assert first_replica(TOKENS, OWNERS, token, lambda owner: owner.startswith("near")) == expected


def test_no_node_is_near() -> None:
    assert first_replica(TOKENS, OWNERS, 0, lambda owner: owner == "nowhere") is None
    assert first_replica([], [], 0, lambda owner: True) is None
