"""Brings one task through one run on its own thread: build, open, loop, close, and say how it ended."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import cast

import structlog

from connect.api.connector import SinkTask, SourceTask
from connect.api.errors import ConfigError, RetriableError, SchemaError
from connect.kafka.client.errors import AbortableError, FatalProducerError, FencedError
from connect.kafka.produce.producer import BatchProducer
from connect.lib.deadline import Deadline
from connect.plugins.asked_addresses import asked_addresses
from connect.runtime.host.crash_report import Stages
from connect.runtime.host.state_reports import StateReports
from connect.runtime.host.task_context import TaskContext
from connect.runtime.parts.clients import Clients
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.parts.task_parts import connector_plugin
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import LimitExceededError, Tolerance, ToleranceExceededError
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.loop_limits import sink_limits, source_limits
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.source.delivery import AtLeastOnceDelivery
from connect.runtime.source.exactly_once import Boundary, ConnectorTransactions, writes_in_transactions
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import Delivery, SourceLoop
from connect.runtime.source.transactional_delivery import ExactlyOnceDelivery
from connect.runtime.task.condition import LONG_CALL_S, Condition, Conditions, Step, held_up, not_returned, one_line
from connect.runtime.task.control import Control
from connect.runtime.task.messages import (
    AsksToWrite,
    MayWrite,
    StartTask,
    TaskBuilt,
    TaskCondition,
    TaskState,
    TopicsUsed,
)
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_reports import TaskReports
from connect.runtime.task.used_topics import UsedTopics
from connect.runtime.topics.source_topics import KafkaTopics, Refuse
from connect.runtime.topics.topic_records import KafkaTopicRecords
from connect.telemetry.secret_texts import SECRET_TEXTS

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 5.0
OPEN_TIMEOUT_S = 60.0
_CALLEES = {
    "send": "kafka",
    "flush": "kafka",
    "put": "sink",
    "close": "person",
    "convert": "converter",
    "transform": "converter",
}
RESUME_S = 60.0
"""A source begins anew by itself once in so many seconds; if it cannot go on again within them, and has stored nothing
meanwhile, it fails."""
RESUMED_S = 3600.0
"""The task's notes tell so many seconds that it has begun anew."""
ANSWER_LATENCY_S = 0.01
"""A task looks for its worker's answer each so many seconds."""


Report = Callable[[TaskBuilt | TaskState | TaskCondition | TopicsUsed | AsksToWrite], None]


class TaskRun:
    """Brings a task from start to end.

    The host's reading thread asks it to stop or pause; all else happens on its own thread.
    """

    def __init__(self, start: StartTask, clients: Clients, report: Report, stages: Stages | None = None) -> None:
        """Take the order to start. The run writes what it is doing to `stages`."""
        self._start = start
        self._clients = clients
        self._report = report
        self._control = Control(paused=start.paused)
        self.id = TaskId(start.connector, start.task)
        self.run = start.run
        self._stages = stages
        self._stage = stages.take(start.run) if stages is not None else None
        on_stage = self._stage.set if self._stage is not None else None
        self.figures = clients.tracing.figures(self.id, on_stage)
        self._may_write: Future[MayWrite] | None = None
        """Is there once the run has asked its worker."""
        self._states = StateReports(self.id, self.run, report)
        self._reports = TaskReports(self.figures, UsedTopics(), Conditions(self._states.say_condition))
        self._told_opening = ""
        self._runs = False
        """Tells that the task was opened, so that an error of its producer comes from its work."""
        self._resumed_s: float | None = None
        self._stored_before = 0.0
        """Counts the times that offsets were stored before the source began anew last."""
        self._thread = threading.Thread(target=self._main, name=f"task-{self.id}", daemon=True)
        self._has_begun = False

    def start(self) -> None:
        """Begin on the task's own thread."""
        self._thread.start()
        self._has_begun = True

    def stop(self) -> None:
        """Ask the task to end; it reports `state=None` when it has."""
        self._control.ask_to_stop()

    def set_paused(self, paused: bool) -> None:
        """Pause or resume the task. It reports the new state once it has done so."""
        self._control.ask_to_pause(paused)

    def may_write(self, answer: MayWrite) -> None:
        """Hand the worker's answer to AsksToWrite to the task's thread."""
        asked = self._may_write
        if asked is not None and not asked.done():
            asked.set_result(answer)

    def watch(self) -> None:
        """Report a call into the connector or Kafka that does not return. Called by the host's reporting thread."""
        if self._resumed_s is not None and time.monotonic() - self._resumed_s >= RESUMED_S:
            self._reports.conditions.over(Step.RESUMED)
        stage, since_s = self.figures.stage
        lasts_s = time.monotonic() - since_s
        if stage and lasts_s >= LONG_CALL_S:
            is_flush_of_sink = stage == "flush" and self._start.kind == "sink"
            callee = "sink" if is_flush_of_sink else _CALLEES.get(stage, self._start.kind)
            asked = "" if callee == "kafka" else asked_addresses(self._clients.catalog, self._start.connector_config)
            reason = not_returned(stage, lasts_s, asked)
            self._reports.conditions.waiting(Step.CALL, callee, reason)
            if stage == "open" and reason != self._told_opening:
                since_ms = time.time_ns() // 1_000_000 - round(1000 * lasts_s)
                self._states.say_opening(Condition(reason, since_ms, callee))
                log.warning("Task %s does not run yet: %s", self.id, reason)
                self._told_opening = reason
        else:
            self._reports.conditions.over(Step.CALL)

    def report_topics(self) -> None:
        """Report the topics that were used since the last report."""
        if topics := self._reports.used_topics.take():
            # The status topic and REST answers show these names; nobody could hide a provider's values there.
            shown = sorted({SECRET_TEXTS.hide(topic) for topic in topics})
            self._report(TopicsUsed(self.id.connector, self.id.task, shown))

    @property
    def alive(self) -> bool:
        """Return True if the thread has not ended, and also before it has begun.

        A host that forgot a run that has yet to begin would leave the run without the worker's words.
        """
        return not self._has_begun or self._thread.is_alive()

    def _say(self, state: State | None, error: BaseException | None = None) -> None:
        if state in {None, State.FAILED}:
            self.report_topics()
        self._states.say_state(state, error, retriable=error is not None and _may_heal(error))

    def _say_built(self) -> None:
        self._report(TaskBuilt(self.id.connector, self.id.task, self.run))

    def _say_running(self) -> None:
        """Say that the task runs; one that starts paused reports that from its loop."""
        self._runs = True
        self._reports.conditions.over(Step.CALL)  # its open has returned
        if not self._control.paused:
            self.figures.is_now("running")
            self._say(State.RUNNING)
            self._reports.conditions.report_again()

    def _say_paused(self, paused: bool) -> None:
        self.figures.is_now("paused" if paused else "running")
        if paused:
            self._say(State.PAUSED)
        else:
            self._say(State.RUNNING)
            self._reports.conditions.report_again()

    def _main(self) -> None:
        structlog.contextvars.bind_contextvars(connector=self.id.connector, task=self.id.task)
        try:
            with ExitStack() as stack:
                stack.callback(self._clients.tracing.send_spans)
                if self._stages is not None and self._stage is not None:
                    stack.callback(self._stages.give_back, self._stage)
                if self._start.kind == "source":
                    self._run_source_again()
                else:
                    self._run_sink(stack)
        except Exception as error:  # noqa: BLE001 - the end of a task is reported, whatever ended it
            if self._control.stopping and isinstance(error, (RetriableError, AbortableError, FencedError)):
                log.info("Stopped with work in flight, which the next run repeats: %s", error)
                self._say(None)
            else:
                self._say(State.FAILED, error)
        else:
            self._say(None)

    def _run_source_again(self) -> None:
        """Run the source, and once more from its stored offsets if its producer cannot go on though nothing is wrong.

        Brokers that answer late may end a producer (OUT_OF_ORDER_SEQUENCE_NUMBER after requests that timed out) or a
        transaction. What was not acknowledged is read and sent again.
        """
        while True:
            try:
                with ExitStack() as stack:
                    self._run_source(stack)
            except (AbortableError, FatalProducerError) as error:
                now_s, stored = time.monotonic(), self.figures.snapshot().get("commits_total", 0.0)
                is_soon = self._resumed_s is not None and now_s - self._resumed_s < RESUME_S
                # Brokers that are slow for hours, as under a quota, end one producer after the other, and rows go on.
                is_again = is_soon and stored == self._stored_before
                if self._control.stopping or not self._runs or is_again:
                    raise
                log.warning("Task %s begins anew from its stored offsets: %s", self.id, error)
                self._runs, self._resumed_s, self._stored_before = False, now_s, stored
                self._states.say_resuming(held_up(one_line(error), "restart"))
                self._reports.conditions.over(*Step)
                note = f"The task began anew from its stored offsets at {_utc_now()} by itself: {one_line(error)}"
                self._reports.conditions.noted([note], Step.RESUMED)
            else:
                return

    def _close(self, task: SourceTask | SinkTask) -> None:
        with self.figures.timed("close_s_total"):
            task.close()

    def _run_source(self, stack: ExitStack) -> None:
        resolved = self._clients.configs.resolve_secretly(self._start.connector_config)
        task_config = self._task_config(resolved)
        parts = ConnectorParts(self._clients, resolved)
        config = parts.source_config
        sizes = self._clients.producers.record_sizes(self.id, resolved)
        letters = self._clients.letters.of_source(self.id, config, resolved, parts.converters.header, sizes)
        tolerance = Tolerance(config, self.figures, letters.add if letters is not None else None, str(self.id))
        kept, give_up = parts.reserved_topics(), tolerance.give_up
        pipeline = parts.source_pipeline(give_up, letters, figures=self.figures, sizes=sizes, reserved=kept)
        exactly_once = writes_in_transactions(self._clients.worker, config)
        boundary = Boundary(config.transaction_boundary.lower())
        transactions = ConnectorTransactions() if exactly_once and boundary is Boundary.CONNECTOR else None
        opening = Deadline.after(OPEN_TIMEOUT_S, self._control.stop)
        connector = parts.build_connector()
        delivery: Delivery
        limits = source_limits(self._clients.worker, config, exactly_once=exactly_once)
        if exactly_once:
            open_s = limits.flush_interval_s if boundary is Boundary.INTERVAL else 0.0
            transactional = self._transactional_producer(resolved, open_s, opening, stack)
            offsets = self._clients.offsets.of_connector(self.id.connector, str(self.id), config, stack, opening)
            behind = self.figures.is_behind
            delivery = ExactlyOnceDelivery(
                *(transactional, offsets, boundary, transactions, behind),
                on_commit=partial(self.figures.measure, "transaction_rows"),
            )
        else:
            producer = self._clients.producers.rows(self.id, resolved, f"connector-producer-{self.id}")
            stack.callback(producer.close, CLOSE_TIMEOUT_S)
            self._say_built()
            offsets = self._clients.offsets.of_connector(self.id.connector, str(self.id), config, stack, opening)
            delivery = AtLeastOnceDelivery(producer, offsets)
        stack.callback(delivery.close)
        task = cast("SourceTask", connector.task(task_config))
        del connector, task_config  # they live no longer than they are needed: a host has hundreds of tasks
        stack.callback(self._close, task)
        task_class, retries = str(resolved.get("connector.class", "")), RetryBudget(config.errors_retry_timeout_ms)
        path = SourceRecordPath(task, task_class, pipeline, tolerance, retries, self.figures)
        loop = SourceLoop(path, delivery, self._clients.topics.created_by(self.id, config), limits, self._reports)
        context = TaskContext(
            *(self.id.connector, self.id.task, self._clients, self._reports, path.reject),
            offsets=offsets,
            transactions=transactions,
            source_topics=partial(self._topics, config, parts, path.reject, stack),
            topic_records=partial(self._topic_records, stack),
            ring=self._control.ring,
        )
        with self.figures.timed("open_s_total"):
            task.open(context)
        self._say_running()
        with sizes.explaining():
            loop.run(self._control, self._say_paused)

    def _transactional_producer(
        self, resolved: Mapping[str, str], open_s: float, opening: Deadline, stack: ExitStack
    ) -> BatchProducer:
        """Return the producer of this run, which has shut out the task's former owner and may write."""
        producer = self._clients.producers.transactional(self.id, resolved, open_s)
        stack.callback(producer.close, CLOSE_TIMEOUT_S)
        self._say_built()
        # Fence the old owner before the offsets are read: it cannot store any more behind the end that is read then.
        producer.init_transactions(opening)
        self._ask_to_write(opening)
        return producer

    def _topics(
        self, config: SourceConnectorConfig, parts: ConnectorParts, refuse: Refuse, stack: ExitStack
    ) -> KafkaTopics:
        topics = self._clients.topics.read_by(self.id, config, parts.converters, refuse)
        stack.callback(topics.close)
        return topics

    def _topic_records(self, stack: ExitStack, topic: str, client: Mapping[str, str], prefix: str) -> KafkaTopicRecords:
        records = self._clients.topics.records_of(self.id, topic, client, prefix)
        stack.callback(records.close)
        return records

    def _task_config(self, connector: Mapping[str, str]) -> dict[str, str]:
        plugin = connector_plugin(self._clients.catalog, connector)
        task_config = self._clients.configs.resolve(self._start.task_config)
        return plugin.config.with_leave(task_config, self._clients.worker_properties)

    def _ask_to_write(self, deadline: Deadline) -> None:
        """Ask the worker if this run may write, and wait for the answer.

        Invariant 8: a run that started late may have fenced its successor; only the worker knows.
        """
        asked: Future[MayWrite] = Future()
        self._may_write = asked
        self._report(AsksToWrite(self.id.connector, self.id.task, self.run))
        while not asked.done():
            if not deadline.wait(ANSWER_LATENCY_S):
                raise RetriableError(f"Task {self.id} got no answer from its worker whether it may write.")
        refusal = asked.result().refusal
        if refusal is not None:
            raise AbortableError(f"Task {self.id} may not write: {refusal}")

    def _run_sink(self, stack: ExitStack) -> None:
        resolved = self._clients.configs.resolve_secretly(self._start.connector_config)
        task_config = self._task_config(resolved)
        config = SinkConnectorConfig.parse(resolved)
        dead_letters = self._clients.letters.of_sink(self.id, config, resolved)
        if dead_letters is not None:
            stack.callback(dead_letters.close, CLOSE_TIMEOUT_S)
        add_letters = dead_letters.add if dead_letters is not None else None
        tolerance = Tolerance(config, self.figures, add_letters, str(self.id))
        parts = ConnectorParts(self._clients, resolved)
        pipeline = parts.sink_pipeline(tolerance.give_up, self.figures)
        connector = parts.build_connector()
        task = cast("SinkTask", connector.task(task_config))
        del connector, task_config  # as for a source
        stack.callback(self._close, task)
        consumer = self._clients.topics.sink_consumer(self.id, resolved)
        stack.callback(lambda: consumer.close(Deadline.after(CLOSE_TIMEOUT_S)))
        retries = RetryBudget(config.errors_retry_timeout_ms)
        task_class = str(resolved.get("connector.class", ""))
        path = SinkRecordPath(task, task_class, pipeline, tolerance, retries, dead_letters)
        loop = SinkLoop(consumer, path, sink_limits(self._clients.worker, config, resolved), self._reports)
        context = TaskContext(
            *(self.id.connector, self.id.task, self._clients, self._reports, path.refused),
            config=resolved,
            commits=loop.commits,
            membership=loop.membership,
        )
        self._say_built()
        with self.figures.timed("open_s_total"):
            task.open(context)
        self._say_running()
        loop.run(self._control, self._say_paused, config.topics_regex or list(config.topics))


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _may_heal(error: BaseException) -> bool:
    """Return False if a restart cannot help: the configuration is wrong, or the same bad record would be read again."""
    return not isinstance(error, (ConfigError, SchemaError, ToleranceExceededError, LimitExceededError))
