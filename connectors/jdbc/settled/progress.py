"""Tells the time up to which everything that a database held is in Kafka. Pure.

For a table it is the beginning of the last pass whose rows are all stored. For a log it is the time of its newest
stored commit, or the present once the log's end was read. Times are epoch seconds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connect.api.records import SourcePosition


@dataclass(slots=True)
class _Given:
    """Holds a position that was given to the framework, with `rows` rows.

    Once it and all before it are stored, everything up to `up_to_s` is in Kafka.
    """

    position: SourcePosition
    rows: int = 0
    up_to_s: float | None = None
    is_stored: bool = False


class StoredProgress:
    """Keeps what was given of each followed table, and how much of it is stored. Owned by the task thread."""

    def __init__(self, followed: Iterable[str], begun_s: float) -> None:
        """Begin with nothing known. `followed` names the tables or the log.

        Of each of them nothing is known to be given before `begun_s`, in seconds since 1970.
        """
        self._begun_s = begun_s
        self._known_s: dict[str, float | None] = dict.fromkeys(followed)
        self._given: dict[str, deque[_Given]] = {name: deque() for name in self._known_s}
        self._in_pass: set[str] = set(self._known_s)
        """The names whose pass has begun and may give more rows."""
        self._read_s: dict[str, float] = {}
        self.unstored_rows = 0
        """The rows that were given and whose position is not stored."""

    def given(self, name: str, position: SourcePosition | None, rows: int = 0) -> None:
        """Take note that a batch of `rows` rows was given to the framework."""
        if position is not None:
            self._given[name].append(_Given(position, rows))
            self.unstored_rows += rows
            self._in_pass.add(name)

    def read(self, name: str, up_to_s: float | None) -> None:
        """Note that everything that was there at `up_to_s` (epoch seconds) was given.

        `up_to_s` is None if nothing is known.
        """
        if up_to_s is None:
            return
        if up_to_s > self._read_s.get(name, -math.inf):
            self._read_s[name] = up_to_s
            self._in_pass.discard(name)
        if self._given[name]:
            last = self._given[name][-1]
            last.up_to_s = _later(last.up_to_s, up_to_s)
        else:
            self._know(name, up_to_s)

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Take note that these positions are stored, and with them all that were given before in their partitions."""
        for name, given in self._given.items():
            for position in positions:
                _mark(given, position)
            while given and given[0].is_stored:
                first = given.popleft()
                self.unstored_rows -= first.rows
                if first.up_to_s is not None:
                    self._know(name, first.up_to_s)

    @property
    def is_behind(self) -> bool:
        """Return True if known rows are not stored, or if a pass has begun to give rows and is not over."""
        return bool(self._in_pass) or any(self._given.values())

    def _know(self, name: str, at_s: float) -> None:
        self._known_s[name] = _later(self._known_s[name], at_s)

    @property
    def caught_up_s(self) -> float:
        """Return the time up to which everything is stored, as the table that is furthest behind has it."""
        known = [self._begun_s if at_s is None else at_s for at_s in self._known_s.values()]
        return min(known, default=self._begun_s)


def _later(one_s: float | None, other_s: float) -> float:
    return other_s if one_s is None else max(one_s, other_s)


def _mark(given: Sequence[_Given], position: SourcePosition) -> None:
    of_partition = [one for one in given if one.position.partition == position.partition]
    # The newest of equal positions counts, as the framework reports only the last of several.
    last = max((i for i, one in enumerate(of_partition) if one.position.offset == position.offset), default=-1)
    for one in of_partition[: last + 1]:
        one.is_stored = True
