"""One run of the user's source in the sandbox, into topics of the run's own, until it is caught up or at its bound."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.deadline import Deadline
from connect.api.records import TopicPartition
from connect.evaluate.connector_runs import RunTime, SourceCluster, failure_of, is_running, status_of, stop
from connect.evaluate.courses import SourceCourse
from connect.evaluate.faults import Faults
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
        f"transforms.{THROTTLE}.rows.per.second": f"{rows_per_second:.3f}",
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

    def run(self, label: str, faults: Faults | None = None, *, quiet_s: float = QUIET_S) -> SourceRun:
        """Run the connector under a name of its own and remove it. `faults`: what disturbs it. `quiet_s`: after so long
        without a row it has caught up.

        ConnectError when the worker refuses it.
        """
        name = self._cluster.new_name(label)
        run = SourceRun(name, f"{name}.")
        config = {**self._config, "name": name}
        own = sandboxed(config, run.prefix)
        slow = own if faults is None else sandboxed(config, run.prefix, faults.rows_per_second)
        self._cluster.rest.create(name, slow)
        try:
            self._watch(run, faults, own, quiet_s)
            stop(self._cluster.rest, name)
            run.ends = self._ends(run)
        finally:
            self._cluster.remove(name)
        return run

    def _watch(self, run: SourceRun, faults: Faults | None, full_speed: Mapping[str, str], quiet_s: float) -> None:
        """Until it has caught up, or a bound is reached. `full_speed`: its configuration after the last fault."""
        rest, course = self._cluster.rest, SourceCourse(lambda: sum(self._ends(run).values()))
        limit = RunTime(self._options.duration_s + (faults.further_s if faults else 0.0))
        began_s = first_s = time.monotonic()
        while limit.wait():
            now_s = time.monotonic()
            present = course.present()
            if present != course.rows:
                first_s = first_s if course.rows else now_s
                run.seconds = now_s - first_s
            course.saw(present)
            run.readings.append(Reading(now_s - began_s, present, scrape(rest, run.name)))
            if faults is not None and faults.look(course):
                rest.save(run.name, full_speed)
            status = status_of(rest, run.name)
            limit.saw(status)
            run.tasks = max(run.tasks, len(status.get("tasks", [])))
            run.failure = failure_of(status, self._config, show_values=self._options.show_values)
            if run.failure is not None:
                return
            run.is_complete = has_caught_up(run.readings, quiet_s) and is_running(status)
            if run.is_complete or present >= self._options.budget_rows:
                return

    def _ends(self, run: SourceRun) -> dict[TopicPartition, int]:
        deadline = Deadline.after(_ANSWER_S)
        topics = [topic for topic in self._cluster.admin.topics(deadline) if topic.startswith(run.prefix)]
        return ends_of(self._cluster.admin, topics, deadline)
