"""Up to which time the tables' rows are in Kafka. Pure: the caller brings the times, as epoch seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from connect.api.records import SourcePosition
from connectors.cassandra.cql.splits import Split, progress_of
from connectors.cassandra.source.sweeps import Sweep, sweep_of


@dataclass(slots=True)
class _Begun:
    """A sweep, whose rows were all there was at `up_to_s`.

    `owes`: some of them are not stored. `is_first`: of the split, since the task was opened.
    """

    number: int
    up_to_s: float
    is_first: bool
    owes: bool = False
    is_over: bool = False


class StoredSweeps:
    """Compares what the sweeps gave with what is stored of it. Owned by the task thread."""

    def __init__(self, opened_s: float) -> None:
        """Begin with no split; each counts from `opened_s` on."""
        self.opened_s = opened_s
        self._known_s: dict[Split, float] = {}
        self._begun: dict[Split, deque[_Begun]] = {}
        self._splits: dict[frozenset[tuple[str, object]], Split] = {}

    def begun(self, split: Split, sweep: Sweep, at_s: float) -> None:
        """Note that a sweep began at this time; one that goes on after a restart counts from that.

        Until the first one is over nobody knows if the split has rows that are not in Kafka.
        """
        self._splits[frozenset(split.partition.items())] = split
        is_first = split not in self._known_s
        self._known_s.setdefault(split, self.opened_s)
        self._begun.setdefault(split, deque()).append(_Begun(sweep.number, _up_to_s(sweep, at_s), is_first))

    def ended(self, split: Split, sweep: Sweep) -> None:
        """Note that the end of this sweep was stored by an earlier task."""
        self._known_s[split] = _up_to_s(sweep, self.opened_s)

    def given(self, split: Split, rows: int, *, is_last: bool) -> None:
        """Note that the sweep that began last gave a page of so many rows."""
        last = self._begun[split][-1]
        last.is_over = is_last
        last.owes = last.owes or rows > 0
        self._know(split)

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Note the sweeps whose ends are stored now."""
        for position in positions:
            split, sweep = self._splits.get(frozenset(position.partition.items())), sweep_of(position.offset)
            if split is not None and sweep is not None and progress_of(split, position.offset).finished:
                for begun in self._begun[split]:
                    begun.owes = begun.owes and begun.number > sweep.number
                self._know(split)

    @property
    def is_behind(self) -> bool:
        """Return True while rows are known of that are not stored, or a sweep has given rows and is not over."""
        return any(one.owes or (one.is_first and not one.is_over) for sweeps in self._begun.values() for one in sweeps)

    @property
    def caught_up_s(self) -> float:
        """Return the time up to which everything is stored, of the split that is furthest behind."""
        return min(self._known_s.values(), default=self.opened_s)

    def _know(self, split: Split) -> None:
        sweeps = self._begun[split]
        while sweeps and sweeps[0].is_over and not sweeps[0].owes:
            self._known_s[split] = max(self._known_s[split], sweeps.popleft().up_to_s)


def _up_to_s(sweep: Sweep, at_s: float) -> float:
    return at_s if sweep.window is None else sweep.window.upto_ms / 1000
