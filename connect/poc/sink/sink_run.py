"""Executes the user's sink in the sandbox, from topics there into a target beside its real one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connect.poc.sandbox.connector_runs import (
    STOP_S,
    RunTime,
    at_own_brokers,
    failure_of,
    is_running,
    remove,
    status_of,
    stop,
)
from connect.poc.sandbox.faults import Faults
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.run_rows import SinkRunRows, rows_put
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sandbox.timeline import Reading, scrape
from connect.poc.sink.trial import Trial
from connect.poc.source.source_run import THROTTLE
from connect.runtime.parts.connector_settings import ConnectorSettings

QUIET_S: Final = 3.0
"""If a sink has committed some rows, and then none for this many seconds, it keeps the others until more rows come."""
_READS_A_SECOND: Final = 5


@dataclass(slots=True)
class SinkRun:
    """Holds what a run did. `committed` holds the next offset of each partition, `seconds` the time until the last put.

    `columns` are the types of the target's columns by their paths.
    """

    name: str
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    tasks: int = 0
    failure: str | None = None
    readings: list[Reading] = field(default_factory=list)
    is_once: bool = False
    merges: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def watched_s(self) -> float:
        """Return how long the run was watched."""
        return self.readings[-1].at_s if self.readings else 0.0


def slowed(config: Mapping[str, str], rows_per_second: float) -> dict[str, str]:
    """Return the configuration with one more transform that slows its rows down, and with few rows for each poll."""
    return {
        **config,
        "transforms": ",".join(name for name in (config.get("transforms", ""), THROTTLE) if name),
        f"transforms.{THROTTLE}.type": "connect.transforms.Throttle",
        f"transforms.{THROTTLE}.rows.per.second": f"{rows_per_second:.3f}",
        "consumer.override.max.poll.records": str(rows_at_once(rows_per_second)),
    }


def rows_at_once(rows_per_second: float) -> int:
    """Return how many rows a task reads in one poll when it is slowed down to this rate."""
    return max(1, int(rows_per_second / _READS_A_SECOND))


class SinkRunner:
    """Makes runs of one configuration over the same records. It is owned by the thread of the evaluation."""

    def __init__(
        self, sandbox: Sandbox, settings: ConnectorSettings, ends: Mapping[TopicPartition, int], options: Options
    ) -> None:
        """Take the number of records of each partition as `ends`."""
        self._sandbox = sandbox
        self._settings = settings
        self._ends = ends
        self._options = options

    @property
    def records(self) -> int:
        """Return the number of records that a run is given."""
        return sum(self._ends.values())

    def run(
        self, label: str, faults: Faults | None = None, *, until: Mapping[TopicPartition, int] | None = None
    ) -> SinkRun:
        """Run the sink under a new name into a new target, read the target, and remove both.

        `faults` disturb the run. The run ends when it has committed up to the offsets in `until`, by default all
        records, or when its time is over. NoTargetApartError: the sink offers no such target. ConnectError: the target
        cannot be made or read, or the worker refuses the connector.
        """
        name = self._sandbox.new_name(label)
        run, trial = SinkRun(name), Trial(self._settings, name)
        try:
            trial.make()
            run.is_once, run.merges = trial.is_once, trial.merges
            self._run(run, trial.config, faults, until)
            if run.failure is None:
                run.rows, run.columns = trial.rows(), trial.columns
        finally:
            trial.remove()
        return run

    def _run(
        self,
        run: SinkRun,
        config: Mapping[str, str],
        faults: Faults | None,
        until: Mapping[TopicPartition, int] | None,
    ) -> None:
        kept = at_own_brokers(config)
        own = {key: value for key, value in kept.items() if key != "consumer.override.group.id"} | {
            "name": run.name, "consumer.override.auto.offset.reset": "earliest",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }  # fmt: skip
        rest = self._sandbox.rest
        rest.create(run.name, own if faults is None else slowed(own, faults.rows_per_second))
        try:
            self._watch(run, faults, own, until)
            stop(rest, run.name)
            run.committed = self._committed(run)
        finally:
            remove(rest, run.name)

    def _watch(
        self,
        run: SinkRun,
        faults: Faults | None,
        full_speed: Mapping[str, str],
        until: Mapping[TopicPartition, int] | None,
    ) -> None:
        """Watch the run until the sink has committed all, or the time is over.

        `full_speed` is the configuration to use after the last fault.
        """
        rest, wanted = self._sandbox.rest, self._ends if until is None else until
        run_rows = SinkRunRows(lambda: sum(self._committed(run).values()))
        limit = RunTime(self._options.duration_s + (faults.further_s if faults else 0.0))
        began_s = moved_s = time.monotonic()
        committed: Mapping[TopicPartition, int] = {}
        while limit.wait():
            now_s = time.monotonic()
            status = status_of(rest, run.name)
            limit.saw(status)
            run.tasks = max(run.tasks, len(status.get("tasks", [])))
            figures = scrape(rest, run.name)
            put = int(figures.get("rows_total", 0.0))
            if not run.readings or put > run.readings[-1].rows:
                run.seconds = now_s - began_s
            run.readings.append(Reading(now_s - began_s, put, figures))
            found = self._committed(run)
            moved_s = moved_s if found == committed else now_s
            committed = found
            if faults is not None:
                run_rows.saw(sum(found.values()), rows_put(figures, run.tasks * rows_at_once(faults.rows_per_second)))
                if faults.look(run_rows):
                    rest.save(run.name, full_speed)
            run.failure = failure_of(status, self._settings.connector, show_values=self._options.show_values)
            all_there = all(committed.get(place, 0) >= end for place, end in wanted.items())
            keeps_rest = until is None and any(committed.values()) and now_s - moved_s >= QUIET_S
            if run.failure is not None or (all_there and wanted):
                return
            if keeps_rest and figures.get("polled_rows_total", 0.0) >= self.records and is_running(status):
                return

    def _committed(self, run: SinkRun) -> Mapping[TopicPartition, int]:
        return self._sandbox.admin.group_offsets(f"connect-{run.name}", Deadline.after(STOP_S))
