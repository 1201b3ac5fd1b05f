"""Cuts a range of tokens into parts that some node owns whole, as such a node can answer alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_PARTS: Final = 16
"""A range is cut into at most so many parts.

Where nodes own many small ranges, each further part would cost more than it saves.
"""
Nodes = frozenset[object]
NO_NODES: Final[Nodes] = frozenset()


@dataclass(frozen=True, slots=True)
class OwnedPart:
    """Describes the tokens from the end of the part before up to `upto`. `owners` have all of them; empty: unknown."""

    upto: int
    owners: Nodes


def owned_parts(after: int, upto: int, ring: Iterable[int], owners_of: Callable[[int], Nodes]) -> Sequence[OwnedPart]:
    """Return a range of tokens as parts, each of which some node owns whole; parts reach as far as one node owns them.

    The range begins behind `after` and ends at `upto`. `ring` holds the tokens at which the nodes' ranges end, in
    order. `owners_of` returns the nodes that own a token. If there were more than MOST_PARTS parts, one part without
    owners is returned.
    """
    parts: list[OwnedPart] = []
    for end in (*(token for token in ring if after < token < upto), upto):
        owners = owners_of(end)
        common = parts[-1].owners & owners if parts else NO_NODES
        if common or (parts and owners == parts[-1].owners):
            parts[-1] = OwnedPart(end, common)
        else:
            parts.append(OwnedPart(end, owners))
    return parts if len(parts) <= MOST_PARTS else [OwnedPart(upto, NO_NODES)]
