"""Runs several workers without a thread, a clock or Kafka: a test says which of them takes which step next.

The herders' parts are the real ones. Each worker reads the topics when it is told to, or when it reads to the end by
itself; a task host answers when it is told to. So every order of events can be had, and the same one again.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from cluster_fakes import WORKER, MemoryLog, MemoryTopic

from connect.cluster.herder.reconcile import HerderDependencies, Reconciler
from connect.cluster.herder.requests import Requests
from connect.cluster.hosts.task_host import CrashReport
from connect.cluster.loop.event_loop import EventLoop
from connect.cluster.loop.membership import NOBODY, View
from connect.cluster.model.config_records import WorkerRecord
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import (
    Call,
    CallResult,
    Figures,
    SetPaused,
    StartTask,
    StopTask,
    TaskBuilt,
    TaskState,
)
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class SteppedLoop(EventLoop):
    """Does its steps when told; `turn` ends with the reconciliation, as the thread of an `EventLoop` does."""

    def __init__(self, reconcile: Callable[[], None], clock: Clock) -> None:
        super().__init__("stepped", reconcile)
        self._reconciles, self._clock = reconcile, clock
        self._waiting: deque[tuple[Callable[[], None], bool]] = deque()
        self._armed: list[tuple[float, int, Callable[[], None], bool]] = []
        self._numbers = itertools.count()

    def start(self) -> None:
        pass

    def post(self, description: str, step: Callable[[], None]) -> None:
        self._waiting.append((step, True))

    def later(self, delay_s: float, description: str, step: Callable[[], None]) -> None:
        heapq.heappush(self._armed, (self._clock() + delay_s, next(self._numbers), step, True))

    def every(self, interval_s: float, description: str, step: Callable[[], None]) -> None:
        def again() -> None:
            heapq.heappush(self._armed, (self._clock() + interval_s, next(self._numbers), again, False))
            step()

        heapq.heappush(self._armed, (self._clock() + interval_s, next(self._numbers), again, False))

    def turn(self, at_most: int) -> bool:
        """Up to so many of the steps that wait, then what follows them; False when there was nothing to do."""
        done, is_due = 0, False
        while done < at_most:
            if self._armed and self._armed[0][0] <= self._clock():
                _, _, step, reconciles = heapq.heappop(self._armed)
            elif self._waiting:
                step, reconciles = self._waiting.popleft()
            else:
                break
            step()
            done, is_due = done + 1, is_due or reconciles
        if is_due:
            self._reconciles()
        return done > 0


class LaggingTopic(MemoryTopic):
    """A topic whose logs read when they are told to."""

    def append(self, key: bytes, value: bytes | None) -> None:
        self.records.append((key, value))

    def log(self, on_record: Callable[..., None]) -> MemoryLog:
        log = MemoryLog(self, on_record)
        self.logs = [*getattr(self, "logs", []), log]
        return log


class SteppedHost:
    """A task host that answers one message whenever it is told to."""

    crash_report = CrashReport({}, "")

    def __init__(self, name: str, listener, cluster: SteppedCluster, worker: str) -> None:
        self.name, self._listener, self._cluster, self._worker = name, listener, cluster, worker
        self.pid = next(cluster.pids)
        self.heard: deque[object] = deque()
        self.runs: dict[TaskId, tuple[int, State]] = {}
        self.gone = False

    def send(self, message: object) -> None:
        if self.gone:
            return
        if isinstance(message, StartTask):
            task = TaskId(message.connector, message.task)
            elsewhere = self._cluster.places(task)
            assert not elsewhere, f"{task} is started on {self._worker} and runs on {elsewhere}"
            self.runs[task] = message.run, State.PAUSED if message.paused else State.RUNNING
        self.heard.append(message)

    def answer(self) -> None:
        message = self.heard.popleft()
        match message:
            case StartTask():
                self._say(TaskBuilt(message.connector, message.task, message.run))
                self._say_state(TaskId(message.connector, message.task), message.run)
            case SetPaused():
                task = TaskId(message.connector, message.task)
                if self._has_run(task, message.run):
                    self.runs[task] = message.run, State.PAUSED if message.paused else State.RUNNING
                    self._say_state(task, message.run)
            case StopTask():
                if self._has_run(TaskId(message.connector, message.task), message.run):
                    del self.runs[TaskId(message.connector, message.task)]
                    self._say(TaskState(message.connector, message.task, message.run, None))
            case Call():
                self._say(CallResult(message.id, self._cluster.plan(message.config)))
            case _:
                pass

    def speak(self) -> None:
        """Give a sign of life."""
        self._say(Figures())

    def fail(self, task: TaskId) -> None:
        """A run fails by itself, with what may pass."""
        run, _ = self.runs.pop(task)
        self._say(TaskState(task.connector, task.task, run, State.FAILED, "Trace: away", retriable=True))

    def kill(self, reason: str) -> None:
        if not self.gone:
            self.gone = True
            self.runs.clear()
            self.heard.clear()
            self._listener.ended(self, reason)

    abort = kill

    def close(self) -> None:
        self.kill("was asked to end")

    def resident_bytes(self) -> int:
        return 0

    def _has_run(self, task: TaskId, run: int) -> bool:
        return task in self.runs and self.runs[task][0] == run

    def _say_state(self, task: TaskId, run: int) -> None:
        if self._has_run(task, run):
            self._say(TaskState(task.connector, task.task, run, self.runs[task][1]))

    def _say(self, message: object) -> None:
        self._listener.said(self, message)


class DealtMembership:
    """A worker's part in the group, dealt by the test."""

    is_out = False
    may_work = True

    def __init__(self, configs, worker_id: str) -> None:
        self._configs, self._worker_id = configs, worker_id
        self.held: frozenset[int] = frozenset()
        self.releasing: frozenset[int] = frozenset()
        self._generation = 0
        self.view = NOBODY
        self._listener = None

    def start(self, url: str, worker_id: str, listener) -> None:
        self._listener = listener

    def config_changed(self) -> None:
        self._renew()

    def close(self, deadline: Deadline) -> None:
        pass

    def hold(self, slots: frozenset[int]) -> None:
        self.held |= slots
        self._configs.put(WorkerRecord(self._worker_id, f"http://{self._worker_id}", sorted(self.held)))
        self._generation = self._configs.claims.next_offset
        self._renew()

    def revoke(self, slots: frozenset[int]) -> None:
        self.held -= slots
        self.releasing = slots
        self._renew()

    def _renew(self) -> None:
        claims = self._configs.claims
        owners = {slot: worker.worker_id for worker in claims.workers.values() for slot in worker.slots}
        urls = {worker.worker_id: worker.url for worker in claims.workers.values() if worker.slots}
        leader = claims.owner(0)
        view = View(self._generation, 0 in self.held, leader.url if leader else None, self.held, owners, urls)
        changed, self.view = view != self.view, view
        if changed and self._listener is not None:
            self._listener.view_changed()


class SteppedWorker:
    """One worker: the herder's parts and a loop that a test turns."""

    def __init__(self, cluster: SteppedCluster, name: str) -> None:
        self.id = f"{name}:1"
        self.hosts: list[SteppedHost] = []
        self._cluster = cluster
        self._first_log = len(cluster.logs())
        self.reconciler = Reconciler(
            cluster.worker_config,
            HerderDependencies(
                config_log=cluster.configs.log,
                status_log=cluster.statuses.log,
                offset_log=cluster.offsets.log,
                group_offsets=lambda config: None,
                membership=self._join,
                catalog=cluster,
                launch=self._launch,
                keep_call_host_s=1e9,
                host_count=2,
                set_log_level=lambda logger, level: None,
                count_slots=lambda: cluster.slots,
                make_loop=self._make_loop,
                clock_s=cluster.clock,
            ),
        )
        self.reconciler.read(Deadline.after(60))
        self.reconciler.start(self.id, f"http://{self.id}")
        self.logs = cluster.logs()[self._first_log :]
        self.requests = Requests(self.reconciler.parts, lambda name, config: None)

    def request(self, call: Callable[[], object]) -> Future[object]:
        return self.reconciler.parts.loop.submit("a request", call)

    def live_hosts(self) -> list[SteppedHost]:
        return [host for host in self.hosts if not host.gone]

    def talking(self) -> list[SteppedHost]:
        return [host for host in self.live_hosts() if host.heard]

    def _make_loop(self, name: str, reconcile: Callable[[], None]) -> SteppedLoop:
        self.loop = SteppedLoop(reconcile, self._cluster.clock)
        return self.loop

    def _join(self, configs) -> DealtMembership:
        self.membership = DealtMembership(configs, self.id)
        return self.membership

    def _launch(self, name: str, listener) -> SteppedHost:
        host = SteppedHost(name, listener, self._cluster, self.id)
        self.hosts.append(host)
        return host


class SteppedCluster:
    """Workers over one set of topics. Stands for the catalogue of plug-ins too."""

    def __init__(self, workers: int, seed: int, **settings: str) -> None:
        self.random = random.Random(seed)
        self.clock = Clock()
        self.slots = 0
        """It is how many slots brokers tell of; 0: they tell nothing."""
        self.pids = itertools.count(100)
        self.worker_config = WorkerConfig.parse({**WORKER, **settings})
        self.configs, self.statuses, self.offsets = LaggingTopic(), LaggingTopic(), LaggingTopic()
        self.workers = [SteppedWorker(self, name) for name in "abcd"[:workers]]
        self._moving: tuple[SteppedWorker, SteppedWorker] | None = None
        self.plan: Callable[[Mapping[str, str]], list[dict[str, str]]] = lambda config: (
            [dict(config)] * int(config.get("tasks.max", "1"))
        )

    def pass_time(self, passed_s: float) -> None:
        """Let time pass; every host speaks meanwhile, as it does each second."""
        self.clock.now_s += passed_s
        for worker in self.workers:
            for host in worker.live_hosts():
                host.speak()

    def logs(self) -> list[MemoryLog]:
        return [log for topic in (self.configs, self.statuses, self.offsets) for log in getattr(topic, "logs", [])]

    def kind(self, config):
        return "source"

    def version(self, config):
        return "1.0"

    def task_class(self, config):
        return "SourceTask"

    def keeps_no_offsets(self, config):
        return False

    def asked_addresses(self, config):
        return ""

    def places(self, task: TaskId) -> list[tuple[str, State]]:
        """Where a task runs, and how."""
        return [
            (worker.id, host.runs[task][1])
            for worker in self.workers
            for host in worker.live_hosts()
            if task in host.runs
        ]
