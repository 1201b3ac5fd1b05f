"""Holds and words the verdict of a verification: counts, content, keys, values, and what was not compared. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from connect.lib.printable import counted

_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class ChunkVerdict:
    """Holds the verdict on one chunk, in numbers of rows or records.

    `source` counts the rows that the source has now, `read` those that it gave, `wrote` the records of the
    transactions, and `found` the records in the target. None means not finished, or not counted. `letters` counts rows
    that no record can hold and that became dead letters. `places` has the first and last offset of the found records by
    topic partition, such as `flights-0`. `unread` counts rows that the source counted when the chunk was read but did
    not give. `dropped` counts rows that were read and became neither record nor letter, if each row has to become one.
    """

    chunk: str
    source: int | None
    read: int | None
    wrote: int | None
    found: int | None
    same_content: bool
    letters: int = 0
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unread: int = 0
    dropped: int = 0

    @property
    def missing(self) -> int:
        """Return the number of rows that are in the source or were written, and are not in the target."""
        later = 0 if self.source is None or self.read is None else max(0, self.source - self.read)
        lost = 0 if self.found is None else max(0, (self.wrote or 0) - self.found)
        return max(later, self.unread) + self.dropped + lost

    @property
    def twice(self) -> int:
        """Return the number of records that are there more often than they were written."""
        return 0 if self.found is None else max(0, self.found - (self.wrote or 0))

    @property
    def gone(self) -> int:
        """Return how many rows the source no longer has: deleted ones, and changed ones that the connector sends."""
        return 0 if self.source is None or self.read is None else max(0, self.read - self.source)

    @property
    def is_changed(self) -> bool:
        """Return True if there are as many records as were written, but with other content."""
        whole = self.wrote is not None and self.found is not None and not self.missing and not self.twice
        return whole and not self.same_content

    @property
    def is_good(self) -> bool:
        """Return True if every row is there once, as it was written, as far as records were read."""
        return self.wrote is not None and not (self.missing or self.twice or self.is_changed)

    @property
    def finding(self) -> str:
        """Return in words what is wrong with the chunk; empty if nothing is."""
        if self.wrote is None:
            return "not finished"
        parts = [f"{count} {what}" for count, what in ((self.missing, "missing"), (self.twice, "twice")) if count]
        if self.dropped:
            parts.append(f"{self.dropped} of them read and not written")
        if self.is_changed:
            parts.append("other content than was written")
        where = ", ".join(f"{place} from {first} to {last}" for place, (first, last) in self.places.items())
        return ", ".join(parts) + (f" (offsets {where})" if parts and where else "")


@dataclass(frozen=True, slots=True)
class Keys:
    """Tells how many of the records that were read have a key, and how many different keys there are."""

    records: int
    distinct: int


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """Holds the count of a table's rows, or of a similar unit of the source.

    `rows` counts those that belong to its chunks. `in_chunks` is the sum of the counts of its chunks, taken just
    before. `left_out` counts rows that neither a chunk nor the connector reads, and `why` says the reason.
    """

    name: str
    rows: int
    in_chunks: int
    left_out: int = 0
    why: str = ""

    @property
    def missing(self) -> int:
        """Return how many rows are in no chunk. It may be too low if rows are deleted meanwhile, but never too high."""
        return max(0, self.rows - self.in_chunks)


@dataclass(frozen=True, slots=True)
class ValuesVerdict:
    """Tells how rows of some chunks compare, read from the source again and made into records once more.

    `compared` counts rows. `differ` counts rows whose record is not in the target as it would be now. `chunks` are the
    chunks that were compared, and `seed` is what they were drawn by.
    """

    compared: int
    differ: int
    chunks: Sequence[str]
    seed: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the verdict on a whole job.

    `sample` is the share of the chunks whose records were read; 1.0 for all of them. `again` counts records without the
    job's headers, written since the job began, that equal one of its records byte for byte. `not_compared` says in
    sentences what could not be examined, and why.
    """

    job: str
    chunks: Sequence[ChunkVerdict]
    keys: Keys | None = None
    sample: float = 1.0
    tables: Sequence[TableVerdict] = ()
    values: ValuesVerdict | None = None
    again: int = 0
    not_compared: Sequence[str] = ()

    @property
    def unfinished(self) -> list[str]:
        """Return the ids of the chunks that are not written to their end."""
        return [chunk.chunk for chunk in self.chunks if chunk.wrote is None]

    @property
    def missing(self) -> int:
        """Return the number of missing rows."""
        return sum(chunk.missing for chunk in self.chunks) + sum(table.missing for table in self.tables)

    @property
    def twice(self) -> int:
        """Return the number of records that are there twice."""
        return sum(chunk.twice for chunk in self.chunks) + self.again

    @property
    def changed(self) -> list[str]:
        """Return the ids of the chunks with as many records as were written, but with other content."""
        return [chunk.chunk for chunk in self.chunks if chunk.is_changed]

    @property
    def differ(self) -> int:
        """Return how many of the compared rows have other values in the source than in the target."""
        return 0 if self.values is None else self.values.differ

    @property
    def bad(self) -> list[ChunkVerdict]:
        """Return the chunks with which something is wrong."""
        return [chunk for chunk in self.chunks if not chunk.is_good]

    @property
    def looked_at(self) -> int:
        """Return the number of chunks whose records were counted in the target."""
        return sum(chunk.found is not None for chunk in self.chunks)

    @property
    def is_good(self) -> bool:
        """Return True if every row is there once, as written and as the source has it, as far as that was compared."""
        return not (self.bad or self.again or self.differ or any(table.missing for table in self.tables))

    @property
    def line(self) -> str:
        """Return the whole verdict in a line."""
        counts = f"{self.missing} missing, {self.twice} twice"
        if self.differ:
            counts += f", {self.differ} with other values than in the source"
        if not self.is_good:
            return f"NOT good: {counts}"
        return f"good{', as far as it was compared' if self.not_compared else ''}: {counts}"

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as JSON, for programs."""
        summary = {
            "missing": self.missing, "twice": self.twice, "changed": self.changed, "unfinished": self.unfinished,
            "differ": self.differ, "again": self.again, "not_compared": list(self.not_compared), "verdict": self.line,
        }  # fmt: skip
        looked = {
            "sample": self.sample,
            "looked_at": self.looked_at,
            "keys": None if not self.keys else asdict(self.keys),
            "tables": [asdict(table) for table in self.tables],
            "values": None if self.values is None else asdict(self.values),
        }
        chunks = [asdict(chunk) | {"finding": chunk.finding} for chunk in self.chunks]
        return {"job": self.job, "good": self.is_good, **summary, **looked, "chunks": chunks}

    def facts(self) -> Iterator[str]:
        """Yield sentences about what was counted and compared, and what was not."""
        written = sum(chunk.wrote or 0 for chunk in self.chunks)
        found = sum(chunk.found or 0 for chunk in self.chunks)
        yield f"{counted(len(self.chunks), 'chunk')}, {counted(written, 'record')} written"
        yield f"{counted(found, 'record')} found in the target, of {counted(self.looked_at, 'chunk')}"
        if recounted := [chunk for chunk in self.chunks if chunk.source is not None]:
            yield f"{counted(sum(chunk.source or 0 for chunk in recounted), 'row')} counted in the source now"
        if self.keys is not None and self.keys.records:
            again = self.keys.records - self.keys.distinct
            repeated = f"{counted(again, 'record')} with a key that another one has"
            yield f"{counted(self.keys.distinct, 'distinct key')}; {repeated}"
        if letters := sum(chunk.letters for chunk in self.chunks):
            yield counted(letters, "dead letter")
        if gone := sum(chunk.gone for chunk in self.chunks):
            yield f"{counted(gone, 'row')} deleted or changed in the source since it was read"
        yield from self._of_source()
        yield from (f"not compared: {text}" for text in self.not_compared)

    def _of_source(self) -> Iterator[str]:
        for table in self.tables:
            if table.missing:
                yield f"{table.name}: {counted(table.missing, 'row')} in no chunk"
            if table.left_out:
                yield f"{table.name}: {counted(table.left_out, 'row')} read by nobody, as {table.why}"
        if self.again:
            yield f"{counted(self.again, 'record')} once more there without the job's headers, written since it began"
        if (values := self.values) is not None:
            differ = f"{values.differ:,} differ" if values.differ else "none differs"
            drawn = f"{counted(len(values.chunks), 'chunk')}, drawn by the seed {values.seed},"
            yield f"{counted(values.compared, 'row')} of {drawn} compared with the source value by value: {differ}"

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report for people."""
        yield from self.facts()
        for chunk in self.bad[:_NAMED]:
            yield f"  chunk {chunk.chunk}: {chunk.finding}"
        if len(self.bad) > _NAMED:
            yield f"  and {len(self.bad) - _NAMED:,} more chunks"
        yield self.line
