"""One run of the user's sink in the sandbox, from topics there into a target apart, until it commits no more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.deadline import Deadline
from connect.api.records import TopicPartition
from connect.client.rest import RefusedError
from connect.evaluate.connector_runs import LOOK_S, failure_of, is_running, remove, status_of, stop
from connect.evaluate.options import Options
from connect.evaluate.sandbox import Sandbox
from connect.evaluate.source_run import THROTTLE
from connect.evaluate.timeline import Reading, scrape
from connect.evaluate.trial import Trial
from connect.runtime.connector_settings import ConnectorSettings

QUIET_S: Final = 3.0
"""A sink that has committed something, and nothing more for so long, keeps the rest until more rows come."""
_READS_A_SECOND: Final = 5

OnLook = Callable[[float], None]
"""Hears the seconds since the tasks run."""


@dataclass(slots=True)
class SinkRun:
    """What a run did. `committed`: the next offset of each partition. `seconds`: until the last row was put."""

    name: str
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    tasks: int = 0
    failure: str | None = None
    readings: list[Reading] = field(default_factory=list)
    is_once: bool = False
    merges: bool = False

    @property
    def watched_s(self) -> float:
        """How long it was looked at."""
        return self.readings[-1].at_s if self.readings else 0.0


def slowed(config: Mapping[str, str], rows_per_second: float) -> dict[str, str]:
    """The configuration with its rows slowed down by one more transform, a few of them at a time."""
    return {
        **config,
        "transforms": ",".join(name for name in (config.get("transforms", ""), THROTTLE) if name),
        f"transforms.{THROTTLE}.type": "connect.transforms.Throttle",
        f"transforms.{THROTTLE}.rows.per.second": f"{max(0.001, rows_per_second):.3f}",
        "consumer.override.max.poll.records": str(max(1, int(rows_per_second / _READS_A_SECOND))),
    }


class SinkRunner:
    """Makes runs of one configuration over the same records. Owned by the thread of the evaluation."""

    def __init__(
        self, sandbox: Sandbox, settings: ConnectorSettings, ends: Mapping[TopicPartition, int], options: Options
    ) -> None:
        """`ends`: how many records each partition has."""
        self._sandbox = sandbox
        self._settings = settings
        self._ends = ends
        self._options = options

    def run(
        self,
        label: str,
        on_look: OnLook | None = None,
        *,
        slow_s: float = 0.0,
        until: Mapping[TopicPartition, int] | None = None,
    ) -> SinkRun:
        """Run it under a name and into a target of its own, read that, and remove both. `slow_s`: how long it takes at
        least. `until`: it is over when it has committed so far, or at its bound.

        NoTargetApartError; ConnectError: the target cannot be made or read, or the worker refuses the connector.
        """
        name = self._sandbox.new_name(label)
        run, trial = SinkRun(name), Trial(self._settings, name)
        try:
            trial.make()
            run.is_once, run.merges = trial.is_once, trial.merges
            self._run(run, trial, on_look, slow_s, until)
            if run.failure is None:
                run.rows = trial.rows()
        finally:
            trial.remove()
        return run

    def _run(
        self,
        run: SinkRun,
        trial: Trial,
        on_look: OnLook | None,
        slow_s: float,
        until: Mapping[TopicPartition, int] | None,
    ) -> None:
        rows = sum(self._ends.values())
        config = slowed(trial.config, rows / slow_s) if slow_s else dict(trial.config)
        own = {
            "name": run.name, "consumer.override.auto.offset.reset": "earliest",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }  # fmt: skip
        config.pop("consumer.override.group.id", None)
        self._sandbox.rest.create(run.name, {**config, **own})
        try:
            self._watch(run, on_look, until, Deadline.after(self._options.duration_s + slow_s))
            stop(self._sandbox.rest, run.name)
            run.committed = self._committed(run)
        finally:
            remove(self._sandbox.rest, run.name)

    def _watch(
        self, run: SinkRun, on_look: OnLook | None, until: Mapping[TopicPartition, int] | None, limit: Deadline
    ) -> None:
        wanted = self._ends if until is None else until
        total = sum(self._ends.values())
        began_s = moved_s = time.monotonic()
        running_s: float | None = None
        committed: Mapping[TopicPartition, int] = {}
        while limit.wait(LOOK_S):
            now_s = time.monotonic()
            status = status_of(self._sandbox.rest, run.name)
            run.tasks = max(run.tasks, len(status.get("tasks", [])))
            if running_s is None and is_running(status):
                running_s = now_s
            figures = scrape(self._sandbox.rest, run.name)
            put = int(figures.get("rows_total", 0.0))
            if not run.readings or put > run.readings[-1].rows:
                run.seconds = now_s - began_s
            run.readings.append(Reading(now_s - began_s, put, figures))
            if on_look is not None and running_s is not None:
                on_look(now_s - running_s)
            run.failure = failure_of(status, self._settings.connector, show_values=self._options.show_values)
            found = self._committed(run)
            moved_s = moved_s if found == committed else now_s
            committed = found
            all_there = all(committed.get(place, 0) >= end for place, end in wanted.items())
            keeps_rest = until is None and any(committed.values()) and now_s - moved_s >= QUIET_S
            if run.failure is not None or (all_there and wanted):
                return
            if keeps_rest and figures.get("polled_rows_total", 0.0) >= total and is_running(status):
                return

    def _committed(self, run: SinkRun) -> dict[TopicPartition, int]:
        try:
            found = self._sandbox.rest.offsets(run.name)
        except RefusedError:
            return {}  # its group is not there yet
        return {
            TopicPartition(str(one["partition"]["kafka_topic"]), int(one["partition"]["kafka_partition"])): int(
                one["offset"]["kafka_offset"]
            )
            for one in found
        }
