"""Remembers which offsets of each place of a topic partition have their rows in objects. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from connectors.s3.files.intake import Admitted
from connectors.s3.paths.layout import Place

_PLACES_MAX: Final = 20_000
"""If more places than this are known, those without waiting rows are forgotten. They are asked for again if they get
rows.
"""
Run = tuple[int, int]
"""Has the offsets from and before which objects hold all rows of a place."""


@dataclass(slots=True)
class _Held:
    """Tells what objects hold of a place: the rows from `begin` on and before `reach`, and those of the later runs.

    It is known for rows from `known_from` on.
    """

    known_from: int
    begin: int = 0
    reach: int = 0
    later: list[Run] = field(default_factory=list)

    def extend(self, end: int) -> None:
        """Note that objects hold the rows before this offset, too, and join the later runs that it touches."""
        self.reach = max(self.reach, end)
        while self.later and self.later[0][0] <= self.reach:
            self.reach = max(self.reach, self.later.pop(0)[1])


class KnownObjects:
    """Holds for each place which of its rows are in objects.

    Objects hold an unbroken run of rows unless a task began to read at a later offset than the one before it ended, as
    one that begins at the end of a topic, or whose offsets were altered. Then there are several runs, and rows between
    them are in no object. `began` is the offset from which this task has read all rows, or None if it has read none.
    It is owned by the task thread.
    """

    def __init__(self) -> None:
        self.began: int | None = None
        self._held: dict[Place, _Held] = {}
        self._paths: dict[str, set[str]] = {}
        self._gapped: set[Place] = set()
        self._known_from_max = 0
        self._highest_ever = 0

    @property
    def has_gaps(self) -> bool:
        """Return True if rows that are in no object may lie before others that are in objects."""
        return bool(self._gapped)

    def unknown(self, parts: Sequence[Admitted]) -> set[Place]:
        """Return the places of these rows for which it is not known which rows are in objects."""
        return {place for part in parts for place in self._unknown(part, int(part.consumed.offsets[0].as_py()))}

    def learn(self, place: Place, runs: Sequence[Run], known_from: int) -> None:
        """Note which rows of a place objects hold, as far as rows from the offset `known_from` on go."""
        held = _Held(known_from, later=sorted(runs))
        before = [run for run in held.later if run[0] <= known_from]
        held.later = held.later[len(before) :]
        if before:
            held.begin = max(before, key=lambda run: run[1])[0]
            held.extend(max(end for _, end in before))
        self._highest_ever = max(self._highest_ever, held.reach, *(end for _, end in held.later))
        self._known_from_max = max(self._known_from_max, known_from)
        self._note(place, held)

    def extend(self, place: Place, end: int) -> None:
        """Note that an object holds the rows of a place before this offset that were in none."""
        held = self._held.setdefault(place, _Held(self.began or 0))
        held.begin = self.begin_of(place)
        held.extend(end)
        self._highest_ever = max(self._highest_ever, held.reach)
        self._note(place, held)

    def of(self, place: Place) -> int:
        """Return the offset before which no row that was read is missing in objects, or 0 if no objects are known."""
        held = self._held.get(place)
        return 0 if held is None else held.reach

    def begin_of(self, place: Place) -> int:
        """Return the offset from which on the objects of a place will hold all rows, with the next one that is made."""
        held, began = self._held.get(place), self.began or 0
        return held.begin if held is not None and held.reach >= began else began

    def farthest(self) -> int:
        """Return how far the objects of any place reach."""
        return max((held.later[-1][1] if held.later else held.reach for held in self._held.values()), default=0)

    def rows_beyond(self, part: Admitted) -> NDArray[np.int64] | None:
        """Return the numbers of a part's rows that are in no object yet, ascending.

        Return None if no row is in an object.
        """
        offsets = part.consumed.offsets.to_numpy()
        if self._highest_ever <= offsets[0]:
            return None
        held = [self._held.get(Place(part.topic, name), _NOTHING) for name in part.facts.names]
        reach = np.array([one.reach for one in held], np.int64)
        if reach.max() <= offsets[0] and not any(one.later for one in held):
            return None
        codes = np.zeros(len(offsets), np.int32) if part.facts.codes is None else part.facts.codes.to_numpy()
        is_beyond = offsets >= reach[codes]
        for code, one in enumerate(held):
            for begin, end in one.later:
                is_beyond &= (codes != code) | (offsets < begin) | (offsets >= end)
        return np.flatnonzero(is_beyond)

    def cuts(self, part: Admitted) -> list[int]:
        """Return the offsets among a part's rows at which a later run of one of its places begins, ascending."""
        if not self._gapped or not part.facts.length:
            return []
        first, last = part.consumed.offsets[0].as_py(), part.consumed.offsets[-1].as_py()
        held = (self._held.get(Place(part.topic, name), _NOTHING) for name in part.facts.names)
        return sorted({begin for one in held for begin, _ in one.later if first < begin <= last})

    def is_apart(self, place: Place, first: int, offset: int) -> bool:
        """Return True if rows of a place from `first` and from `offset` on may not be in one object.

        A run of other objects lies between them. An object ends before such a run, so that objects never overlap.
        """
        held = self._held.get(place)
        return held is not None and any(first < begin <= offset for begin, _ in held.later)

    def lacks_rows(self, parts: Sequence[Admitted]) -> bool:
        """Return True if some of these rows are in no object that is known."""
        found = (self.rows_beyond(part) for part in parts if part.facts.length)
        return any(rows is None or len(rows) for rows in found)

    def forget(self, is_kept: Callable[[Place], bool], position: int) -> None:
        """Forget places if too many are known: those that `is_kept` rejects and whose objects end up to `position`."""
        if len(self._held) <= _PLACES_MAX:
            return
        self._held = {p: one for p, one in self._held.items() if is_kept(p) or one.later or one.reach > position}
        self._paths = {}
        for place, held in self._held.items():
            self._note(place, held)

    def _note(self, place: Place, held: _Held) -> None:
        self._held[place] = held
        self._paths.setdefault(place.topic, set()).add(place.path)
        if held.later:
            self._gapped.add(place)
        else:
            self._gapped.discard(place)

    def _unknown(self, part: Admitted, first: int) -> set[Place]:
        names = set(part.facts.names)
        fresh = names.difference(self._paths.get(part.topic, ()))
        found = {Place(part.topic, name) for name in fresh}
        if first < self._known_from_max:
            known = (Place(part.topic, name) for name in names - fresh)
            found |= {place for place in known if self._held[place].known_from > first}
        return found


_NOTHING: Final = _Held(0)
