"""One run of the user's source in the sandbox, into topics of the run's own, until it is caught up or at its bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.deadline import Deadline
from connect.api.records import TopicPartition
from connect.evaluate.connector_runs import LOOK_S, SourceCluster, failure_of, is_running, status_of, stop
from connect.evaluate.options import Options
from connect.evaluate.timeline import Reading, has_caught_up, scrape
from connect.evaluate.topic_rows import TopicRows, ends_of, read_rows

ROUTE: Final = "pocroute"
THROTTLE: Final = "pocthrottle"
QUIET_S: Final = 3.0
"""A source that was asked for so long and had nothing more has caught up."""
_ANSWER_S: Final = 30.0


@dataclass(slots=True)
class SourceRun:
    """What a run did. `seconds` counts from the first record to the last."""

    name: str
    prefix: str
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    seconds: float = 0.0
    is_complete: bool = False
    """It caught up before its bounds."""
    tasks: int = 0
    failure: str | None = None
    """The first line of the trace of what failed for good."""
    readings: list[Reading] = field(default_factory=list)

    def rows(self, cluster: SourceCluster) -> TopicRows:
        """What it wrote."""
        return read_rows(cluster.reading, self.ends, self.prefix, Deadline.after(_ANSWER_S * 10))


def sandboxed(config: Mapping[str, str], prefix: str, rows_per_second: float | None = None) -> dict[str, str]:
    """The configuration with its topics renamed, and its rows slowed down if so wanted, by further transforms; one
    replica for each topic.
    """
    further = [ROUTE] if rows_per_second is None else [THROTTLE, ROUTE]
    throttle = {} if rows_per_second is None else {
        f"transforms.{THROTTLE}.type": "connect.transforms.Throttle",
        f"transforms.{THROTTLE}.rows.per.second": f"{max(0.001, rows_per_second):.3f}",
    }  # fmt: skip
    return {
        **config,
        **throttle,
        "transforms": ",".join(name for name in (config.get("transforms", ""), *further) if name),
        f"transforms.{ROUTE}.type": "org.apache.kafka.connect.transforms.RegexRouter",
        f"transforms.{ROUTE}.regex": "(.*)",
        f"transforms.{ROUTE}.replacement": f"{prefix}$1",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": config.get("topic.creation.default.partitions", "1"),
        "errors.deadletterqueue.topic.replication.factor": "1",
    }


class SourceRunner:
    """Makes runs of one configuration. Owned by the thread of the evaluation."""

    def __init__(self, cluster: SourceCluster, config: Mapping[str, str], options: Options) -> None:
        self._cluster = cluster
        self._config = dict(config)
        self._options = options

    def run(
        self,
        label: str,
        on_look: Callable[[int], None] | None = None,
        *,
        rows_per_second: float | None = None,
        further_s: float = 0.0,
        quiet_s: float = QUIET_S,
    ) -> SourceRun:
        """Run the connector under a name of its own and remove it. `on_look` hears the rows so far, again and again.
        `rows_per_second`: of a task at most. `further_s`: how much longer than other runs it may take. `quiet_s`: after
        so long without a row it has caught up.

        ConnectError when the worker refuses it.
        """
        name = self._cluster.new_name(label)
        run = SourceRun(name, f"{name}.")
        self._cluster.rest.create(run.name, {**sandboxed(self._config, run.prefix, rows_per_second), "name": run.name})
        try:
            self._watch(run, on_look, Deadline.after(self._options.duration_s + further_s), quiet_s)
            stop(self._cluster.rest, run.name)
            run.ends = self._ends(run)
        finally:
            self._cluster.remove(run.name)
        return run

    def _watch(self, run: SourceRun, on_look: Callable[[int], None] | None, limit: Deadline, quiet_s: float) -> None:
        began_s = first_s = time.monotonic()
        rows = 0
        while limit.wait(LOOK_S):
            now_s = time.monotonic()
            present = sum(self._ends(run).values())
            if present != rows:
                first_s = first_s if rows else now_s
                rows = present
                run.seconds = now_s - first_s
            figures = scrape(self._cluster.rest, run.name)
            run.readings.append(Reading(now_s - began_s, rows, figures))
            if on_look is not None:
                on_look(rows)
            failure = self._failure(run)
            if failure is not None:
                run.failure = failure
                return
            if has_caught_up(run.readings, quiet_s) and self._is_running(run):
                run.is_complete = True
                return
            if rows >= self._options.budget_rows:
                return

    def _is_running(self, run: SourceRun) -> bool:
        status = status_of(self._cluster.rest, run.name)
        run.tasks = max(run.tasks, len(status.get("tasks", [])))
        return is_running(status)

    def _failure(self, run: SourceRun) -> str | None:
        status = status_of(self._cluster.rest, run.name)
        return failure_of(status, self._config, show_values=self._options.show_values)

    def _ends(self, run: SourceRun) -> dict[TopicPartition, int]:
        deadline = Deadline.after(_ANSWER_S)
        topics = [topic for topic in self._cluster.admin.topics(deadline) if topic.startswith(run.prefix)]
        return ends_of(self._cluster.admin, topics, deadline)
