"""The verdict of a verification: counts, content, keys and values, what was not compared, and their texts. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from connect.lib.printable import counted

_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class ChunkVerdict:
    """Holds the verdict on one chunk, in numbers of rows or records.

    source: rows that the source has now; read: it gave; wrote: records of the transactions; found: in the target. None:
    not finished, or not counted. letters: rows that no record can hold, and that are dead letters. places: first and
    last offset of what was found, by topic partition, as `flights-0`. unread: rows that the source counted when the
    chunk was read, and did not give; dropped: rows that were read and became neither record nor letter, where each row
    is to become one.
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
        """Return how many rows the source no longer has: deleted, or changed since and left to the connector."""
        return 0 if self.source is None or self.read is None else max(0, self.read - self.source)

    @property
    def is_changed(self) -> bool:
        """Return True if there are as many records as were written, but other ones."""
        whole = self.wrote is not None and self.found is not None and not self.missing and not self.twice
        return whole and not self.same_content

    @property
    def is_good(self) -> bool:
        """Return True if every row is there once, as it was written, as far as records were read."""
        return self.wrote is not None and not (self.missing or self.twice or self.is_changed)

    @property
    def finding(self) -> str:
        """Return what is wrong with the chunk; empty where nothing is."""
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
    """The keys of the records that were read: how many records have one, and how many different keys there are."""

    records: int
    distinct: int


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """Holds the rows of a table or the like, counted by itself.

    rows: those that its chunks are to have; in_chunks: as they were counted chunk by chunk, just before; left_out: rows
    that neither a chunk nor the connector reads, with why.
    """

    name: str
    rows: int
    in_chunks: int
    left_out: int = 0
    why: str = ""

    @property
    def missing(self) -> int:
        """Return how many rows are in no chunk: too few where rows are deleted meanwhile, never too many."""
        return max(0, self.rows - self.in_chunks)


@dataclass(frozen=True, slots=True)
class ValuesVerdict:
    """Rows of some chunks as the source has them now, made into records once more. compared: rows; differ: those whose
    record is not in the target as it would be now; chunks: which were compared; seed: by which they were chosen.
    """

    compared: int
    differ: int
    chunks: Sequence[str]
    seed: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the verdict on a whole job.

    `sample` is the share of its chunks whose records were read; 1.0 for all of them. again: records without the job's
    headers that are, byte for byte, some of the job's, written since it began. not_compared: what could not be looked
    at, and why, in sentences.
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
        """Return the ids of the chunks with as many records as were written, but other ones."""
        return [chunk.chunk for chunk in self.chunks if chunk.is_changed]

    @property
    def differ(self) -> int:
        """Return the number of rows, of those compared, that the source has with other values than the target."""
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
        """Tell if every row is there once, as it was written and as the source has it, as far as it was compared."""
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
        """Return the report for programs."""
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
        """Yield what was counted and compared, and what was not, in sentences."""
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
