"""Bulk work: a source cut into splits that any process reads alone, a sink that writes each split's rows once, and the
place from which following goes on.

A connector that can do this offers `BulkSource` or `BulkSink` beside `Connector`. A backfill plans once, works on each
split in some process of an engine, and hands over to the connector's tasks at `BulkPlan.following`.
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
    """How large a split is wanted. Estimates decide, so a split may turn out larger or smaller."""

    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Split:
    """Describes a bounded part of a source. No row is in two splits of one plan.

    id: unique in its plan; of letters, digits, '.', '_' and '-'. bounds: all that reading it needs beside the
    connector's configuration, as JSON; it is stored in Kafka and holds no secret. rows, size_bytes: estimates; 0 bytes
    means that the source cannot say.
    """

    id: str
    bounds: Mapping[str, object]
    rows: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """Tells what a bulk read is to read.

    following: the positions that the connector's tasks go on from once every split is in Kafka: with these stored, its
    tasks read every row that no split has, and none that a split has. statements: what a person sees of how it is read.
    warnings: what is not exact, with its remedy. is_fenced: `following` is empty, as a `FencedSource` tells it when the
    splits were read.
    """

    splits: Sequence[Split]
    following: Sequence[SourcePosition]
    statements: Sequence[str] = ()
    warnings: Sequence[str] = ()
    is_fenced: bool = False


class BulkReader(Protocol):
    """Reads splits one after the other. Owned by one thread."""

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """Yield the rows of a split, in an order that is the same each time.

        after: the offset of the last batch that was kept of an earlier reading; None: from the split's beginning. A
        batch's `position.offset` goes there when reading goes on behind it; None: it cannot, so that the batch is kept
        with what follows it or not at all. RetriableError: the source is away.
        """

    def count(self, split: Split) -> int | None:
        """Return how many rows the source has in a split now; None: that says nothing of those that were read."""

    def close(self) -> None:
        """Release everything. May be called twice."""


@runtime_checkable
class CountedReader(BulkReader, Protocol):
    """A reader whose source counts what it is to give, at the moment at which it is read. Optional."""

    @property
    def counted(self) -> int | None:
        """Return how many rows the source counted of what `read` was called for last: of a split, behind an offset.

        Known once `read` has given its first batch. None: the source did not count.
        """


@runtime_checkable
class StampingReader(BulkReader, Protocol):
    """A reader whose rows may tell when they were read: no second reading gives equal ones. Optional."""

    @property
    def stamps_rows(self) -> bool:
        """Tell if rows hold the time of their reading, so that they cannot be compared with rows read later."""


@runtime_checkable
class DivisibleReader(BulkReader, Protocol):
    """A reader that can cut a split again while it reads it. Optional."""

    def divide(self, split: Split, offset: Mapping[str, object], parts: int) -> Sequence[Split]:
        """Cut off what is behind an offset of the split, which is one of a batch that `read` gave.

        First comes what was read up to there, under the split's id, then the rest in about `parts` splits; each of
        their ids is the split's and what tells it from the others. Together they have the rows of `split`, none twice,
        and their readings as they would be in it. Empty: it cannot be cut there.
        """


@runtime_checkable
class RejectingReader(BulkReader, Protocol):
    """A reader that can leave out rows that no record can hold. Optional."""

    def reject_by(self, reject: Callable[[Batch, Mapping[int, Exception]], None]) -> None:
        """Let `read` leave such rows out from now on and tell of them; without this call the first one is a
        SchemaError.

        `reject` is called before `read` gives the batch whose position is behind the rows. Its batch has the rows as
        they can be held, as text for example; the mapping has reasons by indices in it.
        """


@runtime_checkable
class KeyedReader(BulkReader, Protocol):
    """A reader that finds rows by their keys too: by it one sees what a topic has and the source no more. Optional."""

    def find(self, topic: str, keys: Sequence[Any]) -> Iterator[Batch]:
        """Yield the rows that the source has now of some keys, as `read` gives them, without positions.

        topic: that of their records; keys: as `Batch.keys` holds them, in their Python form. SchemaError: they are no
        keys of the topic's rows. RetriableError: the source is away.
        """


@runtime_checkable
class BulkSource(Protocol):
    """A source connector that can be read in bulk. Optional."""

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Find the place at which following begins, and cut what is before it.

        Waits for the place until the deadline: RetriableError when it is over. ConnectError: it cannot be read in bulk,
        with the reason.
        """

    def bulk_reader(self) -> BulkReader:
        """Return a reader of splits of any plan of this configuration. It connects with the first call."""


class RowCount(NamedTuple):
    """Counts the rows of a table or the like, as the source has them now.

    rows: those that the splits of a plan are to have together, counted without the splits. left_out: those that neither
    a split nor following ever reads; why: for what reason, behind "as".
    """

    name: str
    splits: Sequence[str]
    rows: int
    left_out: int = 0
    why: str = ""


@runtime_checkable
class AuditedSource(BulkSource, Protocol):
    """A bulk source that counts what a plan is to have beside the plan's own splits. Optional."""

    def count_all(self, splits: Sequence[Split], deadline: Deadline) -> Sequence[RowCount]:
        """Count the rows of each table that these splits of one plan are of; `RowCount.splits` has the splits' ids.

        Empty: its rows now say nothing of those that were read. RetriableError: the source is away.
        """


class SourceLoad(NamedTuple):
    """How busy a source is. None: it cannot say. replica_lag_s: of the replica that is farthest behind; 0: of none."""

    active_sessions: int | None
    replica_lag_s: float | None


@runtime_checkable
class MeasuredSource(BulkSource, Protocol):
    """A bulk source that says how busy it is, and what reading takes of it: a backfill can then spare it. Optional."""

    @property
    def connections_per_reader(self) -> int:
        """Return how many connections a reader holds at most while it reads; connects to nothing.

        A question that is asked and answered in between may have one more for that moment.
        """

    def load(self, deadline: Deadline) -> SourceLoad:
        """Return the load of the source now; asked every few seconds, from any thread.

        Raise RetriableError when the source does not answer.
        """


class ReadSplit(NamedTuple):
    """A split that is in Kafka to its end, and the offset of its last batch."""

    split: Split
    offset: Mapping[str, object]


@runtime_checkable
class FencedSource(BulkSource, Protocol):
    """A bulk source that logs its changes while its splits are read, each at another moment. Optional.

    The offset of a batch tells at which moments the rows of its split were read up to there.
    """

    def begin_bulk(self, plan: BulkPlan, deadline: Deadline) -> Sequence[SourcePosition]:
        """Let the source keep its changes from now on; the positions at which they begin.

        Called for a plan that `is_fenced`, before any split is read, and again where the driver died behind it.
        RetriableError: the source cannot begin by the deadline.
        """

    def following_behind(self, begun: Sequence[SourcePosition], read: Sequence[ReadSplit]) -> Sequence[SourcePosition]:
        """Return the positions that the connector's tasks go on from: `begun`, and what tells which changes the splits
        hold.

        Called for every plan. read: all splits of the job, those that were cut again as they are now. ConnectError:
        nothing can tell.
        """


class HeldSnapshot(Protocol):
    """A moment of a source at which any process reads its splits, until it is closed. Owned by one thread."""

    def placed(self, split: Split) -> Split:
        """Return the split, to be read at this moment: a reader raises ConnectError once that is gone.

        Its pieces, where it is cut again, are of no moment.
        """

    def close(self) -> None:
        """Let the source go on without it. May be called twice."""


@runtime_checkable
class SnapshotSource(FencedSource, Protocol):
    """A fenced source whose splits may all be read at one moment, by any number of processes. Optional."""

    def in_one_snapshot(self, plan: BulkPlan) -> BulkPlan:
        """Return a fenced plan with what it says of reading all splits at one moment, and warns of.

        ConfigError: this source cannot, with the reason.
        """

    def hold_snapshot(self, deadline: Deadline) -> HeldSnapshot:
        """Hold the moment of now. Called behind `begin_bulk`, so that the positions behind it are those of any fences.

        ConfigError: this source cannot. RetriableError: it is away.
        """


@dataclass(frozen=True, slots=True)
class BulkChunk:
    """The rows of a split, under a name that no other rows ever have.

    job, id: both of letters, digits, '.', '_' and '-'. is_stable: the same rows come at every call, but for records
    that compaction or retention has removed since. False: rows of a table, which may have been changed or deleted
    between two calls.
    """

    job: str
    id: str
    is_stable: bool


@dataclass(frozen=True, slots=True)
class WrittenChunk:
    """What the target has of a chunk, whichever call wrote it: rows without those that were rejected, and bytes there;
    0 bytes: the target cannot say.
    """

    rows: int
    size_bytes: int


class BulkSinkContext(Protocol):
    """What a bulk writer may ask of the framework."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows that the target cannot hold; they are dead-lettered or fail the job as `errors.*` say.

        `batch` as it was given to `write`; `rows` maps indices in it to reasons. Call it before `write` returns. The
        letters are in Kafka once, however often the chunk is written again.
        """

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return Avro values as `SinkContext.avro` does."""


class BulkWriter(Protocol):
    """Writes chunks one after the other. Owned by one thread."""

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Make all rows of a chunk durable, each in the target once, and say what the target has of it.

        Called again with the same chunk when nobody knows how an earlier call ended. Another process may have died in
        it, at any place, or may still be in it: whatever each of them does, the target has every row once when a call
        returns and ever after. So the chunk's name decides where its rows go (the name of an object, of a load job), or
        a mark of the chunk is written in the transaction of its rows (SQL).
        batches: sink batches in order, each with `consumed`. Rows that were never in Kafka have partition 0 of their
        topic and their number in the chunk as offset. They are read while they are iterated over.
        RetriableError: called again. Any other error fails the job, which goes on here when it is run again.
        """

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Ask the target how many rows it has now of each of these chunks, and return the numbers by id."""

    def close(self) -> None:
        """Release everything. May be called twice."""


@runtime_checkable
class BulkSink(Protocol):
    """A sink connector that takes rows in bulk. Optional."""

    def bulk_writer(self, ctx: BulkSinkContext) -> BulkWriter:
        """Return a writer of chunks of any job. It connects with the first call.

        ConfigError: a setting makes it impossible to write a chunk twice and have its rows once.
        """


@runtime_checkable
class OrderedBulkSink(BulkSink, Protocol):
    """A bulk sink that may need a partition's records in their order, as the last record of a key counts. Optional."""

    @property
    def chunks_in_order(self) -> bool:
        """Tell if the chunks of a topic's partition are written by one lane, in their order, under these settings."""
