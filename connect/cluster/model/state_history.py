"""Keeps the last changes of state of connectors and tasks and the last rebalances, and makes the next records.

Each connector, each task and the group of workers has a fixed number of keys that are used in turn (a ring). So
compaction of the status topic bounds the history by itself. No I/O, no clock, no threads: its owner guards it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connect.cluster.model.history import Rebalance, StateChange
from connect.cluster.model.status_records import RebalanceRecord, StateHistoryRecord
from connect.cluster.model.statuses import Status

STATES_KEPT: Final = 10
"""This many changes of each connector and of each task are kept."""
REBALANCES_KEPT: Final = 20


class StateHistory:
    """Gathers the last changes of states and of the group from records of the config topic, and makes new ones.

    A change of a connector takes the place of its oldest one. The records that are made count at once, before they are
    read back, so that two quick changes get two places.
    """

    def __init__(self) -> None:
        self._changes: dict[str, dict[tuple[int | None, int], StateChange]] = {}
        self._newest: dict[tuple[str, int | None], StateChange] = {}
        self._rebalances: dict[int, Rebalance] = {}
        self._newest_rebalance: Rebalance | None = None

    def names(self) -> frozenset[str]:
        """Return the connectors of which changes are known."""
        return frozenset(self._changes)

    def changes(self, name: str) -> Sequence[StateChange]:
        """Return the changes of a connector and of its tasks, oldest first."""
        return sorted(self._changes.get(name, {}).values(), key=lambda change: (change.changed_ms, change.number))

    def rebalances(self) -> Sequence[Rebalance]:
        """Return the rebalances, oldest first."""
        return sorted(self._rebalances.values(), key=lambda rebalance: rebalance.number)

    def records(self) -> list[StateHistoryRecord | RebalanceRecord]:
        """Return the records of all known changes and rebalances."""
        changes = [
            StateHistoryRecord(name, task, slot, change)
            for name, of_name in self._changes.items()
            for (task, slot), change in of_name.items()
        ]
        return [*changes, *(RebalanceRecord(slot, rebalance) for slot, rebalance in self._rebalances.items())]

    def changed(self, name: str, task: int | None, status: Status, now_ms: int) -> StateHistoryRecord | None:
        """Return the record of a status that is being reported; None if the state has not changed."""
        newest = self._newest.get((name, task))
        if newest is not None and _gist(newest.status) == _gist(status):
            return None
        number = 1 if newest is None else newest.number + 1
        change = StateChange(number, task, status, now_ms)
        self._newest[name, task] = change
        return StateHistoryRecord(name, task, number % STATES_KEPT, change)

    def rebalanced(self, generation: int, leader: str, workers: Sequence[str], now_ms: int) -> RebalanceRecord | None:
        """Return the record of the group as the leader sees it; None if the group has not changed."""
        newest = self._newest_rebalance
        if newest is not None and (newest.generation, newest.leader, newest.workers) == (generation, leader, workers):
            return None
        number = 1 if newest is None else newest.number + 1
        self._newest_rebalance = Rebalance(number, generation, leader, workers, now_ms)
        return RebalanceRecord(number % REBALANCES_KEPT, self._newest_rebalance)

    def forgotten(self, name: str) -> list[StateHistoryRecord]:
        """Return the tombstones for a connector that does not exist any more."""
        return [StateHistoryRecord(name, task, slot, None) for task, slot in self._changes.get(name, {})]

    def apply(self, record: StateHistoryRecord | RebalanceRecord) -> None:
        """Add a record that was read."""
        if isinstance(record, RebalanceRecord):
            self._rebalances[record.slot] = record.rebalance
            if self._newest_rebalance is None or self._newest_rebalance.number <= record.rebalance.number:
                self._newest_rebalance = record.rebalance
        elif record.change is None:
            self._forget(record)
        else:
            self._changes.setdefault(record.name, {})[record.task, record.slot] = record.change
            newest = self._newest.get((record.name, record.task))
            if newest is None or newest.number <= record.change.number:
                self._newest[record.name, record.task] = record.change

    def _forget(self, record: StateHistoryRecord) -> None:
        changes = self._changes.get(record.name, {})
        gone = changes.pop((record.task, record.slot), None)
        if not changes:
            self._changes.pop(record.name, None)
        # A record that was made since and is not read back yet is still the newest.
        if gone is not None and self._newest.get((record.name, record.task)) == gone:
            del self._newest[record.name, record.task]


def _gist(status: Status) -> tuple[object, ...]:
    return status.state, status.worker_id, status.trace
