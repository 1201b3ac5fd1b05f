"""Finds the nodes that have all rows of a range of tokens, as these can answer alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_PARTS: Final = 16
"""Into more parts a range is not cut: where nodes have many small ranges, each part would cost more than it spares."""
Nodes = frozenset[object]
NO_NODES: Final[Nodes] = frozenset()


@dataclass(frozen=True, slots=True)
class OwnedPart:
    """Holds the tokens up to `upto`, from the part before on. `owners` are nodes with all of them; empty if unknown."""

    upto: int
    owners: Nodes


def owned_parts(after: int, upto: int, ring: Iterable[int], owners_of: Callable[[int], Nodes]) -> Sequence[OwnedPart]:
    """Return a range in parts that some node has whole, as few as there can be from its begin on.

    `ring`: the tokens at which the nodes' ranges end, in order. `owners_of`: the nodes that have a token.
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
