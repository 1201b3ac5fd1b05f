"""Finds out which tasks a configuration would lead to and which topics are missing, without storing it.

Only topics that the configuration names are known. A name that a connector forms while it runs (such as a prefix and a
table) is not known before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Protocol

from connect.cluster.loop.herder_parts import with_placeholders
from connect.cluster.model.connector_values import TaskPlan
from connect.cluster.model.request_errors import BadRequestError
from connect.cluster.offsets.sink_groups import SinkGroup
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import CallResult

_TOPICS: Final = ("topic", "topics", "errors.deadletterqueue.topic.name", "offsets.storage.topic")
_AT_ONCE: Final = 256
"""REST has as many connections. So a connector that takes long to plan keeps no other dry run waiting."""


class Ask(Protocol):
    """Asks the connector that a configuration names for the configurations of its tasks."""

    def __call__(self, config: Mapping[str, str], timeout_s: float, *, asker: str) -> Future[CallResult]:
        """See `ConnectorCalls.ask`."""


class DryRun:
    """Plans a configuration's tasks on threads of its own, as a slow broker must not hold up the herder."""

    def __init__(self, ask: Ask, group: Callable[[str, Mapping[str, str]], SinkGroup]) -> None:
        self._ask = ask
        self._group = group
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="dry-run")

    def plan(self, name: str, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[TaskPlan]:
        """See `Trials.plan`."""
        return self._threads.submit(self._plan, name, config, timeout_s, asker)

    def close(self) -> None:
        """Begin no more dry runs, and do not wait for those that are begun."""
        self._closing.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _plan(self, name: str, config: Mapping[str, str], timeout_s: float, asker: str) -> TaskPlan:
        deadline = Deadline.after(timeout_s, self._closing)
        said = self._ask(config, timeout_s, asker=asker).result(deadline.remaining_s)
        problem = "\n".join(problem.message for problem in said.problems) or said.error
        if problem is not None:
            raise BadRequestError(problem)
        tasks = with_placeholders(said.value or (), config)
        there = self._group(name, config).topics(deadline)
        return TaskPlan(tasks, [topic for topic in named_topics(config, tasks) if topic not in there])


def named_topics(config: Mapping[str, str], tasks: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the topics that a connector's and its tasks' configurations name, sorted."""
    values = [given[key] for given in (config, *tasks) for key in _TOPICS if given.get(key)]
    return sorted({topic.strip() for value in values for topic in value.split(",") if topic.strip()})
