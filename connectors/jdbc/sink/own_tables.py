"""Keeps the sink's own tables, in which each transaction notes which rows it has written.

`exactly.once.table` has a row per partition of a topic, `backfill.table` one per chunk of a backfill. Both note refused
rows, too: if the task dies before their dead letters are in Kafka, these are sent again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import mysql as my

from connect.api.errors import ConnectError
from connect.api.optional.bulk import BulkChunk
from connect.api.records import Consumed, TopicPartition
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.refusals import RefusedRowsError
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

_LONG: Final = sa.Text().with_variant(my.LONGTEXT(), "mysql", "mariadb")


class RowPlace(NamedTuple):
    """Names one row of a partition: by the offset of its record, and its number among the rows that transforms made of
    the record. A record of one row has the number 0.
    """

    offset: int
    number: int = 0

    @property
    def text(self) -> str:
        """Write the place as text."""
        return f"{self.offset}+{self.number}" if self.number else str(self.offset)

    @classmethod
    def parse(cls, text: str) -> RowPlace:
        """Parse the text of a place."""
        offset, _, number = text.partition("+")
        return cls(int(offset), int(number or 0))


def places_of(consumed: Consumed) -> list[RowPlace]:
    """Return the places of a batch's rows."""
    offsets: list[int] = consumed.offsets.to_pylist()
    numbers = repeat(0) if consumed.row_numbers is None else consumed.row_numbers.to_pylist()
    return [RowPlace(offset, number) for offset, number in zip(offsets, numbers, strict=False)]


Reasons = Mapping[RowPlace, str]
"""Holds the reasons why rows were refused, by the rows' places."""


@dataclass(frozen=True, slots=True)
class Written:
    """Tells which rows of a partition are written: those of all offsets before `base`, and those of `above`; `refused`
    are among them.

    Rows of one read may come as several batches with interleaved offsets, so that one offset cannot tell it.
    """

    base: int
    above: frozenset[RowPlace]
    refused: Reasons

    def has(self, place: RowPlace) -> bool:
        """Return True if this row is written. A row that was refused is tried again, for its dead letter."""
        return (place.offset < self.base or place in self.above) and place not in self.refused

    def plus(self, places: Iterable[RowPlace], refused: Reasons, base: int) -> Written:
        """Return what is written with a further batch. All offsets before `base` are written."""
        given = frozenset(places)
        base = max(self.base, base)
        kept = {place: why for place, why in self.refused.items() if place not in given}
        return Written(base, frozenset(p for p in self.above | given if p.offset >= base), {**kept, **refused})

    def without_refused_before(self, offset: int) -> Written:
        """Return this without the refused rows before an offset, whose dead letters are known to be in Kafka."""
        return replace(self, refused={place: why for place, why in self.refused.items() if place.offset >= offset})


def runs_of(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Return the offsets as pairs of the first and the last of each run without a gap."""
    found = (list(run) for _, run in groupby(enumerate(sorted(offsets)), lambda pair: pair[1] - pair[0]))
    return [(run[0][1], run[-1][1]) for run in found]


def places_to_text(places: Iterable[RowPlace]) -> str:
    """Write places as JSON: runs of offsets, and in threes each offset twice with the number of a row made of it."""
    given = list(places)
    runs = runs_of(place.offset for place in given if not place.number)
    numbered = [(place.offset, place.offset, place.number) for place in sorted(given) if place.number]
    return json.dumps([*runs, *numbered])


def places_from_text(text: str) -> frozenset[RowPlace]:
    """Return the places that `places_to_text` wrote."""
    runs = json.loads(text)
    return frozenset(RowPlace(offset, *number) for first, last, *number in runs for offset in range(first, last + 1))


def _texts(reasons: Reasons) -> dict[str, str]:
    return {place.text: why for place, why in reasons.items()}


def _reasons(found: Mapping[str, str]) -> dict[RowPlace, str]:
    return {RowPlace.parse(place): why for place, why in found.items()}


class WrittenOffsets:
    """Reads and writes the table of offsets. Owned by the task thread."""

    def __init__(self, config: JdbcSinkConfig, database: TargetDatabase, connector: str) -> None:
        self._database = database
        self._connector = connector
        self._table = sa.Table(
            config.offsets_table, sa.MetaData(),
            sa.Column("connector", sa.String(255), primary_key=True),
            sa.Column("topic", sa.String(249), primary_key=True),
            sa.Column("topic_id", sa.String(40), primary_key=True),
            sa.Column("kafka_partition", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("base", sa.BigInteger, nullable=False), sa.Column("above", _LONG, nullable=False),
            sa.Column("refused", _LONG, nullable=False),
        )  # fmt: skip

    def make(self, partition: TopicPartition, topic_id: str) -> None:
        """Make the table and the partition's row if they are missing, in a separate transaction."""
        key = self._key(partition, topic_id)
        self._database.ensure(self._table)
        with self._database.transaction("noting offsets") as connection:
            with_none = {"base": 0, "above": "[]", "refused": "{}"}
            if connection.execute(sa.select(self._table.c.base).where(*self._is(key))).first() is None:
                try:
                    with self._database.part(connection):
                        connection.execute(self._table.insert().values({**key, **with_none}))
                except RefusedRowsError:
                    return  # another task has made it

    def locked(self, connection: sa.Connection, partition: TopicPartition, topic_id: str) -> Written:
        """Return what is written of a partition. No other task can write rows of it until the transaction ends."""
        where = self._is(self._key(partition, topic_id))
        # An UPDATE locks the row on every database; SELECT … FOR UPDATE does not.
        connection.execute(self._table.update().where(*where).values(base=self._table.c.base))
        found = connection.execute(sa.select(self._table).where(*where)).mappings().one()
        return Written(found["base"], places_from_text(found["above"]), _reasons(json.loads(found["refused"])))

    def note(self, connection: sa.Connection, partition: TopicPartition, topic_id: str, written: Written) -> None:
        """Note what is written of a partition."""
        above, refused = places_to_text(written.above), json.dumps(_texts(written.refused))
        values = {"base": written.base, "above": above, "refused": refused}
        where = self._is(self._key(partition, topic_id))
        connection.execute(self._table.update().where(*where).values(values))

    def _key(self, partition: TopicPartition, topic_id: str) -> dict[str, Any]:
        topic, number = partition
        return {"connector": self._connector, "topic": topic, "topic_id": topic_id, "kafka_partition": number}

    def _is(self, key: Mapping[str, Any]) -> list[sa.ColumnElement[bool]]:
        return [self._table.c[name] == value for name, value in key.items()]


@dataclass(frozen=True, slots=True)
class NotedChunk:
    """Describes a chunk that is written: its number of rows, and the refused ones."""

    rows: int
    refused: Mapping[TopicPartition, Reasons]


class WrittenChunks:
    """Reads and writes the table of chunks. Owned by one thread."""

    def __init__(self, config: JdbcSinkConfig, database: TargetDatabase) -> None:
        self._database = database
        self._table = sa.Table(
            config.chunks_table, sa.MetaData(),
            sa.Column("job", sa.String(249), primary_key=True), sa.Column("chunk", sa.String(300), primary_key=True),
            sa.Column("written_rows", sa.BigInteger, nullable=False), sa.Column("refused", _LONG, nullable=False),
        )  # fmt: skip

    def make(self) -> None:
        """Make the table if it is missing."""
        self._database.ensure(self._table)

    def begun(self, connection: sa.Connection, chunk: BulkChunk) -> NotedChunk | None:
        """Note the chunk, so that another writer of it waits.

        Return what was noted of it before, or None if nothing was.
        """
        nothing = {"written_rows": 0, "refused": "[]"}
        try:
            with self._database.part(connection):
                connection.execute(self._table.insert().values(job=chunk.job, chunk=chunk.id, **nothing))
        except RefusedRowsError:
            found = connection.execute(sa.select(self._table).where(*self._is(chunk))).mappings().first()
            if found is None:
                raise ConnectError(f"Chunk {chunk.id} of {chunk.job} can neither be noted nor found.") from None
            refused = {
                TopicPartition(topic, partition): _reasons(reasons)
                for topic, partition, reasons in json.loads(found["refused"])
            }
            return NotedChunk(found["written_rows"], refused)
        return None

    def note(self, connection: sa.Connection, chunk: BulkChunk, noted: NotedChunk) -> None:
        """Note what is written of a chunk."""
        refused = [[*partition, _texts(reasons)] for partition, reasons in noted.refused.items()]
        values = {"written_rows": noted.rows, "refused": json.dumps(refused)}
        connection.execute(self._table.update().where(*self._is(chunk)).values(values))

    def rows_of(self, chunks: Collection[BulkChunk]) -> dict[str, int]:
        """Return how many rows were written of each chunk."""
        wanted = {(chunk.job, chunk.id) for chunk in chunks}
        statement = sa.select(self._table.c.job, self._table.c.chunk, self._table.c.written_rows)
        jobs = sorted({job for job, _ in wanted})
        with self._database.transaction("counting chunks") as connection:
            found = connection.execute(statement.where(self._table.c.job.in_(jobs))).fetchall()
        return {chunk: 0 for _, chunk in wanted} | {c: rows for job, c, rows in found if (job, c) in wanted}

    def _is(self, chunk: BulkChunk) -> list[sa.ColumnElement[bool]]:
        return [self._table.c.job == chunk.job, self._table.c.chunk == chunk.id]
