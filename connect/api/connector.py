"""Defines connectors and tasks as a plug-in author writes them. One thread owns a task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from connect.api.codec import AvroValues
from connect.api.records import Batch, SourcePosition, TopicPartition
from connect.api.schema import Schema
from connect.api.topics import SourceTopics, TopicRecords
from connect.lib.deadline import Deadline


class TaskContext(Protocol):
    """Lets every task ask the framework for things; valid between the task's `open` and `close`."""

    @property
    def connector(self) -> str:
        """Return the connector's name."""

    @property
    def task(self) -> int:
        """Return the task's number, counted from 0."""

    def gauge(self, name: str, value: float | None) -> None:
        """Set a metric of this task. With None its value is not known, and it is not shown until it is set again.

        `name` is snake_case with its unit (`source_lag_s`); it is shown with connector and task.
        """

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Say that part of the task's work waits, for this reason; None says that all of it goes on.

        `reason` is one line for people: which part (tables, topics), why, and what to do. It is shown in the task's
        status and in `/connectors/NAME/why`, of 500 characters at most, while nothing holds up the whole task.
        `waiting_for` says what is waited for, as in `RetriableError`.
        """

    def note(self, notes: Sequence[str]) -> None:
        """Tell people something about the task's work although nothing waits, such as which way it has chosen.

        `notes` are one line each, without secrets, and replace those of the call before. They are shown in the
        connector's notes while nothing holds up this task or part of its work.
        """


class TransactionContext(Protocol):
    """Lets a source say where its transactions end, if its connector is set to `transaction.boundary=connector`.

    A task calls it from `poll`. A transaction has all rows since the last one ended. Until it ends, nobody who reads
    committed records sees its rows, and after a crash none of them was written. A transaction may not stay open longer
    than the producer's `transaction.timeout.ms` (60 s).
    """

    def commit(self) -> None:
        """End the transaction behind the batch that this `poll` returns; rows and positions become visible at once."""

    def abort(self) -> None:
        """Throw the transaction away, this `poll`'s batch included.

        Its positions are stored all the same, so that the rows do not come again.
        """


class SourceContext(TaskContext, Protocol):
    """Lets a source task ask the framework for things."""

    @property
    def transactions(self) -> TransactionContext | None:
        """Return what the task ends its transactions with; it is None unless the connector is set to define
        transactions itself.

        Such a plug-in declares `Capability.TRANSACTION_BOUNDARIES`.
        """

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset last stored for this source partition, None when there is none.

        Integers come back as int.
        """

    def stored_positions(self) -> Sequence[SourcePosition]:
        """Return all positions that this connector's tasks had stored when this task began, also those of its other
        tasks.
        """

    def topics(self) -> SourceTopics:
        """Return what reads Kafka's topics, for a source whose rows come from Kafka."""

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> TopicRecords:
        """Return the records of a topic that tells the source what to do. A Kafka client made for this topic reads
        them.

        `client` has Java's settings of a consumer, which replace the worker's. If it names other brokers, the worker's
        login is not used for them. `prefix` is what these settings begin with in the connector's configuration;
        messages name them so. ConfigError: a setting that the worker does not allow.
        """

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows that no record can hold; they are dead-lettered or fail the task as `errors.tolerance` says.

        `batch` has the rows in any form that keeps what they say, such as the bytes of a line; `rows` maps indices in
        it to reasons. Call it from `poll`, which then goes on behind these rows. The dead letters go to Kafka with the
        next batch that `poll` returns; the position of that batch lies behind these rows, and it may have no rows.
        """

    def wake(self) -> None:
        """End the wait of this task's `poll`, which is then called again. Any thread may call it.

        A source calls it whose data come while its `poll` waits by the deadline; see `PromptPolls`.
        """

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Say that all is stored that the source had for this task at the time `at_s` (epoch seconds); see
        `SourceTask.stored`.

        The metric `caught_up_age_s` is the age of the time told last: it grows until a later one is told. A task begins
        with the time at which it was opened if it knows no better one. `behind` says that the source has more than is
        stored, or that part of it cannot be asked. The metric `source_lag_s` is the same age while the task is behind,
        and 0 otherwise. After a poll that raised RetriableError, the task counts as behind until the next call.
        """


class SinkContext(TaskContext, Protocol):
    """Lets a sink task ask the framework for things."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows found bad after `put` returned; they are dead-lettered or fail the task as
        `errors.tolerance` says.

        `batch` is the batch as it was put; `rows` maps indices in it to reasons. Call it before `flush` claims their
        offsets.
        """

    def request_flush(self, within_s: float = 0.0) -> None:
        """Ask for `flush` in at most `within_s` seconds, also if no rows come and if `offset.flush.interval.ms` would
        end later.

        Of several requests the soonest counts. Every flush clears them.
        """

    def topic_id(self, topic: str, deadline: Deadline) -> str | None:
        """Return the id that Kafka gave a topic. A topic that is deleted and made anew, or one in another cluster, has
        another.

        Return None if the brokers give no ids (before Kafka 2.8). RetriableError: no broker answers.
        """

    def has_record(self, partition: TopicPartition, offset: int, timestamp_ms: int, deadline: Deadline) -> bool:
        """Return True if a partition has a record of this timestamp at this offset now.

        So a sink tells a record of a topic that was made anew from one that was read before. RetriableError: no broker
        answers.
        """

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:
        """Ask the brokers if a partition is still this task's. RetriableError: no broker gives an answer.

        A task may be frozen at any place while another task gets its partitions. A task that locks the rows that it
        changes, and asks here before it commits them, never undoes what the other one wrote: the other one begins with
        the same records, and so with the same rows. It finds them locked until the first task has committed, or has
        given up because the answer was False.
        """

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return what encodes values of a schema for Avro files. It treats the schema as not optional.

        `properties` has Confluent's keys for the mapping to Avro, such as `enhanced.avro.schema.support` and
        `connect.meta.data`. SchemaError: the schema has no form in Avro.
        """


class SourceTask(Protocol):
    """Reads an external system. The framework calls it from one thread."""

    def open(self, ctx: SourceContext) -> None:
        """Connect, and resume at `ctx.stored_offset(...)`. RetriableError: `open` is called again with backoff."""

    def poll(self, deadline: Deadline) -> Batch | Sequence[Batch] | None:
        """Return the next batch, with its `position`; None when there is nothing yet. Returns by the deadline.

        Several batches are one unit, such as what one reading gave for several topics: none of their positions is
        stored before all of their rows are in Kafka, and an exactly-once source writes them in one transaction.
        RetriableError: `poll` is called again with backoff, and must then go on behind what it returned last.
        """

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Hear that these positions and all rows before them are durable in Kafka; the source may forget those rows
        now.
        """

    def close(self) -> None:
        """Release everything. It is called once, also after a failed `open`, and must not raise for what is already
        gone.
        """


class SinkTask(Protocol):
    """A sink task writes batches to an external system. The framework calls the task from one thread."""

    def open(self, ctx: SinkContext) -> None:
        """Connect. RetriableError: `open` is called again with backoff."""

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Take over partitions; batches of them follow, from the last committed offset on."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Take a batch, which may have no rows; the task may buffer it.

        RetriableError: nothing was taken, and the same batch comes again. RejectedRowsError: these rows are bad, and
        all others were taken. If that error ends the task, no flush follows.
        """

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Make buffered rows durable, and return the next offset of each partition: all rows before it survive a crash.

        Exactly these offsets are committed, or none; a partition left out keeps its last commit. It is called every
        `offset.flush.interval.ms` and before `revoked`. A sink that rotates files need not end them here.
        RetriableError: `flush` is called again.
        """

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Give up partitions that another task has now: drop their buffered rows, and write none of them any more."""

    def close(self) -> None:
        """Release everything. It is called once, also after a failed `open`."""


class Connector(Protocol):
    """Divides the work of one configuration into tasks. It is built in a task host, never in the worker process."""

    def check(self, deadline: Deadline) -> Sequence[str] | None:
        """Try reach, credentials and rights.

        The returned sentences tell what works only in part, such as a table that is not read. Validation, preview and
        the log show them as notes; None or an empty sequence says that there are none. ConfigError names the keys to
        change; any other error is shown as it is.
        """

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return at most `max_tasks` configurations; each holds the connector's keys and a task's share."""

    def task(self, config: Mapping[str, str]) -> SourceTask | SinkTask:
        """Return a task of one of the configurations that `task_configs` gave, not yet open."""


class AlteredOffsets(NamedTuple):
    """Holds a connector's answer to offsets that a person gives.

    `is_whole` says that nothing is left to be done by hand. `notes` are sentences without secrets for that person, such
    as one that says that an offset has no effect.
    """

    is_whole: bool
    notes: Sequence[str] = ()


@runtime_checkable
class OffsetsConnector(Protocol):
    """A source connector may offer this to have a say when a person alters its offsets by REST."""

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool | AlteredOffsets:
        """Check the wanted positions, and alter what is kept outside the framework. A position whose `offset` is None
        resets its partition.

        Return True if nothing is left to be done by hand. ConfigError: the request is wrong, and answered by 400
        (`connect.api.optional.given_offsets` makes it). Any other ConnectError is answered by 500, as Java's are.
        """


@runtime_checkable
class MonitoringConnector(Protocol):
    """A connector may offer this if its tasks depend on what it finds outside, such as tables, topics or
    directories.
    """

    @property
    def task_configs_interval_s(self) -> float | None:
        """Return the seconds, at least 1, after which `task_configs` is called again while the connector runs; None if
        it is never called again.

        If the answer has changed, the tasks are replaced. An error leaves them as they are.
        """


@runtime_checkable
class ResumingConnector(Protocol):
    """A source that divides its work into tasks by its stored positions may offer this."""

    def resume(self, stored: Sequence[SourcePosition]) -> None:
        """Take all positions that are stored, in any order. It is called before `task_configs`.

        They may have been stored under older settings of the connector.
        """


@runtime_checkable
class CleanupConnector(Protocol):
    """A connector that keeps something outside of Kafka, such as a replication slot, may offer this.

    Such a plug-in declares `Capability.CLEANUP`.
    """

    def clean_up(self, deadline: Deadline) -> str | None:
        """Remove what the connector keeps outside and nobody else uses: it was deleted, and its tasks have ended.

        It returns by the deadline. It is no error if something is gone already, as this may be called twice. Return a
        sentence about what stays on purpose, with the command that removes it, or None if nothing stays.
        RetriableError: it is called again for a while. The text of any error is for the worker's log, and also has the
        command. If the worker dies meanwhile, everything stays.
        """
