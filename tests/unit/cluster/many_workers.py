"""A leader, and many workers that are records alone: what each would have written into the topics, written for it.

The leader's parts are the real ones, and its CPU is counted. A worker of paper holds slots, says of each task that is
placed there that it runs, and lets go of one that is taken away, in the order in which a real one does.
"""

from __future__ import annotations

import time

from stepped_cluster import SteppedCluster

from connect.cluster.model.config_records import WorkerRecord
from connect.cluster.model.config_records import encode as encoded_config
from connect.cluster.model.status_records import TaskStatusRecord
from connect.cluster.model.status_records import encode as encoded_status
from connect.cluster.model.statuses import Status
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

SLOTS_EACH = 5
ENOUGH = 100_000


class ManyWorkers:
    """A cluster of one real worker, which leads, and of paper workers beside it."""

    def __init__(self, workers: int) -> None:
        slots = workers * SLOTS_EACH
        self.cluster = SteppedCluster(1, 0, slots=str(slots))
        (self.leader,) = self.cluster.workers
        self.leader_cpu_s = 0.0
        self.owners: dict[str, str] = {}
        self.running: dict[TaskId, str] = {}
        """What runs on workers of paper, and on which."""
        self.most_at_once = 0
        self.slots_of = {f"paper-{n}:1": set(range(n * SLOTS_EACH, (n + 1) * SLOTS_EACH)) for n in range(1, workers)}
        for worker in self.slots_of:
            self._claim(worker)
        self.leader.membership.hold(frozenset(range(SLOTS_EACH)))

    @property
    def snapshot(self):
        """What the leader has read."""
        return self.leader.reconciler.parts.configs.snapshot

    def create(self, connectors: int, tasks: int) -> None:
        """Let the leader make them all."""
        config = {"connector.class": "Source", "tasks.max": str(tasks)}

        def make(name):
            return lambda: self.leader.requests.create(name, config, None, "test")

        made = [self.leader.request(make(f"c{number}")) for number in range(connectors)]
        self._counted(lambda: self.leader.loop.turn(ENOUGH))
        for one in made:
            one.result(0)

    def lose(self, worker: str) -> None:
        """End a paper worker: the group gives its slots to others, one each."""
        freed = self.slots_of.pop(worker)
        self.running = {task: place for task, place in self.running.items() if place != worker}
        for slot, taking in zip(
            sorted(freed), sorted(self.slots_of, key=lambda name: len(self.slots_of[name])), strict=False
        ):
            self.slots_of[taking].add(slot)
            self._claim(taking)

    def settle(self, turns: int) -> int:
        """Let a second pass again and again until nothing is written any more; return the seconds."""
        for second in range(turns):
            before = self._written()
            self._turn()
            if second > 5 and before == self._written():
                return second
        raise AssertionError(f"The cluster did not come to rest in {turns} s.")

    def _turn(self) -> None:
        self.cluster.pass_time(1.0)
        self._counted(self._lead)
        for host in self.leader.talking():
            while host.heard:
                host.answer()
        self._counted(self._lead)
        self._work_on_paper()

    def _lead(self) -> None:
        for log in self.leader.logs:
            log.catch_up()
        self.leader.loop.turn(ENOUGH)

    def _work_on_paper(self) -> None:
        owner_of = {slot: worker for worker, slots in self.slots_of.items() for slot in slots}
        placed = {task: owner_of.get(slot) for task, slot in self.snapshot.placements.items()}
        for task, place in list(self.running.items()):
            if placed.get(task) != place:
                del self.running[task]
                self._say(task, State.UNASSIGNED, place)
        for task, place in placed.items():
            if place is not None and task not in self.running:
                assert not self.cluster.places(task), f"{task} is started on {place}, and the leader still runs it"
                self.running[task] = place
                self._say(task, State.RUNNING, place)

    def _say(self, task: TaskId, state: State, worker: str) -> None:
        self.cluster.statuses.append(*encoded_status(TaskStatusRecord(task, Status(state, worker))))

    def _claim(self, worker: str) -> None:
        record = WorkerRecord(worker, f"http://{worker}", sorted(self.slots_of[worker]))
        self.cluster.configs.append(*encoded_config(record))

    def _written(self) -> tuple[int, int]:
        return len(self.cluster.configs.records), len(self.cluster.statuses.records)

    def _counted(self, work) -> None:
        began_s = time.process_time()
        work()
        self.leader_cpu_s += time.process_time() - began_s
