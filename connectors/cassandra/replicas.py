"""Which node is asked first: one that has the rows itself. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def first_replica(tokens: Sequence[int], owners: Sequence[T], token: int, is_near: Callable[[T], bool]) -> T | None:
    """The owner of a token that is in the data centre that is read, by walking the ring from there on.

    It is a replica of every keyspace that has one in that data centre: both SimpleStrategy (with one data centre) and
    NetworkTopologyStrategy take the nodes in this order, and the first one always. `tokens`: of the ring, ascending,
    with the owner of each; none is near: None.
    """
    start = bisect_left(tokens, token)
    for step in range(len(tokens)):
        owner = owners[(start + step) % len(tokens)]
        if is_near(owner):
            return owner
    return None
