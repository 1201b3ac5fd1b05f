"""Reports the states of this worker's tasks to the status topic, until the topic holds the true state.

Each time the worker reconciles, it compares the true states with those that it reported and those in the topic. So no
order of events can leave a status in which this worker seems to hold a task that nobody runs: the leader would wait for
that task for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from connect.cluster.loop.herder_parts import HerderParts
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.statuses import Status
from connect.runtime.task.condition import Condition, held_up
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

SAY_AGAIN_S: Final = 5.0
"""A status that was not read back after this time is written again."""
_AT_WORK: Final = (State.RUNNING, State.PAUSED)
_AWAITS_FENCING: Final = "The task starts when the producers of its former configuration are shut out."


class TaskStatuses:
    """Tells the states of this worker's tasks. Owned by the herder's thread."""

    def __init__(self, parts: HerderParts, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._clock_s = clock_s
        self._said: dict[TaskId, Status] = {}
        self._said_s: dict[TaskId, float] = {}

    def say(
        self,
        task: TaskId,
        state: State,
        config: Mapping[str, str],
        trace: str | None = None,
        condition: Condition | None = None,
    ) -> None:
        """Report the state of a task; `config` is its connector's."""
        status = self._parts.status(state, config, trace, condition)
        self._said[task] = status
        self._put(task, status)

    def await_fencing(self, task: TaskId, config: Mapping[str, str]) -> None:
        """Tell that a task waits until others are shut out. From then on the leader tells what comes of that."""
        said = self._said.get(task)
        if said is None:
            return
        seen = self._parts.statuses.seen_of(self._parts.worker_id, {task: said}, (task.connector,))
        if said.state in _AT_WORK and not seen.overruled:
            self.say(task, State.RESTARTING, config, condition=held_up(_AWAITS_FENCING, "kafka"))
        del self._said[task]
        del self._said_s[task]

    def reconcile(
        self,
        snapshot: ConfigSnapshot,
        assigned: Collection[TaskId],
        running: Collection[TaskId],
        only: Collection[str] | None = None,
    ) -> None:
        """Report tasks that this worker has let go of, and write again each status that the topic does not hold.

        `assigned` are the tasks that have to run here. `running` are those with a run here, even one that has ended.
        `only` are the connectors whose tasks are looked at; None: all.
        """
        said = {task: status for task, status in self._said.items() if only is None or task.connector in only}
        for task in [task for task in said if not snapshot.has_task(task)]:
            # Only the leader removes statuses of tasks that no longer exist; otherwise the order of records is lost.
            for known in (said, self._said, self._said_s):
                del known[task]
        # Tasks of other workers, which are most of them in a large cluster, are not looked at one by one.
        held, overruled = self._parts.statuses.seen_of(self._parts.worker_id, said, only)
        for task in [task for task in {**held, **said} if task not in assigned and task not in running]:
            if snapshot.has_task(task):
                self._release(task, is_held=task in held, config=snapshot.connectors.get(task.connector, {}))
        for task in overruled:
            # What waits until others are shut out is told by the leader, also while the run before it is stopping.
            if (task in assigned or task in running) and not self._parts.awaits_fencing(snapshot, task.connector):
                self._say_again(task, self._said[task])

    def _release(self, task: TaskId, *, is_held: bool, config: Mapping[str, str]) -> None:
        said = self._said.get(task)
        if said is not None and said.state is not State.UNASSIGNED:
            self.say(task, State.UNASSIGNED, config)
        elif is_held:
            # This worker wrote it before it was restarted, or its later report was not written.
            self._say_again(task, self._parts.status(State.UNASSIGNED, config))

    def _say_again(self, task: TaskId, status: Status) -> None:
        if self._clock_s() - self._said_s.get(task, float("-inf")) >= SAY_AGAIN_S:
            self._put(task, status)

    def _put(self, task: TaskId, status: Status) -> None:
        self._said_s[task] = self._clock_s()
        self._parts.statuses.put_task(task, status)
