"""Checks what a backfill and its connector promise about a table that changes. It uses their READMEs, and no code of
theirs.

Each change of a row has a version: a number that no other change has, and that grows. Writers keep a list of the
versions in the transactions of the changes. So the list has what the database has kept, whatever happened to a writer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class PromiseError(AssertionError):
    """Says that the product did what its README does not allow."""


class Change(NamedTuple):
    """Holds a change that was committed, of the kind c, u or d."""

    row: int
    version: int
    kind: str


class Event(NamedTuple):
    """Holds a record; events are in the order of their partition.

    `kind` is r for a row that was read as it is, or else the kind of the change. `before` is the version that a change
    of the log replaced; it is None if the record does not tell it.
    """

    row: int
    version: int | None
    kind: str
    before: int | None = None


@dataclass(frozen=True)
class Promise:
    """Holds what is promised about a table. `mode` is the connector's; `has_key` says that the table has a primary
    key.
    """

    mode: str
    has_key: bool

    def check_so_far(self, events: Sequence[Event], changes: Collection[Change]) -> None:
        """Check the topic while the job may still go on. `changes` was read after the events. PromiseError: a promise
        is broken.
        """
        self._require_known(events, changes)
        if self.mode == "log" and not self.has_key:
            return  # an update may move a row behind the place that reading has reached
        self._require_once(events)

    def check(self, events: Sequence[Event], changes: Collection[Change]) -> None:
        """Check the topic once the connector has caught up and nothing more comes. PromiseError: a promise is
        broken.
        """
        self.check_so_far(events, changes)
        if self.mode == "incrementing":
            self._require_no_difference(
                Counter((one.row, one.version) for one in changes), Counter((one.row, one.version) for one in events)
            )
        elif self.mode != "log":
            self._require_newest(events, changes)
        elif self.has_key:
            self._require_each_change(events, changes)
        else:
            self._require_sum(events, changes)

    def _require_known(self, events: Sequence[Event], changes: Collection[Change]) -> None:
        known = {(one.row, one.version) for one in changes}
        strange = [one for one in events if one.version is not None and (one.row, one.version) not in known]
        if strange:
            raise PromiseError(f"{len(strange)} records are of no committed change: {strange[:5]}")

    def _require_once(self, events: Sequence[Event]) -> None:
        counts = Counter((one.row, one.version) for one in events if one.kind != "d")
        twice = {change: count for change, count in counts.items() if count > 1}
        if twice:
            raise PromiseError(f"{len(twice)} changes are there more than once: {dict(list(twice.items())[:5])}")

    def _require_no_difference(self, wanted: Counter[tuple[int, int]], found: Counter[tuple[int, int | None]]) -> None:
        if missing := sorted(set(wanted) - set(found)):
            raise PromiseError(f"{len(missing)} of {len(wanted)} rows are missing: {missing[:10]}")

    def _require_newest(self, events: Sequence[Event], changes: Collection[Change]) -> None:
        newest = {one.row: one.version for one in sorted(changes, key=lambda one: one.version)}
        found: dict[int, int] = {}
        for one in events:
            if one.version is None or found.get(one.row, -1) > one.version:
                raise PromiseError(f"Row {one.row} goes back from version {found.get(one.row)} to {one.version}.")
            found[one.row] = one.version
        wrong = {row: (version, found.get(row)) for row, version in newest.items() if found.get(row) != version}
        if wrong:
            raise PromiseError(
                f"{len(wrong)} rows of {len(newest)} are not as they are: {dict(list(wrong.items())[:5])}"
            )

    def _require_each_change(self, events: Sequence[Event], changes: Collection[Change]) -> None:
        its_changes, its_events = defaultdict[int, list[Change]](list), defaultdict[int, list[Event]](list)
        for change in sorted(changes, key=lambda one: one.version):
            its_changes[change.row].append(change)
        for event in events:
            its_events[event.row].append(event)
        wrong = [row for row, its in its_changes.items() if not _follows(its_events[row], its)]
        if wrong:
            row = wrong[0]
            raise PromiseError(
                f"{len(wrong)} rows of {len(its_changes)} have not each change once and in order; row {row} has "
                f"{its_events[row]}, and was {its_changes[row]}"
            )

    def _require_sum(self, events: Sequence[Event], changes: Collection[Change]) -> None:
        """Check that the events together give the table."""
        found = Counter[tuple[int, int]]()
        for one in events:
            if one.kind != "d" and one.version is not None:
                found[one.row, one.version] += 1
            if one.before is not None:
                found[one.row, one.before] -= 1
        newest = {one.row: one for one in sorted(changes, key=lambda one: one.version)}
        wanted = Counter((one.row, one.version) for one in newest.values() if one.kind != "d")
        wrong = {key: (wanted[key], found[key]) for key in wanted.keys() | found.keys() if wanted[key] != found[key]}
        if wrong:
            raise PromiseError(
                f"{len(wrong)} versions are there otherwise than in sum: {dict(list(wrong.items())[:5])}"
            )


def _follows(events: Sequence[Event], changes: Sequence[Change]) -> bool:
    """Tell if a row's events are the row as it was read once, or its creation, followed by each later change."""
    if not events:
        return changes[-1].kind == "d"  # the row was deleted before anybody read it
    first = events[0]
    place = next((i for i, change in enumerate(changes) if change.version == first.version), None)
    if place is None or first.kind not in {"r", "c"} or (first.kind == "r" and changes[place].kind == "d"):
        return False
    if first.kind == "c" and changes[place].kind != "c":
        return False
    told = [(one.kind, None if one.kind == "d" else one.version) for one in events[1:]]
    return told == [(one.kind, None if one.kind == "d" else one.version) for one in changes[place + 1 :]]
