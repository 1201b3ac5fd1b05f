"""The herder's thread hears of configurations, the group and runs, and reconciles connectors and tasks after each word.

It never runs connector code and waits for nothing but Kafka; the decisions are in `plan`, `restarts`, `auto_restart`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from connect.cluster.herder.changed_connectors import ChangedConnectors
from connect.cluster.herder.periodic_reconcile import PeriodicReconcile
from connect.cluster.herder.task_runs import TaskRuns
from connect.cluster.hosts.host_pool import HostLimits, Launch
from connect.cluster.hosts.host_watch import MIB, TICK_S
from connect.cluster.hosts.supervisor import KILL_GRACE_S, Supervisor
from connect.cluster.leader.connector_runs import ConnectorRuns
from connect.cluster.leader.fencing import Fencing
from connect.cluster.leader.missing_slots import CountSlots, MissingSlots
from connect.cluster.leader.overdue_tasks import OverdueTasks
from connect.cluster.leader.present_workers import PresentWorkers
from connect.cluster.leader.resealing import reseal
from connect.cluster.leader.task_placement import TaskPlacer
from connect.cluster.loop.call_host import CallHostSettings, memory_limit
from connect.cluster.loop.connector_calls import ConnectorCalls
from connect.cluster.loop.event_loop import EventLoop
from connect.cluster.loop.herder_parts import ConnectorCatalog, HerderParts, Limits
from connect.cluster.loop.membership import NOBODY, Membership, View
from connect.cluster.loop.stopping_tasks import StoppingTasks
from connect.cluster.model.auto_restart import RestartPolicy
from connect.cluster.model.config_history import orphans
from connect.cluster.model.config_records import LoggerRecord, RestartRecord
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.restarts import selected_tasks, selects_connector, wider
from connect.cluster.offsets.sink_groups import GroupOffsets
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.record_log import MakeLog
from connect.cluster.store.record_seals import RecordSeals
from connect.cluster.store.session_key import needs_rotation, new_session_key
from connect.cluster.store.status_store import StatusStore
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.exactly_once import fences_leader, transaction_rule
from connect.runtime.task.messages import AsksToWrite, TaskBuilt, TaskCondition, TaskState, TopicsUsed
from connect.runtime.task.task_id import TaskId

LOOK_S: Final = 1.0
"""The herder asks `PeriodicReconcile` in this interval if everything has to be reconciled although nothing was told."""
PLAN_TASKS_TIMEOUT_S: Final = 60.0
_REQUEST_MAX_BYTES: Final = 1_048_576
_ROOM_BYTES: Final = 4096
"""The record of a task or of a version may hold this many bytes beside the configuration itself."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HerderDependencies:
    """Holds what a herder needs of the outside world, as the app or a test provides it."""

    config_log: MakeLog
    status_log: MakeLog
    offset_log: MakeLog
    group_offsets: Callable[[Mapping[str, str]], GroupOffsets]
    membership: Callable[[ConfigStore], Membership]
    catalog: ConnectorCatalog
    launch: Launch
    keep_call_host_s: float
    host_count: int
    set_log_level: Callable[[str, str], None]
    count_slots: CountSlots
    make_loop: Callable[[str, Callable[[], None]], EventLoop] = EventLoop
    clock_s: Callable[[], float] = time.monotonic


class Reconciler:
    """Implements ConfigListener, MembershipListener and RunListener over the parts it builds.

    What others tell arrives on their threads and is posted; all else happens on the loop's thread.
    """

    def __init__(self, worker: WorkerConfig, around: HerderDependencies) -> None:
        self._around = around
        self._pending_restarts: dict[str, RestartRecord] = {}
        self._releases: list[threading.Event] = []
        self._leaving = threading.Event()
        self._joined = threading.Event()
        self._led = False
        self._expects_work = False
        self._session_key_ttl_ms = worker.inter_worker_key_ttl_ms
        self.parts = self._build(worker)
        self._changed = ChangedConnectors(self.parts.configs, self.parts.statuses)
        self.connectors = ConnectorRuns(self.parts)
        self.tasks = TaskRuns(self.parts, tracks_topics=worker.topic_tracking_enable, clock_s=around.clock_s)
        self.fencing = Fencing(self.parts)
        self.overdue = OverdueTasks(self.parts, worker.task_overdue_ms / 1000, around.clock_s)
        self._missing = MissingSlots(self.parts.configs, around.count_slots)
        self._placer = TaskPlacer(self.parts.configs, self.parts.statuses, around.clock_s)
        self._present = PresentWorkers(self.parts.statuses, around.clock_s)
        self._looks = PeriodicReconcile(self.parts, around.clock_s, self._changed.forget)

    def _build(self, worker: WorkerConfig) -> HerderParts:
        around = self._around
        loop = around.make_loop("herder", self._reconcile)
        seals = RecordSeals.of(worker)
        configs = ConfigStore(around.config_log, self, fenced=fences_leader(worker), seals=seals)
        memory_bytes = worker.task_host_memory_limit_mb * MIB
        limits = HostLimits(around.host_count, memory_bytes, worker.metrics_sample_window_s)
        stop_s = worker.task_shutdown_graceful_timeout_ms / 1000
        keep_s, most = around.keep_call_host_s, memory_limit(worker)
        asking = CallHostSettings(around.launch, loop.post, keep_s, most, around.clock_s)
        membership = around.membership(configs)
        return HerderParts(
            loop=loop,
            configs=configs,
            statuses=StatusStore(around.status_log),
            membership=membership,
            supervisor=Supervisor(around.launch, limits, loop.post, self, around.clock_s),
            calls=ConnectorCalls("call-host", asking),
            cleanup_calls=ConnectorCalls("cleanup-host", asking),
            catalog=around.catalog,
            limits=Limits(stop_s, PLAN_TASKS_TIMEOUT_S, RestartPolicy.of(worker), config_max_bytes(worker)),
            stopping=StoppingTasks(membership, stop_s + 2 * KILL_GRACE_S),
            in_transactions=transaction_rule(worker),
        )

    @property
    def has_joined(self) -> bool:
        """Return True if this worker is in the group and has its slots."""
        return self._joined.is_set()

    def read(self, deadline: Deadline) -> None:
        """Read the internal topics to their ends. Raise the logs' errors; after one it may be called again."""
        with ThreadPoolExecutor(1, thread_name_prefix="statuses") as beside:
            reading = beside.submit(self.parts.statuses.start, deadline)
            self.parts.configs.start(deadline)
            reading.result()

    def start(self, worker_id: str, url: str) -> None:
        """Join the group and begin to work; `read` must have read the topics before."""
        self.parts.worker_id = worker_id
        self.parts.loop.every(TICK_S, "looking after task hosts", self._tick)
        self.parts.loop.every(LOOK_S, "looking again", self._looks.look)
        self.parts.loop.start()
        self.parts.membership.start(url, worker_id, self)

    def wait_until_joined(self, deadline: Deadline) -> bool:
        """Wait until this worker has joined; return False if the deadline comes first."""
        while not self._joined.is_set() and not deadline.expired:
            self._joined.wait(min(TICK_S, deadline.remaining_s))
        return self._joined.is_set()

    def stop(self, deadline: Deadline) -> None:
        """Stop all tasks, report that, and leave the group."""
        self.parts.loop.submit("reporting connectors unassigned", self.connectors.report_unassigned)
        self._leaving.set()
        # This is longer than a task may take to stop: after that its host is killed, and the kill is reported, too.
        self.release(frozenset(), deadline.sooner(self.parts.limits.stop_s + 2 * KILL_GRACE_S))
        self.parts.membership.close(deadline)
        self.parts.supervisor.kill_all("was killed: the worker ended and the task had not stopped in time")
        ended = self.parts.loop.stop(deadline.remaining_s)
        for calls in (self.parts.calls, self.parts.cleanup_calls):
            calls.kill("was killed: the worker ended")
            if ended:
                # A caller that waits for an answer would keep the process from its end.
                calls.give_up()

    # --- what others tell, on their threads ---

    def config_changed(self) -> None:
        """See ConfigListener."""
        self.parts.membership.config_changed()
        self.parts.loop.post("taking in a configuration change", _noted)

    def restart_requested(self, request: RestartRecord) -> None:
        """See ConfigListener."""

        def note() -> None:
            self._pending_restarts[request.name] = wider(self._pending_restarts.get(request.name), request)

        self.parts.loop.post("taking in a restart request", note)

    def log_level_requested(self, request: LoggerRecord) -> None:
        """See ConfigListener."""
        self._around.set_log_level(request.logger, request.level)

    def view_changed(self) -> None:
        """See MembershipListener."""
        if self.parts.membership.view.generation:
            self._joined.set()
        self.parts.loop.post("taking in a change of the group", _noted)

    def release(self, slots: frozenset[int], deadline: Deadline) -> None:
        """See MembershipListener."""
        released = threading.Event()
        self.parts.loop.post(f"releasing {len(slots)} slots", partial(self._releases.append, released))
        if not released.wait(deadline.remaining_s):
            # The herder waits for Kafka, or a host does not die: others may start these tasks as soon as this returns.
            self.parts.supervisor.kill_all("was killed: its slots go to another worker and it had not stopped in time")

    def lost(self) -> None:
        """See MembershipListener."""
        self.parts.supervisor.kill_all("was killed: this worker was put out of the group")
        self.parts.loop.post("leaving all tasks to others", _noted)

    # --- on the herder's thread ---

    def expect_work(self) -> None:
        """Start the hosts for questions and tasks at the first sign that there will be some."""
        if not self._expects_work:
            self._expects_work = True
            self.parts.calls.make_ready()

    def run_changed(self, change: TaskState) -> None:
        """See RunListener."""
        self.tasks.run_changed(change)

    def run_built(self, built: TaskBuilt) -> None:
        """See RunListener."""
        self.tasks.run_built(built)

    def run_condition(self, change: TaskCondition) -> None:
        """Take note that something holds a run up, or that nothing does any more."""
        self.tasks.run_condition(change)

    def topics_used(self, used: TopicsUsed) -> None:
        """See RunListener."""
        self.tasks.topics_used(used)

    def asks_to_write(self, asking: AsksToWrite) -> None:
        """See RunListener."""
        self.tasks.asks_to_write(asking)

    def _tick(self) -> None:
        self.parts.supervisor.watch.tick()
        self.parts.calls.tick()
        self.parts.cleanup_calls.tick()

    def _reconcile(self) -> None:
        snapshot = self.parts.configs.snapshot
        if snapshot.connectors and not self._leaving.is_set():
            self.expect_work()
        view = NOBODY if self._leaving.is_set() else self.parts.membership.view
        own = view
        if not self.parts.membership.may_work:
            # Kafka has not heard this worker for too long. It would have to end at once what it starts, and others may
            # lead: it must write nothing by what it knew before.
            view, own = replace(view, leads=False), NOBODY
        only = self._changed.begin(snapshot, (view, own, self.parts.configs.lost_claim, bool(self._releases)))
        self._looks.looked(at_all=only is None)
        self.parts.supervisor.pool.keep_ready(self._expects_work and own.slots != frozenset())
        try:
            self._carry_out_restarts(view)
            if only is None:
                self.overdue.reconcile(snapshot, view)
            if view.leads:
                snapshot = self._lead(snapshot, view, only)
            else:
                self._follow()
        finally:
            # The own tasks do not wait until a leader can write again, or statuses can be read.
            self._look_after_tasks(snapshot, own, only)
        self._changed.end()

    def _look_after_tasks(self, snapshot: ConfigSnapshot, own: View, only: Collection[str] | None) -> None:
        self.tasks.reconcile(snapshot, own, only)
        if self._releases and self.tasks.has_released():
            for released in self._releases:
                released.set()
            self._releases.clear()

    def _follow(self) -> None:
        if self._led:
            # Who leads next is not known yet: until it claims, the view names this worker.
            _logger.info("leadership_lost")
        self._led = False
        self.parts.stopping.follows()
        self._present.forget()
        self.parts.configs.disclaim()
        self.connectors.release()
        self.fencing.release()

    def _lead(self, snapshot: ConfigSnapshot, view: View, only: Collection[str] | None) -> ConfigSnapshot:
        if not self._led or self.parts.configs.lost_claim:
            # The leader before this one may have written a moment ago, or another worker leads already.
            snapshot = self.parts.configs.refresh()
            if not self.parts.membership.view.leads:
                return snapshot
            self.parts.configs.claim()
            self._placer.forget(snapshot)
            self._missing.clear()
            gone = orphans(snapshot, self.parts.configs.closed)
            if gone:
                self.parts.configs.put(*gone)
            reseal(self.parts.configs, self.parts.limits.config_max_bytes)
            self._led = True
            self.parts.stopping.led()
            _logger.info("leadership_taken", extra={"workers": sorted(view.urls)})
        self._present.reconcile(snapshot, frozenset(view.urls))
        if needs_rotation(snapshot.session_key, time.time_ns() // 1_000_000, self._session_key_ttl_ms):
            self.parts.configs.put(new_session_key(time.time_ns() // 1_000_000))
        self.parts.statuses.put_rebalance(view.generation, self.parts.worker_id, view.urls)
        self.connectors.reconcile(snapshot, only)
        self.fencing.reconcile(self.parts.configs.snapshot, only)
        overdue = {found.task for found in self.overdue.found}
        self._missing.reconcile(overdue)
        # The view is asked for again, as slots that are missing have no owner any more.
        self._placer.reconcile(self.parts.configs.snapshot, self.parts.membership.view, overdue, only)
        return self.parts.configs.snapshot

    def _carry_out_restarts(self, view: View) -> None:
        if not self._pending_restarts:
            return
        statuses = self.parts.statuses
        statuses.refresh()
        requests, self._pending_restarts = self._pending_restarts, {}
        for name, request in requests.items():
            state = statuses.connector(name)
            self.fencing.again(name)
            if view.leads and selects_connector(request, state.state if state else None):
                self.connectors.restart(name)
            tasks = (TaskId(name, number) for number in selected_tasks(request, statuses.tasks(name)))
            self.tasks.restart(list(tasks))


def _noted() -> None:
    """Do nothing: this is a step whose point is the reconciling after it."""


def config_max_bytes(worker: WorkerConfig) -> int:
    """Return the size in bytes of the largest configuration whose records the worker's producer can write."""
    given = worker.originals.get("producer.max.request.size", "")
    return (int(given) if given.isdigit() else _REQUEST_MAX_BYTES) - _ROOM_BYTES
