"""Defines bulk work, by which a backfill copies what a source has at its beginning.

A connector that can do this offers `BulkSource` or `BulkSink` beside `Connector`. A backfill makes a plan once: it cuts
the source into splits, each of which any process can read alone. Processes of an engine read the splits, and a sink
writes the rows of each split once. In the end the connector's tasks take over: they read the source's later changes
from the positions in `BulkPlan.following` on. This reading of changes is called following.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from connect.api.codec import AvroValues
from connect.api.records import Batch, SourcePosition
from connect.api.schema import Schema
from connect.lib.deadline import Deadline


@dataclass(frozen=True, slots=True)
class SplitSize:
    """Tells how large a split is wanted. Estimates decide, so a split may turn out larger or smaller."""

    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Split:
    """Describes a bounded part of a source. No row is in two splits of one plan.

    `id` is unique in the plan and has only letters, digits, '.', '_' and '-'. `bounds` is all that a reader needs
    beside the connector's configuration, as JSON; it is stored in Kafka and holds no secret. `rows` and `size_bytes`
    are estimates; 0 bytes means that the source cannot say.
    """

    id: str
    bounds: Mapping[str, object]
    rows: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """Tells what a bulk read is to read.

    `following` has the positions from which the connector's tasks go on once every split is in Kafka. With these
    stored, the tasks read every row that no split has, and none that a split has. One without an offset says that a
    task begins there as if it had never read, so an offset that is stored has to go. `statements` tell a person how the
    source is read. `warnings` tell what is not exact, each with its remedy. `is_fenced` says that `following` is empty,
    because a `FencedSource` can only tell these positions after the splits were read.
    """

    splits: Sequence[Split]
    following: Sequence[SourcePosition]
    statements: Sequence[str] = ()
    warnings: Sequence[str] = ()
    is_fenced: bool = False


class BulkReader(Protocol):
    """Reads splits one after the other. It is owned by one thread."""

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """Yield the rows of a split, in an order that is the same each time.

        `after` is the offset of the last batch that was kept of an earlier reading; with None the split is read from
        its beginning. A later call gets a batch's `position.offset` as `after` to go on behind that batch. A batch
        without such an offset cannot be the last that is kept: it is kept together with those that follow it, or not at
        all. RetriableError: the source is away.
        """

    def count(self, split: Split) -> int | None:
        """Return how many rows the source has in a split now, or None if this number says nothing about the rows that
        were read.
        """

    def close(self) -> None:
        """Release everything. It may be called twice."""


@runtime_checkable
class CountedReader(BulkReader, Protocol):
    """A reader whose source counts the rows that it is to give, at the moment at which they are read, may offer
    this.
    """

    @property
    def counted(self) -> int | None:
        """Return how many rows the source counted for the last call of `read`: those of its split behind its offset.

        The number is known once `read` has given its first batch. Return None if the source did not count.
        """


@runtime_checkable
class StampingReader(BulkReader, Protocol):
    """A reader may offer this if its rows may hold the time of their reading, so that a second reading gives other
    rows.
    """

    @property
    def stamps_rows(self) -> bool:
        """Tell if rows hold the time of their reading, so that they cannot be compared with rows read later."""


@runtime_checkable
class DivisibleReader(BulkReader, Protocol):
    """A reader that can cut a split again while it reads it may offer this."""

    def divide(self, split: Split, offset: Mapping[str, object], parts: int) -> Sequence[Split]:
        """Cut a split behind an offset that `read` gave with one of its batches, and return the splits that replace it.

        The first one has what was read up to the offset, and keeps the split's id. The others, about `parts`, have the
        rest; each id of theirs begins with the split's id. Together they have the rows of `split`, none twice, and
        reading them gives the same rows as reading `split` would. The answer is empty if the split cannot be cut there.
        """


@runtime_checkable
class RejectingReader(BulkReader, Protocol):
    """A reader that can leave out rows that no record can hold may offer this."""

    def reject_by(self, reject: Callable[[Batch, Mapping[int, Exception]], None]) -> None:
        """Let `read` leave such rows out from now on and tell of them; without this call `read` raises SchemaError at
        the first one.

        `reject` is called before `read` gives the batch whose position is behind the rows. Its batch has the rows as
        they can be held, as text for example; the mapping has reasons by indices in it.
        """


@runtime_checkable
class KeyedReader(BulkReader, Protocol):
    """A reader that also finds rows by their keys may offer this. So one can tell which rows of a topic the source has
    no more.
    """

    def find(self, topic: str, keys: Sequence[Any]) -> Iterator[Batch]:
        """Yield the rows that the source now has for some keys, as `read` gives them, without positions.

        `topic` is the topic of their records. `keys` are as in `Batch.keys`, in their Python form. SchemaError: they
        are no keys of the topic's rows. RetriableError: the source is away.
        """


@runtime_checkable
class BulkSource(Protocol):
    """A source connector that can be read in bulk may offer this."""

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Find the place at which following begins, and cut what is before it into splits.

        It waits for the place until the deadline. RetriableError: the place was not found by then. ConnectError: the
        source cannot be read in bulk; the text says why.
        """

    def bulk_reader(self) -> BulkReader:
        """Return a reader of splits of any plan of this configuration. It connects with the first call."""


class RowCount(NamedTuple):
    """Counts the rows of a table or the like, as the source has them now.

    `splits` has the ids of the table's splits in a plan. `rows` is how many rows these are to have together, counted
    without the splits. `left_out` counts the rows that neither a split nor following ever reads, and `why` is the
    reason, as it stands in a sentence behind "as".
    """

    name: str
    splits: Sequence[str]
    rows: int
    left_out: int = 0
    why: str = ""


@runtime_checkable
class AuditedSource(BulkSource, Protocol):
    """A bulk source that counts the rows that a plan is to have without using the plan's splits may offer this."""

    def count_all(self, splits: Sequence[Split], deadline: Deadline) -> Sequence[RowCount]:
        """Count the rows of each table that these splits of one plan belong to; `RowCount.splits` has the splits' ids.

        The answer is empty if the rows that the source has now say nothing about those that were read. RetriableError:
        the source is away.
        """


class SourceLoad(NamedTuple):
    """Tells how busy a source is; a value is None if the source cannot say. `replica_lag_s` is how far the slowest
    replica is behind, in seconds; it is 0 without replicas.
    """

    active_sessions: int | None
    replica_lag_s: float | None


@runtime_checkable
class MeasuredSource(BulkSource, Protocol):
    """A bulk source may offer this to say how busy it is, and how much reading costs it, so that a backfill can spare
    it.
    """

    @property
    def connections_per_reader(self) -> int:
        """Return how many connections a reader holds at most while it reads. The call itself connects to nothing.

        A reader may open one more for the moment of a short question in between.
        """

    def load(self, deadline: Deadline) -> SourceLoad:
        """Return the load of the source now. It is called every few seconds, from any thread.

        Raise RetriableError when the source does not answer.
        """


class ReadSplit(NamedTuple):
    """Holds a split whose rows are all in Kafka, and the offset of its last batch."""

    split: Split
    offset: Mapping[str, object]


@runtime_checkable
class FencedSource(BulkSource, Protocol):
    """A bulk source may offer this if it keeps a log of its changes while its splits are read, each at another moment.

    The offset of a batch also tells at which moments the rows of its split were read so far.
    """

    def begin_bulk(self, plan: BulkPlan, deadline: Deadline) -> Sequence[SourcePosition]:
        """Let the source keep its changes from now on, and return the positions at which they begin.

        It is called for a plan that `is_fenced` before any split is read, and again if the backfill's driver died after
        the call. RetriableError: the source cannot begin by the deadline.
        """

    def following_behind(self, begun: Sequence[SourcePosition], read: Sequence[ReadSplit]) -> Sequence[SourcePosition]:
        """Return the positions from which the connector's tasks go on: `begun`, completed by which changes the splits
        hold.

        It is called for every plan. `read` has all splits of the job; a split that was cut again is there as its parts.
        ConnectError: nobody can tell which changes they hold.
        """


@runtime_checkable
class PlannedSource(BulkSource, Protocol):
    """A bulk source may offer this to name the settings on which a plan rests."""

    @property
    def planned_by(self) -> Collection[str]:
        """Return the keys that decide where splits end and from where the connector goes on. The call connects to
        nothing.

        A job whose connector has another value of one is not resumed or handed over.
        """


class HeldSnapshot(Protocol):
    """Stands for a moment of a source, at which any process can read splits until it is closed. One thread owns it."""

    def placed(self, split: Split) -> Split:
        """Return the split, bound to this moment. A reader of it raises ConnectError once the moment is closed.

        If the split is cut again, its parts are not bound to any moment.
        """

    def close(self) -> None:
        """Let the source give the moment up. It may be called twice."""


@runtime_checkable
class SnapshotSource(FencedSource, Protocol):
    """A fenced source whose splits may all be read at one moment, by any number of processes, may offer this."""

    def in_one_snapshot(self, plan: BulkPlan) -> BulkPlan:
        """Return a fenced plan with the statements and warnings that hold if all splits are read at one moment.

        ConfigError: this source cannot read them so; the text says why.
        """

    def hold_snapshot(self, deadline: Deadline) -> HeldSnapshot:
        """Hold the present moment. It is called after `begin_bulk`, so that the source already keeps the changes that
        come after the moment, as it does for any fenced plan.

        ConfigError: this source cannot hold a moment. RetriableError: the source is away.
        """


@dataclass(frozen=True, slots=True)
class BulkChunk:
    """Names the rows of a split by job and id, so that no other rows ever have the same name.

    `job` and `id` have only letters, digits, '.', '_' and '-'. `is_stable` says that every call of `write` for this
    chunk gets the same rows, except for records that compaction or retention has removed since. It is False if the rows
    are those of a table, which may have been changed or deleted between two calls.
    """

    job: str
    id: str
    is_stable: bool


@dataclass(frozen=True, slots=True)
class WrittenChunk:
    """Tells how many rows and bytes of a chunk the target has, whichever call wrote them. Rejected rows do not count.
    `size_bytes` is 0 if the target cannot say.
    """

    rows: int
    size_bytes: int


class BulkSinkContext(Protocol):
    """Lets a bulk writer ask the framework for things."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows that the target cannot hold; they are dead-lettered or fail the job as `errors.*` say.

        `batch` is the one that was given to `write`; `rows` maps indices in it to reasons. Call it before `write`
        returns. Each dead letter is in Kafka once, however often the chunk is written again.
        """

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return Avro values as `SinkContext.avro` does."""


class BulkWriter(Protocol):
    """Writes chunks one after the other. It is owned by one thread."""

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Make all rows of a chunk durable, each in the target once, and return how much of the chunk the target has.

        It is called again with the same chunk when nobody knows how an earlier call ended. Another process may have
        died in that call, at any place, or may still be in it. Whatever each of them does, the target must have every
        row once when a call returns, and ever after. So the chunk's name decides where its rows go (the name of an
        object, of a load job), or a mark of the chunk is written in the transaction of its rows (SQL). `batches` are
        sink batches in order, each with `consumed`. Rows that were never in Kafka have partition 0 of their topic, and
        their number in the chunk as offset. The batches are read from the source while one iterates over them.
        RetriableError: `write` is called again. Any other error fails the job; when the job is run again, it goes on
        with this chunk.
        """

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Ask the target how many rows of each of these chunks it has now, and return the numbers by the chunks'
        ids.
        """

    def close(self) -> None:
        """Release everything. It may be called twice."""


@runtime_checkable
class BulkSink(Protocol):
    """A sink connector that takes rows in bulk may offer this."""

    def bulk_writer(self, ctx: BulkSinkContext) -> BulkWriter:
        """Return a writer of chunks of any job. It connects with the first call.

        ConfigError: under these settings, a chunk that is written twice would have its rows twice.
        """


@runtime_checkable
class OrderedBulkSink(BulkSink, Protocol):
    """A bulk sink may offer this if it may need a partition's records in their order, as the last record of a key
    counts.
    """

    @property
    def chunks_in_order(self) -> bool:
        """Tell if, under these settings, one lane has to write all chunks of a topic's partition, in their order."""
