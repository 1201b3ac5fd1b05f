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
    """What every task may ask of the framework; valid between `open` and `close`."""

    @property
    def connector(self) -> str:
        """Return the connector's name."""

    @property
    def task(self) -> int:
        """Return the task's number, counted from 0."""

    def gauge(self, name: str, value: float | None) -> None:
        """Set a metric of this task; None: its value is not known, and it is not shown until it is set again.

        `name` is snake_case with its unit (`source_lag_s`); it is shown with connector and task.
        """

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Say that part of the task's work waits, for this reason; None: all of it goes on.

        `reason` is one line for people: which part (tables, topics), why, and what to do. It is shown in the task's
        status and in `/connectors/NAME/why`, of 500 characters at most, while nothing holds up the whole task.
        `waiting_for`: as `RetriableError` has it.
        """

    def note(self, notes: Sequence[str]) -> None:
        """Say what is worth knowing of the task's work although nothing waits, such as what it has chosen.

        `notes` are one line each, without secrets, and take the place of those before. They are shown in the
        connector's notes while nothing holds up this task or part of its work.
        """


class TransactionContext(Protocol):
    """Where the transactions of a source end whose connector is set to `transaction.boundary=connector`.

    Called from `poll`, about the transaction that its batch belongs to: everything since the last end. Between two ends
    nobody who reads committed records sees a row, and after a crash none of them was written. A transaction may not
    stay open longer than the producer's `transaction.timeout.ms` (60 s).
    """

    def commit(self) -> None:
        """End the transaction behind the batch that this `poll` returns; rows and positions become visible at once."""

    def abort(self) -> None:
        """Throw the transaction away, this `poll`'s batch included.

        Its positions are stored all the same, so that the rows do not come again.
        """


class SourceContext(TaskContext, Protocol):
    """What a source task may ask of the framework."""

    @property
    def transactions(self) -> TransactionContext | None:
        """Return what a connector ends its transactions with if it defines them itself; None unless this one is set to
        do so.

        Such a plug-in declares `Capability.TRANSACTION_BOUNDARIES`.
        """

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset last stored for this source partition, None when there is none.

        Integers come back as int.
        """

    def stored_positions(self) -> Sequence[SourcePosition]:
        """Return all that was stored of this connector when the task began, also what other tasks of it have stored."""

    def topics(self) -> SourceTopics:
        """Return Kafka's topics, for a source that reads them."""

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> TopicRecords:
        """Return the records of a topic that tells the source what to do, read by a client of its own.

        `client`: Java's settings of a consumer beside those of the worker; one that names other brokers has no login
        but its own. `prefix`: what these settings begin with in the connector's configuration, for what is told of
        them. ConfigError: a setting that the worker does not allow.
        """

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows that no record can hold; they are dead-lettered or fail the task as `errors.tolerance` says.

        `batch` has them in any form that keeps what they are, such as the bytes of a line; `rows` maps indices in it to
        reasons. Called from `poll`, which then moves on: the letters go to Kafka with the next batch that a `poll`
        returns, whose position lies behind these rows. It may have no rows of its own.
        """

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Say that all that this task has to read and the source held at this time (epoch seconds) is stored: see
        `SourceTask.stored`.

        The metric `caught_up_age_s` is the age of the time told last: it grows until a later one is told. A task that
        tells it begins with the time it was opened, when nothing else is known. `behind`: the source has more than is
        stored, or part of it cannot be asked; only then the same age is the metric `source_lag_s`, which else is 0. A
        poll that raises RetriableError makes it behind, too, until the next word.
        """


class SinkContext(TaskContext, Protocol):
    """What a sink task may ask of the framework."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows found bad after `put` returned; they are dead-lettered or fail the task as
        `errors.tolerance` says.

        `batch` is the batch as it was put; `rows` maps indices in it to reasons. Call it before `flush` claims their
        offsets.
        """

    def request_flush(self, within_s: float = 0.0) -> None:
        """Ask for `flush` in at most `within_s` seconds, sooner than the next `offset.flush.interval.ms` where that is
        later; rows need not come for it. A further request only makes it sooner. Every flush clears what was asked.
        """

    def topic_id(self, topic: str, deadline: Deadline) -> str | None:
        """Return what tells a topic from others of its name, before it was made anew or in another cluster.

        None: the brokers give none (before Kafka 2.8). RetriableError: no broker answers.
        """

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:
        """Ask the brokers whether a partition is still this task's; RetriableError: none says so.

        A task may be frozen at any place while another gets its partitions. What locks the rows that it changes, and
        asks before it commits them, undoes nothing that the other wrote: that one begins with the same records, and so
        with the same rows, which it finds locked until the first has committed or, told no, has given up.
        """

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return how values of a schema are written into Avro files, its own nullability left out.

        `properties`: Confluent's keys of that mapping, as `enhanced.avro.schema.support` and `connect.meta.data`.
        SchemaError: the schema has no form in Avro.
        """


class SourceTask(Protocol):
    """Reads an external system. The framework calls it from one thread."""

    def open(self, ctx: SourceContext) -> None:
        """Connect, and resume at `ctx.stored_offset(...)`. RetriableError: tried again with backoff."""

    def poll(self, deadline: Deadline) -> Batch | Sequence[Batch] | None:
        """Return the next batch, with its `position`; None when there is nothing yet. Returns by the deadline.

        Several batches are one unit, such as what one reading gave for several topics: no position of theirs is stored
        before all of their rows are in Kafka, and an exactly-once source writes them in one transaction.
        RetriableError: called again with backoff; nothing may have been lost from what `poll` gave before.
        """

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Prune upstream, as these positions and all rows before them are durable in Kafka and the offset store."""

    def close(self) -> None:
        """Release everything. Called once, also after a failed `open`; must not raise for what is already gone."""


class SinkTask(Protocol):
    """A sink task writes batches to an external system. The framework calls the task from one thread."""

    def open(self, ctx: SinkContext) -> None:
        """Connect. RetriableError: tried again with backoff."""

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Take over partitions; batches of them follow, from the last committed offset on."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Take a batch; it may be buffered, and may have no rows. RetriableError: nothing was taken, the same
        batch comes again.

        RejectedRowsError: these rows are bad, all others were taken. Where that ends the task, no flush follows.
        """

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Make durable what should be now, and say how far: the next offset per partition whose rows survive a crash.

        Exactly this is committed, or nothing; a partition left out keeps its last commit. Called every
        `offset.flush.interval.ms` and before `revoked`. A sink that rotates files need not end them here.
        RetriableError: called again.
        """

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Give up partitions that are another task's now: drop what is buffered for them, write nothing more."""

    def close(self) -> None:
        """Release everything. Called once, also after a failed `open`."""


class Connector(Protocol):
    """Divides the work of one configuration into tasks. It is built in a task host, never in the worker process."""

    def check(self, deadline: Deadline) -> Sequence[str] | None:
        """Try reach, credentials and rights.

        Sentences about what works in part alone, such as a table that is left aside, are notes of the configuration
        that validation, preview and the log show; None or none: there is nothing to say.
        ConfigError names the keys to change; any other error is shown as it is.
        """

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return at most `max_tasks` configurations; each holds the connector's keys and a task's share."""

    def task(self, config: Mapping[str, str]) -> SourceTask | SinkTask:
        """Return a task of one of `task_configs`, not yet open."""


class AlteredOffsets(NamedTuple):
    """A connector's answer to offsets that a person gives.

    `is_whole`: nothing is left to be done by hand. `notes`: sentences without secrets for whoever gave them, as that
    one of them has no effect.
    """

    is_whole: bool
    notes: Sequence[str] = ()


@runtime_checkable
class OffsetsConnector(Protocol):
    """A source connector that has a say when a person alters its offsets by REST. Optional."""

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool | AlteredOffsets:
        """Check the wanted positions, and alter what is kept outside the framework. `offset` None: reset the partition.

        True: nothing is left to be done by hand. ConfigError: the request is wrong, and answered by 400
        (`connect.api.optional.given_offsets` makes it). Another ConnectError: it is answered by 500, as Java's are.
        """


@runtime_checkable
class MonitoringConnector(Protocol):
    """A connector whose tasks follow from what there is outside: tables, topics, directories. Optional."""

    @property
    def task_configs_interval_s(self) -> float | None:
        """Return the seconds after which `task_configs` is asked again while the connector runs, one at least; None:
        never.

        Tasks are replaced where the answer is another one. An error leaves them as they are.
        """


@runtime_checkable
class ResumingConnector(Protocol):
    """A source whose tasks follow from what is stored of it. Optional."""

    def resume(self, stored: Sequence[SourcePosition]) -> None:
        """Take all positions that are stored, in any order; called before `task_configs`.

        They may be of older settings.
        """


@runtime_checkable
class CleanupConnector(Protocol):
    """A connector that keeps something outside of Kafka, such as a replication slot. Optional.

    Such a plug-in declares `Capability.CLEANUP`.
    """

    def clean_up(self, deadline: Deadline) -> str | None:
        """Take away what nobody else uses, as the connector was deleted and its tasks have ended.

        Returns by the deadline.

        What is gone already is no error, as the connector may be asked twice. Returns what it leaves there on purpose,
        with the command that takes it away; None: nothing. RetriableError: asked again for a while; of any error the
        text tells the command, as it is for the worker's log. A worker that dies meanwhile leaves everything there.
        """
