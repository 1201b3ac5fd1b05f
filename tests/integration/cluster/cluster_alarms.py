"""Counts what a cluster at rest must not do: take a worker for gone, lose a session, move or stop a task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cluster_worker import WorkerProcess

ALARMS: Mapping[str, str] = {
    "worker_lost": "workers taken for gone by the leader",
    "worker_gone": "workers taken for gone by their members",
    "worker_frozen": "workers taken for frozen by their members",
    "group_left_for_worker": "workers taken out of the group by their members",
    "worker_joined": "workers that came back",
    "out_of_the_group": "sessions lost",
    "slots_claimed_by_others": "workers whose slots others claimed",
    "group_not_joined": "workers that were in no group",
    "group_not_reached": "workers that did not reach their group",
    "slots_claimed": "claims of slots",
    "leadership_taken": "epochs of the leader",
    "leadership_lost": "leaders that stopped to lead",
    "tasks_moving": "placements of tasks that ran",
    "tasks_taken_over": "placements of a lost worker's tasks",
    "task_host_silent": "task hosts taken for silent",
    "task_host_lease_over": "task hosts that ended with the lease",
    "task_host_died": "task hosts that died",
    "task_host_killed": "task hosts killed",
    "fork_server_died": "fork servers lost",
    "task_failed": "tasks failed",
}
"""Maps each line of a worker's log that tells of an alarm to what it is called here."""
_LINE = re.compile(rb"^\S+Z \[(\w+) *\] (.+?) +\[", re.MULTILINE)
"""A line of the log has a time, a level, an event and the logger's name."""
LEFT, MOVED, REBALANCED = "tasks that left RUNNING", "tasks placed elsewhere", "rebalances"


class AlarmCount:
    """Counts the alarms of workers from its making on. The connectors have to run by then."""

    def __init__(self, workers: Sequence[WorkerProcess], connectors: Sequence[str]) -> None:
        self._workers = workers
        self._connectors = connectors
        self._read = [worker.log.stat().st_size for worker in workers]
        first = workers[0]
        self._places = {name: first.task_workers(name) for name in connectors}
        histories = {name: first.get(f"/connectors/{name}/history") for name in connectors}
        self._states = {name: history["states"][-1]["changed_ms"] for name, history in histories.items()}
        self._rebalances = histories[connectors[0]]["rebalances"]

    def alarms(self) -> Counter[str]:
        """Return how many alarms of each kind there were; the kinds without any are left out."""
        told = Counter(ALARMS[event] for _, event in self._lines() if event in ALARMS)
        asked = next(worker for worker in self._workers if worker.process.poll() is None)
        for name in self._connectors:
            history = asked.get(f"/connectors/{name}/history")
            told[LEFT] += sum(change["changed_ms"] > self._states[name] for change in history["states"])
            places = zip(asked.task_workers(name), self._places[name], strict=True)
            told[MOVED] += sum(now[0] != then[0] for now, then in places)
        rebalances = asked.get(f"/connectors/{self._connectors[0]}/history")["rebalances"]
        told[REBALANCED] += sum(one not in self._rebalances for one in rebalances)
        return +told

    def others(self) -> Counter[str]:
        """Return what else was logged as a warning or worse."""
        grave = (event for level, event in self._lines() if level in {"warning", "error", "critical"})
        return Counter(event for event in grave if event not in ALARMS)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield level and event of each line."""
        for worker, read in zip(self._workers, self._read, strict=True):
            for level, event in _LINE.findall(worker.log.read_bytes()[read:]):
                yield level.decode(), event.decode()
