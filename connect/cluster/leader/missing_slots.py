"""Takes tasks and claims from slots that the slots topic does not have any more, so that the tasks run elsewhere.

A cluster that goes on under another `group.id`, or whose slots topic was deleted and made anew, may have fewer slots
than before. Nobody will ever own the others: tasks in them would stand still, and workers that are long gone would seem
to own them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import replace

from connect.api.errors import ConnectError
from connect.cluster.model.config_records import ConfigRecord, PlacementRecord, WorkerRecord
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.store.config_store import ConfigStore
from connect.runtime.task.task_id import TaskId

CountSlots = Callable[[], int]
"""Asks a broker for the number of slots; 0 if the topic does not exist. ConnectError: no broker told it."""
_logger = logging.getLogger(__name__)


class MissingSlots:
    """Finds records that name missing slots. Owned by the herder's thread; used on the leader only."""

    def __init__(self, configs: ConfigStore, count_slots: CountSlots) -> None:
        self._configs = configs
        self._count_slots = count_slots
        self._asked_for: frozenset[TaskId] = frozenset()

    def reconcile(self, overdue: Collection[TaskId]) -> None:
        """Look once for each task that becomes overdue, as slots may have gone while this worker leads."""
        new = frozenset(overdue) - self._asked_for
        self._asked_for = frozenset(overdue)
        if new:
            self.clear()

    def clear(self) -> None:
        """Take missing slots from all that name them."""
        before = self._configs.snapshot  # before the slots are counted, as workers may claim added ones at any time
        try:
            count = self._count_slots()
        except ConnectError as error:
            _logger.warning("slots_not_counted", extra={"error": str(error)})
            return
        if not count:  # `LostSlots` makes it anew
            return
        # Workers claim slots meanwhile, as all do where a cluster starts: an older claim would take the new ones away.
        snapshot = self._configs.refresh()
        claims = [
            replace(worker, slots=[slot for slot in worker.slots if slot < count])
            for name, worker in snapshot.workers.items()
            if any(slot >= count for slot in worker.slots) and _has_no_more(worker, before.workers.get(name))
        ]
        tasks = [t for t, slot in snapshot.placements.items() if slot >= count and before.placements.get(t) == slot]
        records: list[ConfigRecord] = [*claims, *_placements(snapshot, tasks, count)]
        if records:
            told = {"slots": count, "workers": len(claims), "tasks": sorted(map(str, tasks))}
            _logger.warning("slots_missing", extra=told)
            self._configs.put(*records)


def _has_no_more(worker: WorkerRecord, before: WorkerRecord | None) -> bool:
    """Return True if a claim is of the same process as before, and names no other slots."""
    return before is not None and worker.process == before.process and {*worker.slots} <= {*before.slots}


def _placements(snapshot: ConfigSnapshot, tasks: Collection[TaskId], count: int) -> list[PlacementRecord]:
    slots: dict[str, dict[int, int | None]] = {task.connector: {} for task in tasks}
    for task, slot in snapshot.placements.items():
        if task.connector in slots:
            slots[task.connector][task.task] = slot if slot < count else None
    return [PlacementRecord(name, [known.get(n) for n in range(max(known) + 1)]) for name, known in slots.items()]
