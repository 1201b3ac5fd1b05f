"""Holds the BigQuery sink's connector and task. Rows go into buffers, then into tables; then offsets are durable."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.errors import ConnectError, RejectedRowsError, RetriableError
from connect.api.optional.bulk import BulkSinkContext
from connect.api.optional.costs import CostQuestion, TableCost, TopicRate, TopicRates
from connect.api.optional.findings import Finding
from connect.api.optional.topic_ids import TopicIds
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.bigquery.cost.asking import costs_of_existing, table_costs
from connectors.bigquery.cost.sentences import budget_sentences, rate_sentences, sentences
from connectors.bigquery.merge.staging import connector_label
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.settings.config import TASKS_KEY, BigQuerySinkConfig
from connectors.bigquery.spending.budget_keys import budget_key_of, budget_of, prices_of_config
from connectors.bigquery.spending.budget_sentences import BudgetSpentError
from connectors.bigquery.spending.connector_spending import spending_of
from connectors.bigquery.spending.load_pace import LoadPace, PacedError
from connectors.bigquery.tables.preflight import check, missing_roles
from connectors.bigquery.tables.trial import TrialDataset
from connectors.bigquery.warehouse.client import account_of, open_warehouse
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.write.bulk import BigQueryBulkWriter
from connectors.bigquery.write.first_records import FirstRecords
from connectors.bigquery.write.intake import Intake, taken_in
from connectors.bigquery.write.open_sink import OpenSink
from connectors.bigquery.write.refused_records import given_up
from connectors.bigquery.write.table_buffers import TableBuffer, first_pending
from connectors.bigquery.write.table_writers import table_writer_of
from connectors.bigquery.write.tables_ready import TargetTables

_log = logging.getLogger(__name__)
_LOOK_S = 0.25
"""The task looks so often for the end of a write while a thread writes a batch."""
_FULL_LOOK_S = 0.1
_LONG_S = 15.0
"""The status names a batch that has not been written for longer than this."""
_SAMPLE_S = 8.0
"""Topics are sampled for no longer, as a validation has to end."""


def _no_rates(topics: Collection[str], deadline: Deadline) -> Mapping[str, TopicRate]:
    """Return no rates; it stands in until `sampling` gives a function that samples topics."""
    del topics, deadline
    return {}


class _Reason(NamedTuple):
    """Says why a batch waits, and what it waits for, as `RetriableError.waiting_for` does."""

    text: str
    waiting_for: str | None = None


class BigQuerySinkConnector:
    """Gives tasks their settings. Kafka assigns the partitions to tasks, and one task merges each table."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, BigQuerySinkConfig)
        self._config = config
        self._rates: TopicRates = _no_rates

    def sampling(self, rates: TopicRates) -> None:
        """Take the function that samples topics."""
        self._rates = rates

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Look at the dataset, the right to run jobs, and the tables. Tell what a day of each mode costs.

        Raise ConfigError that names the settings to change.
        """
        warehouse = open_warehouse(self._config)
        try:
            with warehouse.within(deadline):
                check(self._config, warehouse)
                prices = prices_of_config(self._config)
                budget_bytes = budget_of(self._config, prices)
                question = CostQuestion(rates=self._sampled(deadline.sooner(_SAMPLE_S)))
                costs = costs_of_existing(self._config, warehouse, question, prices, time.time())
                rates = rate_sentences(self._config, question.rates, warehouse.location)
                return [
                    *sentences(costs),
                    *budget_sentences(costs, budget_bytes, budget_key_of(self._config, prices)),
                    *rates,
                ]
        finally:
            warehouse.close()

    def _sampled(self, deadline: Deadline) -> Mapping[str, TopicRate]:
        """Return how many records come into the topics. If Kafka cannot be asked, return none: tables tell it, too."""
        try:
            return self._rates(self._config.named_topics, deadline)
        except ConnectError as error:
            _log.info("What comes into the topics is not sampled, and taken from their tables: %s", error)
            return {}

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield the roles that the account lacks, each with a command that grants it."""
        warehouse = open_warehouse(self._config)
        try:
            with warehouse.within(deadline):
                yield from missing_roles(self._config, warehouse, account_of(self._config))
        finally:
            warehouse.close()

    def costs(self, question: CostQuestion, deadline: Deadline) -> Sequence[TableCost]:
        """Return what a day of each mode costs for the table of each topic."""
        warehouse = open_warehouse(self._config)
        try:
            with warehouse.within(deadline):
                return table_costs(self._config, warehouse, question, time.time())
        finally:
            warehouse.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for each task: the connector's, and the number of tasks."""
        return [{**self._config.originals, TASKS_KEY: str(max_tasks)} for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> BigQuerySinkTask:
        """Return a task, which is not open yet."""
        return BigQuerySinkTask(BigQuerySinkConfig.parse(config))

    def bulk_writer(self, ctx: BulkSinkContext) -> BigQueryBulkWriter:
        """Return a writer of chunks of a backfill."""
        return BigQueryBulkWriter(self._config, ctx)

    def trial_target(self, name: str) -> TrialDataset:
        """Return a dataset for a trial, beside the one that the settings name."""
        return TrialDataset(self._config, name)


class BigQuerySinkTask:
    """Writes the records of the partitions assigned to it. Owned by the task thread; its own threads write batches."""

    def __init__(
        self,
        config: BigQuerySinkConfig,
        now_s: Callable[[], float] = time.monotonic,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._now_s = now_s
        self._wall_s = wall_s
        self._collect_interval_s = max(1.0, config.interval_ms / 1000)
        self._buffers: dict[str, TableBuffer] = {}
        self._next: dict[TopicPartition, int] = {}
        self._figures: Counter[str] = Counter()
        self._figures_lock = threading.Lock()
        self._failure: RetriableError | None = None
        self._explained = False
        self._told: tuple[str, ...] = ()
        self._collecting: Future[None] | None = None
        self._saving: Future[None] | None = None
        self._collect_at_s = 0.0
        self._opened: OpenSink | None = None

    def open(self, ctx: SinkContext) -> None:
        """Build the client, look at the dataset, and drop the staging tables that an earlier run of the task left."""
        config, warehouse = self._config, open_warehouse(self._config)
        role = Role(ctx.connector, ctx.task, config.tasks, config.staging_suffix)
        spending = spending_of(config, warehouse, connector_label(ctx.connector), self._wall_s)
        writer = table_writer_of(config, warehouse, role, self._count, spending=spending)
        name = f"bigquery-{ctx.connector}-{ctx.task}"
        threads = ThreadPoolExecutor(writer.threads, thread_name_prefix=name)
        targets = TargetTables(config, warehouse, now_s=self._now_s)
        pace = LoadPace(config.tasks, self._now_s)
        warehouse.on_load = pace.count
        self._opened = OpenSink(
            ctx, warehouse, writer, targets, FirstRecords(targets, config.threads, f"{name}-first"),
            TopicIds(ctx.topic_id, self._now_s, ctx.has_record), threads, spending, pace,
            has_ledger=config.mode.merges_rows,
        )  # fmt: skip
        warehouse.look()
        targets.modes.recall(map(config.table_names.table, config.named_topics))
        writer.sweep()
        self._note()

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the ids of the partitions' topics, so that they are asked anew with the next records."""
        if self._opened is not None:
            self._opened.topic_ids.forget(partitions)

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Gather the rows. Other threads write the batches that are due, and make tables ready.

        Raise RejectedRowsError that names the bad records; the others are gathered.
        """
        assert batch.consumed is not None
        opened = self._open
        self._advance(deadline)
        self._wait_for_room(deadline)
        partition, next_offset = batch.consumed.topic_partition, batch.consumed.next_offset
        bad: Mapping[int, Exception] = {}
        if len(batch):
            batch = opened.topic_ids.placed(batch, deadline)
            if not opened.first_records.holds(batch):
                with opened.warehouse.within(deadline):
                    intake = taken_in(batch, opened.targets)
                self._gather(batch, intake)
                bad = intake.bad
        self._next[partition] = next_offset
        self._look_again()
        if bad:
            raise RejectedRowsError(bad)

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Seal the batches that are due. Return for each partition the offset before which all rows are in tables."""
        self._advance(deadline)
        self._collect()
        self._report()
        self._explain()
        self._note()
        self._look_again()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        first = first_pending((*self._buffers.values(), self._open.first_records))
        return {partition: first.get(partition, offset) for partition, offset in self._next.items()}

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Drop the gathered rows of these partitions: their next owner reads them again."""
        self._open.first_records.forget(partitions)
        for buffer in self._buffers.values():
            buffer.forget(partitions)
        for partition in partitions:
            self._next.pop(partition, None)

    def close(self) -> None:
        """End the threads and close the client. May be called twice."""
        self._buffers.clear()
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    @property
    def _open(self) -> OpenSink:
        assert self._opened is not None, "the task is not open"
        return self._opened

    def _advance(self, deadline: Deadline) -> None:
        """Note which batches are written, and start those that are due. The next `flush` raises what failed for now."""
        opened, now_s = self._open, self._now_s()
        self._take_ready(deadline)
        for buffer in self._buffers.values():
            try:
                unwritten = buffer.advance(opened.write, opened.executor, now_s)
            except RefusedJobError as error:
                with opened.warehouse.within(deadline):
                    opened.targets.check_unchanged(buffer, error)
                raise
            self._give_up(buffer)
            if unwritten is not None:
                # The status names a table that waits for a budget or quota; the wait is no failure of the other tables.
                self._failure = self._failure if isinstance(unwritten, BudgetSpentError | PacedError) else unwritten
                # A thread that widens the table knows columns that the buffer does not know yet.
                if not opened.first_records.is_at(buffer.target):
                    with opened.warehouse.within(deadline):
                        opened.targets.restore(buffer)

    def _take_ready(self, deadline: Deadline) -> None:
        """Gather the rows whose table is ready by now. Report bad ones to the framework, as `put` has returned."""
        first_records = self._open.first_records
        with self._open.warehouse.within(deadline):
            for batch, intake in first_records.advance(self._now_s()):
                self._gather(batch, intake)
                if intake.bad:
                    self._open.ctx.reject(batch, intake.bad)
        for failure in first_records.failed():
            self._failure = failure

    def _gather(self, batch: Batch, intake: Intake) -> None:
        """Put the rows that were made of a batch into the buffers of their tables."""
        assert batch.consumed is not None
        for buffer, admitted in intake.parts:
            self._buffers[buffer.target] = buffer
            if admitted.late:
                self._count({"late_records_total": admitted.late})
            buffer.take(batch.consumed.topic_partition, admitted, self._now_s(), batch.consumed.topic_id)

    def _give_up(self, buffer: TableBuffer) -> None:
        """Report rows that BigQuery refused as bad records, before their offsets count as durable."""
        refused, buffer.refused = buffer.refused, []
        for sealed, rows in refused:
            self._count({"refused_rows_total": len(rows)})
            for batch, reasons in given_up(sealed, rows):
                self._open.ctx.reject(batch, reasons)

    def _note(self) -> None:
        """Show in the connector's notes the modes of tables, changed views, rounded Decimals, budget and clocks."""
        targets = self._open.targets
        spent = self._open.spending.told()
        told = (*targets.views.told(), *targets.modes.told(), *targets.rounded.told(), *spent)
        if told != self._told:
            self._open.ctx.note(told)
            self._told = told

    def _explain(self) -> None:
        """Show in the status why some batches wait, or that none waits any more."""
        reason = self._reason_to_wait()
        if reason is not None:
            self._open.ctx.explain(reason.text, waiting_for=reason.waiting_for)
        elif self._explained:
            self._open.ctx.explain(None)
        self._explained = reason is not None

    def _reason_to_wait(self) -> _Reason | None:
        for target, failure in self._open.first_records.failures:
            return _waiting(target, failure)
        for buffer in self._buffers.values():
            if buffer.failure is not None and not isinstance(buffer.failure, BudgetSpentError):
                return _waiting(buffer.target, buffer.failure)
        long_ago_s = self._now_s() - _LONG_S
        for buffer in self._buffers.values():
            if buffer.is_writing and buffer.failure is None and buffer.sealed_at_s < long_ago_s:
                doing = self._open.writer.doing(buffer.target)
                return _Reason(f"Rows of table {buffer.target} are on their way: {doing}.")
        spent = self._open.spending.spent()
        return None if spent is None else _Reason(f"{spent.message} {spent.fix}", spent.waiting_for)

    @property
    def _held_bytes(self) -> int:
        return self._open.first_records.held_bytes + sum(buffer.held_bytes for buffer in self._buffers.values())

    def _wait_for_room(self, deadline: Deadline) -> None:
        while self._held_bytes >= self._config.buffer_max_bytes:
            if not deadline.wait(_FULL_LOOK_S):
                reason = self._reason_to_wait() or _Reason("")
                raise RetriableError(
                    f"{self._config.buffer_max_bytes} bytes of rows wait for their merge (buffer.max.bytes). "
                    f"{reason.text}",
                    waiting_for=reason.waiting_for,
                )
            self._advance(deadline)
            if self._failure is not None:
                raise self._failure

    def _collect(self) -> None:
        """Start `OpenSink.collect` on a thread once in an interval, unless it still runs."""
        if not self._open.collects or self._now_s() < self._collect_at_s:
            return
        if self._collecting is not None and not self._collecting.done():
            return
        ended, self._collecting = self._collecting, None
        if ended is not None:
            with suppress(BudgetSpentError):  # the status says that a table waits for its budget
                ended.result()  # a failure is raised here once; the next interval tries again
        self._collecting = self._open.executor.submit(self._open.collect)
        self._collect_at_s = self._now_s() + self._collect_interval_s

    def _look_again(self) -> None:
        """Ask the framework for a flush when the next batch is due, and soon while a batch is being written."""
        now_s = self._now_s()
        waits = [due for buffer in self._buffers.values() if (due := buffer.due_in_s(now_s)) is not None]
        if self._open.first_records.are_waiting or any(buffer.is_writing for buffer in self._buffers.values()):
            waits.append(_LOOK_S)
        if self._open.collects:
            waits.append(max(_LOOK_S, self._collect_at_s - now_s))
        if waits:
            self._open.ctx.request_flush(within_s=min(waits))

    def _count(self, figures: Mapping[str, int]) -> None:
        with self._figures_lock:
            self._figures.update(figures)

    def _report(self) -> None:
        with self._figures_lock:
            figures = dict(self._figures)
        for name, value in figures.items():
            self._open.ctx.gauge(name, value)
        for name, figure in self._open.pace.figures().items():
            self._open.ctx.gauge(name, figure)
        if self._open.has_ledger:
            for name, figure in self._open.spending.figures().items():
                self._open.ctx.gauge(name, figure)
            if self._open.spending.is_due and (self._saving is None or self._saving.done()):
                ended, self._saving = self._saving, self._open.executor.submit(self._open.spending.save)
                if ended is not None:
                    ended.result()
        self._open.ctx.gauge("buffered_bytes", self._held_bytes)


def _waiting(target: str, failure: RetriableError) -> _Reason:
    """Return why a table waits, in one line. The fix comes before BigQuery's own words, which can be long."""
    fix = "" if failure.fix is None else f"{failure.fix} "
    text = " ".join(f"Table {target} waits, and is tried again. {fix}{failure.message}".split())
    return _Reason(text, failure.waiting_for)
