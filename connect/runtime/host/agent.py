"""Runs an agent: the one task of a plug-in that has to run beside its database, without a worker.

It is a source task like a worker's, with converters, transforms and delivery; its offsets are in the worker's offsets
topic, under the agent's name. It starts again on its own after a failure that may go away.
"""

from __future__ import annotations

import gc
import logging
import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.plugin import Plugin, PluginKind
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.backoff import delays_s
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.host.agent_metrics import AgentFigures
from connect.runtime.host.task_run import TaskRun
from connect.runtime.parts.clients import Clients
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.offset_topics import workers_topic
from connect.runtime.task.condition import Condition
from connect.runtime.task.messages import AsksToWrite, MayWrite, StartTask, TaskCondition, TaskState, ToWorker
from connect.runtime.task.state import State

log = logging.getLogger(__name__)

RESTART_DELAY_MAX_S: Final = 60.0
GOOD_RUN_S: Final = 60.0
"""A run that lasted so many seconds was good: the next failure counts as the first one again."""
FIGURES_S: Final = 60.0
STOP_S: Final = 20.0
_TOPIC_S: Final = 15.0
COLLECT_OBJECTS: Final = 100_000


def agent_plugin(catalog: Catalog, name: str) -> Plugin:
    """Return the agent plug-in of this name. Raise ConfigError when there is none."""
    plugin = catalog.find(name, PluginKind.AGENT)
    if plugin is None:
        names = sorted(alias for p in catalog.plugins(PluginKind.AGENT) for alias in (p.name, *p.aliases))
        raise ConfigError(f"There is no agent {name}.", fix=f"There are: {', '.join(names) or 'none'}.")
    return plugin


def look_for_cycles_rarely() -> None:
    """Make Python's garbage collector run rarely.

    The process makes an object of each small part of what it reads, and none of them is part of a cycle. The collector
    would search all of them again and again, for a third of the process' time.
    """
    gc.freeze()
    gc.set_threshold(COLLECT_OBJECTS)


class Agent:
    """Keeps an agent at work until `stop`. `run` and `stop` may be called from different threads."""

    def __init__(self, plugin: Plugin, worker: WorkerConfig, catalog: Catalog, config: Mapping[str, str]) -> None:
        """Check `config`, which has `name`. Raise ConfigError that names every broken key."""
        self._config = {**config, "connector.class": plugin.name}
        # Whoever runs the agent wrote its file, so it may reach all that this person may reach.
        worker = worker.changed(EVERYWHERE)
        plugin.config.parse(plugin.config.with_leave(self._config, worker.originals))
        self._worker = worker
        # The task sees a source plug-in. Workers do not list it, as the catalog has it as an agent.
        sources = (replace(p, kind=PluginKind.SOURCE) if p is plugin else p for p in catalog.plugins())
        self._clients = Clients(worker, Catalog(sources))
        self._events: queue.SimpleQueue[TaskState | None] = queue.SimpleQueue()
        self._stopping = False
        self._state = "restarting"
        self._condition: Condition | None = None
        self._figures: Callable[[], Mapping[str, float]] = dict

    def now(self) -> AgentFigures:
        """Return the present state and figures. Any thread may ask."""
        held_up = {"held_up": float(self._condition is not None)}
        return AgentFigures(self._config["name"], self._state, {**self._figures(), **held_up})

    def stop(self) -> None:
        """Ask the agent to end."""
        self._stopping = True
        self._events.put(None)

    def run(self) -> bool:
        """Run the task until `stop`, anew after failures that may pass. Return False if another failure ends it."""
        delays = delays_s(RESTART_DELAY_MAX_S)
        number = 0
        while not self._stopping:
            started_s = time.monotonic()
            failure = self._run_once(number)
            if failure is None:
                self._state = "stopped"
                return True
            self._state = "restarting" if failure.retriable else "failed"
            if not failure.retriable:
                log.error("The agent ends: %s", failure.trace)
                return False
            if time.monotonic() - started_s >= GOOD_RUN_S:
                delays = delays_s(RESTART_DELAY_MAX_S)
            delay_s = next(delays)
            log.error("The agent starts again in %.1f s: %s", delay_s, failure.trace)
            self._wait(delay_s)
            number += 1
        return True

    def close(self) -> None:
        """Close the Kafka clients."""
        self._clients.close()

    def _run_once(self, number: int) -> TaskState | None:
        name = self._config["name"]
        try:
            self._ensure_offsets_topic()
        except ConnectError as error:
            retriable = isinstance(error, RetriableError)
            return TaskState(name, 0, number, State.FAILED, str(error), retriable)

        def take(message: ToWorker) -> None:
            match message:
                case TaskState():
                    self._events.put(message)
                case AsksToWrite():
                    # The transactional id is made of the agent's name alone: a former agent of this name is fenced.
                    run.may_write(MayWrite(name, 0, number))
                case TaskCondition():
                    self._say(message.condition)

        run = TaskRun(StartTask(name, 0, number, "source", self._config, self._config), self._clients, take)
        self._figures = run.figures.snapshot
        run.start()
        while True:
            event = self._next(FIGURES_S)
            if event is not None and event.state is State.RUNNING:
                self._state = "running"
            if event is not None and event.state in {State.FAILED, None}:
                return event if event.state is State.FAILED else None
            if self._stopping:
                run.stop()
                self._stopped(run)
                return None
            log.info("The agent's figures: %s", run.figures.snapshot())

    def _stopped(self, run: TaskRun) -> None:
        deadline = Deadline.after(STOP_S)
        while run.alive and not deadline.expired:
            self._next(min(1.0, deadline.remaining_s))
        if run.alive:
            log.warning(
                "The task did not end within %g s; what it had in flight is sent again by the next run.", STOP_S
            )

    def _say(self, condition: Condition | None) -> None:
        """Log why rows do not move. The loop itself logs what it tries again."""
        before, self._condition = self._condition, condition
        is_new = condition is not None and (before is None or before.reason != condition.reason)
        if condition is not None and is_new and condition.retrying_since_ms is None:
            log.warning("The agent is held up: %s", condition.reason)

    def _next(self, timeout_s: float) -> TaskState | None:
        try:
            return self._events.get(timeout=max(0.001, timeout_s))
        except queue.Empty:
            return None

    def _wait(self, delay_s: float) -> None:
        deadline = Deadline.after(delay_s)
        while not self._stopping and not deadline.expired:
            self._next(deadline.remaining_s)

    def _ensure_offsets_topic(self) -> None:
        settings = admin_settings(self._worker.originals, {}, f"connect-agent-{self._config['name']}")
        topic = workers_topic(self._worker)
        make = self._worker.internal_topics_automatic_creation_enable
        TopicAdmin(settings.properties).ensure_internal([topic], Deadline.after(_TOPIC_S), make=make)
