"""Tells REST of this worker: if it is up, what it does, and what it knows of Kafka and of the other workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from connect.cluster.herder.reconcile import Reconciler
from connect.cluster.herder.requests import Requests
from connect.cluster.leader.group_membership import LEADER_SLOT
from connect.cluster.loop.membership import View
from connect.cluster.model.statuses import OverdueTask, Stage


class HerderWorkerState:
    """It answers what `WorkerState` asks. Any thread may ask it."""

    def __init__(self, reconciler: Reconciler, requests: Requests) -> None:
        self._reconciler = reconciler
        self._parts = reconciler.parts
        self._requests = requests
        self.caught_up = threading.Event()
        """It is set while the worker follows its internal topics."""
        self.has_waited = False
        """It is true once the worker has waited for the group, whether or not it is in it."""
        self._expects_work = False
        self.cluster_id = ""
        self._start_epoch_s = time.time()

    @property
    def kafka_cluster_id(self) -> str:
        """Return the id of the Kafka cluster; empty before the first contact."""
        return self.cluster_id

    @property
    def session_key(self) -> str:
        """Return the key that only workers of the cluster know; empty while there is none."""
        record = self._parts.configs.snapshot.session_key
        return record.key if record is not None else ""

    @property
    def stage(self) -> Stage:
        """Return the step that the herder's thread is at, or was at last."""
        return self._parts.loop.stage

    @property
    def started(self) -> bool:
        """Tell if the worker has read its topics, has joined the group or waited for that, and takes requests."""
        return self.caught_up.is_set() and (self._reconciler.has_joined or self.has_waited)

    @property
    def is_ready(self) -> bool:
        """Return True while the worker has read its topics and has a place in the group that Kafka knows of."""
        return self.caught_up.is_set() and self._reconciler.has_joined and not (self.is_out or self.is_cut_off)

    @property
    def is_out(self) -> bool:
        """Return True when the worker has lost its place in the group, and with it its tasks."""
        return self._parts.membership.is_out

    @property
    def is_cut_off(self) -> bool:
        """Return True when Kafka does not hear this worker, so that its tasks have ended; see `kafka_trouble`."""
        return not self._parts.membership.may_work

    @property
    def kafka_trouble(self) -> str | None:
        """Return why the brokers were last not reached; None if they are reached, as far as is known."""
        return self._parts.membership.trouble

    @property
    def overdue_tasks(self) -> Sequence[OverdueTask]:
        """Return the tasks that should run and have not run for `task.overdue.ms`."""
        return self._reconciler.overdue.found

    @property
    def leader(self) -> str:
        """Return the worker that leads, as `host:port`; empty while none is known."""
        return self.view.owners.get(LEADER_SLOT, "")

    def figures(self) -> Mapping[str, float]:
        """Return this worker's own figures, by their names."""
        return {
            "start_epoch_s": self._start_epoch_s,
            "leads": float(self.view.leads),
            "cut_off": float(self.is_cut_off),
            "overdue_tasks": float(len(self.overdue_tasks)),
            "epoch": float(self.view.generation),
            **self._parts.membership.figures(),
            **dict(self._reconciler.connectors.starts.figures("connector")),
            **dict(self._reconciler.tasks.starts.figures("task")),
        }

    def require_leader(self) -> None:
        """Raise NotLeaderError if this worker, as far as it knows, does not lead."""
        self._requests.require_leader()

    @property
    def view(self) -> View:
        """Return the group of workers as this worker sees it."""
        return self._parts.membership.view

    def expect_work(self) -> None:
        """Start hosts before they are needed, as a request has come that may need them. Returns at once."""
        if not self._expects_work:
            self._expects_work = True
            self._parts.loop.post("making task hosts ready", self._reconciler.expect_work)

    def ping(self) -> Future[None]:
        """Return a future that is done when the herder thread gets to it."""
        return self._parts.loop.submit("answering a health check", lambda: None)

    def catch_up(self) -> Future[None]:
        """Return a future that is done when the config topic is read to its end."""
        return self._parts.loop.submit("reading what the leader wrote", self._catch_up)

    def _catch_up(self) -> None:
        self._parts.configs.refresh()

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        """Set a log level on every worker that is up."""
        step = partial(self._requests.set_log_level, logger, level)
        return self._parts.loop.submit("writing a log level for all workers", step)
