"""Checks from rows, marks and files that a cluster lost no row, ran no task in two places, and forgot no offset."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cluster_model import Asked, PromiseError

_OFFSET_KINDS = {"set_offsets", "reset_offsets", "delete_all"}


class Row(NamedTuple):
    """Holds a row of the numbered source: its task, the task's run, and the revision of the configuration."""

    share: int
    number: int
    mark: str
    revision: int

    @classmethod
    def parse(cls, text: str) -> Row:
        """Parse the text that the source wrote."""
        share, number, mark, revision = text.split()
        return cls(int(share), int(number), mark, int(revision))


class Run(NamedTuple):
    """Holds the rows of one life of a task by their first and last number."""

    mark: str
    first: int
    last: int

    @property
    def opened_ns(self) -> int:
        """Return when the run began, in ns since 1970."""
        return int(self.mark.split("-")[1])


def pid_of(mark: str) -> int:
    """Return the id of the process in which a run was."""
    return int(mark.partition("-")[0])


def pids_of_tasks(folder: Path) -> dict[str, int]:
    """Return the id of the process in which each task took its last step, by the names of their files."""
    marks = {file.name: file.read_text().splitlines() for file in folder.iterdir()}
    return {name: pid_of(its[-1]) for name, its in marks.items() if its}


def runs_of(rows: Iterable[Row], name: str) -> list[Run]:
    """Return the runs of one share in the order of their rows. PromiseError: a row is missing, or late."""
    runs = []
    for mark, group in itertools.groupby(rows, lambda row: row.mark):
        numbers = [row.number for row in group]
        for before, after in itertools.pairwise(numbers):
            if after != before + 1:
                raise PromiseError(f"{name}: {after} follows {before} within the run {mark}.")
        runs.append(Run(mark, numbers[0], numbers[-1]))
    marks = [run.mark for run in runs]
    late = sorted({mark for mark in marks if marks.count(mark) > 1})
    if late:
        raise PromiseError(f"{name}: rows of another run stand between those of {late}.")
    return runs


def check_source(name: str, rows: Sequence[Row], asked: Sequence[Asked], *, once: bool) -> None:
    """Raise PromiseError if a row is lost or comes twice against a promise, or if a change of offsets is forgotten."""
    changes = [one for one in asked if one.operation.kind in _OFFSET_KINDS]
    by_share = defaultdict(list)
    for row in rows:
        by_share[row.share].append(row)
    for share, its in sorted(by_share.items()):
        runs = runs_of(its, f"{name}-{share}")
        _check_starts(f"{name}-{share}", runs, changes, once=once)
        _check_changes(f"{name}-{share}", runs, changes)


def _check_starts(name: str, runs: Sequence[Run], changes: Sequence[Asked], *, once: bool) -> None:
    """Check that each run goes on where the one before was stored, or at an offset that somebody asked for."""
    least, last = 0, -1
    for run in runs:
        before = [one for one in changes if one.sent_ns < run.opened_ns]
        wanted = {one.operation.start for one in before if not one.answer.is_known or one.answer.status < 300}
        allowed = range(last + 1, last + 2) if once else range(least, last + 2)
        if run.first not in allowed and run.first not in wanted:
            raise PromiseError(
                f"{name}: run {run.mark} begins at {run.first}, not in {allowed} nor in {sorted(wanted)}."
            )
        least, last = run.first, run.last


def _check_changes(name: str, runs: Sequence[Run], changes: Sequence[Asked]) -> None:
    """Check that the first run after an acknowledged change of offsets begins there, unless something else was asked
    meanwhile.
    """
    for one in changes:
        others = [other for other in changes if other is not one]
        if not 200 <= one.answer.status < 300 or any(_is_unsure(other) for other in others):
            continue
        next_ns = min((other.sent_ns for other in others if other.answered_ns > one.sent_ns), default=1 << 63)
        after = next((run for run in runs if one.answered_ns < run.opened_ns < next_ns), None)
        if after is not None and after.first != one.operation.start:
            raise PromiseError(f"{name}: {one} was acknowledged, and run {after.mark} begins at {after.first}.")


def _is_unsure(change: Asked) -> bool:
    return not change.answer.is_known


def check_presence(folder: Path) -> None:
    """Raise PromiseError if a task did something after another run of it had begun."""
    for file in sorted(folder.iterdir()):
        marks = [mark for mark, _ in itertools.groupby(file.read_text().splitlines())]
        again = sorted({mark for mark in marks if marks.count(mark) > 1})
        if again:
            raise PromiseError(f"Task {file.name} was run in two places at once: {again} among {marks}.")


def check_sink(folder: Path, name: str, written: Mapping[str, Collection[int]]) -> None:
    """Raise PromiseError if an offset of a topic, which has one partition, is in no file of the sink."""
    got: dict[str, set[int]] = defaultdict(set)
    for file in folder.glob(f"{name}-*"):
        for line in file.read_text().splitlines():
            topic, _, offset = line.split()
            got[topic].add(int(offset))
    for topic, offsets in written.items():
        missing = sorted(set(offsets) - got[topic])
        if missing:
            raise PromiseError(f"{name} lacks {len(missing)} rows of {topic}, the first at {missing[:5]}.")
