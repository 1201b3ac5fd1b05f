"""Runs the user's source in the sandbox, into topics of its own, until it has caught up or its time is over."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connect.poc.sandbox.connector_runs import (
    RunTime,
    SourceCluster,
    at_own_brokers,
    failure_of,
    is_running,
    status_of,
    stop,
)
from connect.poc.sandbox.faults import Faults
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.run_rows import SourceRunRows
from connect.poc.sandbox.timeline import Reading, has_caught_up, scrape
from connect.poc.sandbox.topic_rows import TopicRows, ends_of, read_rows

ROUTE: Final = "pocroute"
THROTTLE: Final = "pocthrottle"
QUIET_S: Final = 3.0
"""A source that was polled for this many seconds and gave no row has caught up."""
_ANSWER_S: Final = 30.0
_HISTORIES: Final = ("schema.history.internal.kafka.topic", "database.history.kafka.topic")
"""These are the keys of the topic that Debezium's connectors in Java write their tables' histories into."""
_SERVER_ID: Final = "database.server.id"
_LEAST_ID: Final = 1 << 30


@dataclass(slots=True)
class SourceRun:
    """Holds what a run did. `seconds` is the time from the first record to the last."""

    name: str
    prefix: str
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    seconds: float = 0.0
    is_complete: bool = False
    """This is True if the source had caught up before the run ended at its bounds."""
    tasks: int = 0
    failure: str | None = None
    """This says why the connector failed for good; it is None if it did not."""
    readings: list[Reading] = field(default_factory=list)

    def rows(self, cluster: SourceCluster) -> TopicRows:
        """Read what the run wrote."""
        return read_rows(cluster.reading, self.ends, self.prefix, Deadline.after(_ANSWER_S * 10))


def _apart(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return keys by which a run of Debezium's leaves alone what belongs to the connector of its owner.

    The history of tables goes into a topic of the run's, and MySQL's server does not take the run for its owner's
    replica, whose connection it would end.
    """
    histories = {key: f"{prefix.rstrip('.')}-history" for key in _HISTORIES if key in config}
    replica = {_SERVER_ID: str(_LEAST_ID + secrets.randbelow(_LEAST_ID))} if _SERVER_ID in config else {}
    return histories | replica


def sandboxed(config: Mapping[str, str], prefix: str, rows_per_second: float | None = None) -> dict[str, str]:
    """Return the configuration with a prefix before its topics' names, and with its rows slowed down to a rate.

    Further transforms do both. Its topics have one replica, as the sandbox has one broker, and its clients are not led
    to other brokers.
    """
    further = [ROUTE] if rows_per_second is None else [THROTTLE, ROUTE]
    throttle = {} if rows_per_second is None else {
        f"transforms.{THROTTLE}.type": "connect.transforms.Throttle",
        f"transforms.{THROTTLE}.rows.per.second": f"{rows_per_second:.3f}",
    }  # fmt: skip
    return {
        **at_own_brokers(config),
        **_apart(config, prefix),
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
    """Makes runs of one configuration. It is owned by the thread of the evaluation."""

    def __init__(self, cluster: SourceCluster, config: Mapping[str, str], options: Options) -> None:
        self._cluster = cluster
        self._config = dict(config)
        self._options = options

    def run(self, label: str, faults: Faults | None = None, *, quiet_s: float = QUIET_S) -> SourceRun:
        """Run the connector under a new name, and remove it. `faults` disturb the run.

        After `quiet_s` without a row the source has caught up. ConnectError: the worker refuses the connector.
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
        """Watch until the source has caught up, or a limit is reached. `full_speed` is the configuration after the last
        fault.
        """
        rest, run_rows = self._cluster.rest, SourceRunRows(lambda: sum(self._ends(run).values()))
        limit = RunTime(self._options.duration_s + (faults.further_s if faults else 0.0))
        began_s = first_s = time.monotonic()
        while limit.wait():
            now_s = time.monotonic()
            present = run_rows.present()
            if present != run_rows.rows:
                first_s = first_s if run_rows.rows else now_s
                run.seconds = now_s - first_s
            run_rows.saw(present)
            run.readings.append(Reading(now_s - began_s, present, scrape(rest, run.name)))
            if faults is not None and faults.look(run_rows):
                rest.save(run.name, full_speed)
            status = status_of(rest, run.name)
            limit.saw(status)
            run.tasks = max(run.tasks, len(status.get("tasks", [])))
            run.failure = failure_of(status, self._config, show_values=self._options.show_values)
            if run.failure is not None:
                return
            run.is_complete = has_caught_up(run.readings, quiet_s) and is_running(status)
            if run.is_complete or (present >= self._options.budget_rows and self._has_budget(run)):
                return

    def _has_budget(self, run: SourceRun) -> bool:
        """Tell if as many rows as wanted are committed.

        Only these count, as a connector that is stopped may abort an open transaction.
        """
        return sum(self._ends(run, committed_only=True).values()) >= self._options.budget_rows

    def _ends(self, run: SourceRun, *, committed_only: bool = False) -> dict[TopicPartition, int]:
        deadline = Deadline.after(_ANSWER_S)
        topics = [topic for topic in self._cluster.admin.topics(deadline) if topic.startswith(run.prefix)]
        return ends_of(self._cluster.admin, topics, deadline, committed_only=committed_only)
