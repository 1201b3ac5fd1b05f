"""Shuts out the zombies of exactly-once sources (KIP-618).

The leader shuts out the tasks of a connector's last configuration before the tasks of the next one start.

Published tasks wait (`Parts.awaits_fencing`) until a fencing record follows them in the config topic. Source of the
rules: org.apache.kafka.connect.runtime.distributed.DistributedHerder.doFenceZombieSourceTasks (Kafka 4.1).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final

from connect.api.errors import ConnectError
from connect.cluster.loop.herder_parts import HerderParts
from connect.cluster.model.config_records import FencingRecord
from connect.cluster.model.config_state import ConfigSnapshot, Properties
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import FailedRequestError
from connect.lib.backoff import delays_s
from connect.runtime.task.messages import CallResult
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

FENCE_S: Final = 30.0
RETRY_MAX_S: Final = 60.0
_logger = logging.getLogger(__name__)


def producers_to_fence(recorded: int | None, tasks: int) -> int:
    """Return how many producers must be shut out before `tasks` tasks start.

    `recorded` is the number of tasks in the last fencing record. Without a record there never was a producer. If there
    was one task and is one again, its new producer shuts out the old one by itself.
    """
    if recorded is None or (recorded == 1 and tasks == 1):
        return 0
    return recorded


@dataclass(slots=True, eq=False)
class _Round:
    """Holds one fencing round for the tasks that were published when it began. `ends` are futures of its outcome."""

    config: Mapping[str, str]
    tasks: Mapping[int, Properties]
    ends: list[Future[None]] = field(default_factory=list)


class Fencing:
    """Shuts out the zombies of exactly-once sources. Owned by the herder's thread; used on the leader only."""

    def __init__(self, parts: HerderParts, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._clock_s = clock_s
        self._rounds: dict[str, _Round] = {}
        self._retries: dict[str, tuple[float, Iterator[float]]] = {}
        """It holds the time of the next try after a failed round, and the waits for further tries."""
        self._touched: set[str] = set()
        """For these connectors a round may be due although no record has changed since the last look."""

    def reconcile(self, snapshot: ConfigSnapshot, only: Collection[str] | None = None) -> None:
        """Begin a round for every connector whose tasks wait for one; with `only` for those of these connectors."""
        for name in [name for name in self._retries if name not in snapshot.unfenced]:
            del self._retries[name]
        looked = snapshot.unfenced if only is None else snapshot.unfenced & {*only, *self._touched}
        self._touched.clear()
        for name in looked:
            waits = snapshot.target(name) is not TargetState.STOPPED and bool(snapshot.tasks.get(name))
            due_s = self._retries[name][0] if name in self._retries else 0.0
            if waits and name not in self._rounds and due_s <= self._clock_s() and self._is_needed(snapshot, name):
                self._begin(name, _Round(snapshot.applied[name], snapshot.tasks[name]), snapshot)

    def fence(self, name: str, config: Mapping[str, str]) -> Future[None]:
        """Shut out a stopped connector's zombies before its offsets change.

        FailedRequestError: they cannot be shut out.
        """
        done: Future[None] = Future()
        snapshot = self._parts.configs.snapshot
        was = self._rounds.get(name)
        fencing = _Round(config, snapshot.tasks.get(name, {}), [done, *(was.ends if was is not None else ())])
        self._begin(name, fencing, snapshot)
        return done

    def again(self, name: str) -> None:
        """Let the next try of a failed round be due at once, as somebody asked for a restart."""
        self._retries.pop(name, None)
        self._touched.add(name)

    def release(self) -> None:
        """Take note that another worker leads now."""
        for name, fencing in self._rounds.items():
            self._refuse(name, fencing, "Another worker leads now.")
        self._rounds.clear()
        self._retries.clear()

    def _is_needed(self, snapshot: ConfigSnapshot, name: str) -> bool:
        """Return True if tasks wait for a round: those of all workers, or of such that write in transactions."""
        config = snapshot.applied.get(name)
        if config is None or self._parts.catalog.kind(config) != "source":
            return False
        if self._parts.in_transactions(config):
            return True
        if not any(worker.in_transactions for worker in snapshot.workers.values()):
            return False
        return any(self._waits(snapshot, TaskId(name, number)) for number in snapshot.tasks[name])

    def _waits(self, snapshot: ConfigSnapshot, task: TaskId) -> bool:
        """Return True if the worker that has the task does not start it unfenced; see `HerderParts.awaits_fencing`."""
        if self._parts.in_transactions(snapshot.applied[task.connector]):
            return True
        owner = snapshot.workers.get(self._owner(snapshot, task))
        return owner is not None and owner.in_transactions

    def _begin(self, name: str, fencing: _Round, snapshot: ConfigSnapshot) -> None:
        self._rounds[name] = fencing
        count = producers_to_fence(snapshot.fenced_tasks.get(name), len(fencing.tasks))
        if not count:
            self._finish(name, fencing)
            return
        _logger.info("fencing_zombies", extra={"connector": name, "producers": count})
        answer = self._parts.calls.ask("fence", {**fencing.config, "name": name}, FENCE_S, count=count)
        answer.add_done_callback(lambda done: self._answered(name, fencing, done.result()))

    def _answered(self, name: str, fencing: _Round, result: CallResult) -> None:
        if self._rounds.get(name) is not fencing:
            return
        if result.error is not None:
            self._fail(name, fencing, result.error)
        elif self._parts.configs.snapshot.tasks.get(name, {}) != fencing.tasks:
            # Tasks that were published during this round need another round.
            del self._rounds[name]
            self._touched.add(name)
            self._refuse(name, fencing, "The connector was changed meanwhile.")
        else:
            self._finish(name, fencing)

    def _finish(self, name: str, fencing: _Round) -> None:
        del self._rounds[name]
        try:
            self._parts.configs.put(FencingRecord(name, len(fencing.tasks)))
        except (ConnectError, TimeoutError) as error:
            self._refuse(name, fencing, str(error))
            raise
        for waiting in fencing.ends:
            waiting.set_result(None)

    def _fail(self, name: str, fencing: _Round, why: str) -> None:
        del self._rounds[name]
        waits = self._retries[name][1] if name in self._retries else delays_s(RETRY_MAX_S)
        delay_s = next(waits)
        self._retries[name] = (self._clock_s() + delay_s, waits)
        _logger.error("fencing_failed", extra={"connector": name, "error": why, "retry_in_s": round(delay_s, 1)})
        text = (
            f"Failed to shut out the last tasks of exactly-once connector {name}, so that its new ones cannot start; "
            f"this is tried again: {why}"
        )
        failed = self._parts.status(State.FAILED, fencing.config, text)
        snapshot = self._parts.configs.snapshot
        for task in [TaskId(name, number) for number in fencing.tasks if snapshot.has_task(TaskId(name, number))]:
            if self._waits(snapshot, task):
                self._parts.statuses.put_task(task, replace(failed, worker_id=self._owner(snapshot, task)))
        self._refuse(name, fencing, why)

    def _owner(self, snapshot: ConfigSnapshot, task: TaskId) -> str:
        """Return the worker that has to start a task. It would replace a status that has the leader's name."""
        slot = snapshot.placements.get(task)
        owner = None if slot is None else self._parts.membership.view.owners.get(slot)
        return owner or self._parts.worker_id

    def _refuse(self, name: str, fencing: _Round, why: str) -> None:
        for waiting in fencing.ends:
            text = f"Failed to perform zombie fencing for source connector {name} prior to modifying offsets: {why}"
            waiting.set_exception(FailedRequestError(text))
        fencing.ends = []
