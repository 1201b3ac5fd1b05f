"""Tells up to which time the rows of tables are in Kafka. Pure: the caller passes times, in seconds since 1970."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from connect.api.records import SourcePosition
from connectors.cassandra.cql.splits import Split, progress_of
from connectors.cassandra.source.sweeps import Sweep, sweep_of


@dataclass(slots=True)
class _Begun:
    """Holds a sweep that has begun; it sees all rows that were there at `up_to_s`.

    `owes` says that some of its rows are not stored yet. `is_first` says that it is the split's first sweep since the
    task was opened. `is_over` says that its last page was given.
    """

    number: int
    up_to_s: float
    is_first: bool
    owes: bool = False
    is_over: bool = False


class StoredSweeps:
    """Compares the rows that sweeps have given with the positions that are stored. Owned by the task thread."""

    def __init__(self, opened_s: float) -> None:
        """Begin without a split; a split that is added counts as caught up to `opened_s`."""
        self.opened_s = opened_s
        self._known_s: dict[Split, float] = {}
        self._begun: dict[Split, deque[_Begun]] = {}
        self._splits: dict[frozenset[tuple[str, object]], Split] = {}

    def begun(self, split: Split, sweep: Sweep, at_s: float) -> None:
        """Note that a sweep began at `at_s`; a sweep that goes on after a restart counts from the restart.

        Until the first sweep of a split is over, nobody knows if the split has rows that are not in Kafka.
        """
        self._splits[frozenset(split.partition.items())] = split
        is_first = split not in self._known_s
        self._known_s.setdefault(split, self.opened_s)
        self._begun.setdefault(split, deque()).append(_Begun(sweep.number, _up_to_s(sweep, at_s), is_first))

    def ended(self, split: Split, sweep: Sweep) -> None:
        """Note that an earlier task stored the end of this sweep."""
        self._known_s[split] = _up_to_s(sweep, self.opened_s)

    def given(self, split: Split, rows: int, *, is_last: bool) -> None:
        """Note that the split's latest sweep gave a page of `rows` rows; `is_last` tells that the sweep is over."""
        last = self._begun[split][-1]
        last.is_over = is_last
        last.owes = last.owes or rows > 0
        self._know(split)

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Note the sweeps whose ends are among the positions that are stored now."""
        for position in positions:
            split, sweep = self._splits.get(frozenset(position.partition.items())), sweep_of(position.offset)
            if split is not None and sweep is not None and progress_of(split, position.offset).finished:
                for begun in self._begun[split]:
                    begun.owes = begun.owes and begun.number > sweep.number
                self._know(split)

    @property
    def is_behind(self) -> bool:
        """Return True while some given rows are not stored, or the first sweep of a split is not over."""
        return any(one.owes or (one.is_first and not one.is_over) for sweeps in self._begun.values() for one in sweeps)

    @property
    def caught_up_s(self) -> float:
        """Return the time up to which everything is stored of the split that is furthest behind, in epoch seconds."""
        return min(self._known_s.values(), default=self.opened_s)

    def _know(self, split: Split) -> None:
        sweeps = self._begun[split]
        while sweeps and sweeps[0].is_over and not sweeps[0].owes:
            self._known_s[split] = max(self._known_s[split], sweeps.popleft().up_to_s)


def _up_to_s(sweep: Sweep, at_s: float) -> float:
    return at_s if sweep.window is None else sweep.window.upto_ms / 1000
