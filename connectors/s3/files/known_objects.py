"""Remembers up to which offset objects hold the rows of each place of a topic partition. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from connectors.s3.files.intake import Admitted
from connectors.s3.paths.layout import Place

_PLACES_MAX: Final = 20_000
"""If more places than this are known, those without waiting rows are forgotten. They are asked for again if they get
rows.
"""


class KnownObjects:
    """Holds for each place how far its objects reach: objects hold all rows of the place before that offset.

    It is owned by the task thread.
    """

    def __init__(self) -> None:
        self._reach: dict[Place, int] = {}
        self._paths: dict[str, set[str]] = {}
        self._highest_ever = 0

    def unknown(self, parts: Sequence[Admitted]) -> set[Place]:
        """Return the places of these rows for which it is not known how far their objects reach."""
        return {
            Place(part.topic, name)
            for part in parts
            for name in set(part.facts.names).difference(self._paths.get(part.topic, ()))
        }

    def learn(self, place: Place, reach: int) -> None:
        """Note that the objects of a place hold all its rows before this offset."""
        self._reach[place] = max(reach, self._reach.get(place, 0))
        self._highest_ever = max(self._highest_ever, reach)
        self._paths.setdefault(place.topic, set()).add(place.path)

    def of(self, place: Place) -> int:
        """Return how far the objects of a place reach, or 0 if no objects are known."""
        return self._reach.get(place, 0)

    def farthest(self) -> int:
        """Return how far the objects of any place reach."""
        return max(self._reach.values(), default=0)

    def rows_beyond(self, part: Admitted) -> NDArray[np.int64] | None:
        """Return the numbers of a part's rows that are in no object yet, ascending.

        Return None if no row is in an object.
        """
        offsets = part.consumed.offsets.to_numpy()
        if self._highest_ever <= offsets[0]:
            return None
        reach = np.array([self.of(Place(part.topic, name)) for name in part.facts.names], np.int64)
        if reach.max() <= offsets[0]:
            return None
        codes = part.facts.codes
        return np.flatnonzero(offsets >= (reach[0] if codes is None else reach[codes.to_numpy()]))

    def lacks_rows(self, parts: Sequence[Admitted]) -> bool:
        """Return True if some of these rows are in no object that is known."""
        found = (self.rows_beyond(part) for part in parts if part.facts.length)
        return any(rows is None or len(rows) for rows in found)

    def forget(self, is_kept: Callable[[Place], bool], position: int) -> None:
        """Forget places if too many are known: those that `is_kept` rejects and whose objects end up to `position`."""
        if len(self._reach) <= _PLACES_MAX:
            return
        self._reach = {p: end for p, end in self._reach.items() if is_kept(p) or end > position}
        self._paths = {}
        for place in self._reach:
            self._paths.setdefault(place.topic, set()).add(place.path)
