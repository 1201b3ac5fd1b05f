"""The verdict of a verification: counts, content and keys of each chunk, and their texts. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class ChunkVerdict:
    """One chunk. source: rows that the source has now; read: it gave; wrote: records of the transactions; found: in
    the target. None: not finished, or not counted. letters: rows that no record can hold, and that are dead letters.
    places: first and last offset of what was found, by topic partition, as `flights-0`.
    """

    chunk: str
    source: int | None
    read: int | None
    wrote: int | None
    found: int | None
    same_content: bool
    letters: int = 0
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """The number of rows that are in the source or were written, and are not in the target."""
        unread = 0 if self.source is None or self.read is None else max(0, self.source - self.read)
        return unread + (0 if self.found is None else max(0, (self.wrote or 0) - self.found))

    @property
    def twice(self) -> int:
        """The number of records that are there more often than they were written."""
        return 0 if self.found is None else max(0, self.found - (self.wrote or 0))

    @property
    def gone(self) -> int:
        """The number of rows that the source no longer has: deleted, or changed since and left to the connector."""
        return 0 if self.source is None or self.read is None else max(0, self.read - self.source)

    @property
    def is_changed(self) -> bool:
        """Whether there are as many records as were written, but other ones."""
        whole = self.wrote is not None and self.found is not None and not self.missing and not self.twice
        return whole and not self.same_content

    @property
    def is_good(self) -> bool:
        """Whether every row is there once, as it was written, as far as records were read."""
        return self.wrote is not None and not (self.missing or self.twice or self.is_changed)

    @property
    def finding(self) -> str:
        """What is wrong with the chunk; empty where nothing is."""
        if self.wrote is None:
            return "not finished"
        parts = [f"{count} {what}" for count, what in ((self.missing, "missing"), (self.twice, "twice")) if count]
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
class Verdict:
    """The verdict on a whole job. `sample` is the share of its chunks whose records were read; 1.0 for all of them."""

    job: str
    chunks: Sequence[ChunkVerdict]
    keys: Keys | None = None
    sample: float = 1.0

    @property
    def unfinished(self) -> list[str]:
        """The ids of the chunks that are not written to their end."""
        return [chunk.chunk for chunk in self.chunks if chunk.wrote is None]

    @property
    def missing(self) -> int:
        """The number of missing rows."""
        return sum(chunk.missing for chunk in self.chunks)

    @property
    def twice(self) -> int:
        """The number of records that are there twice."""
        return sum(chunk.twice for chunk in self.chunks)

    @property
    def changed(self) -> list[str]:
        """The ids of the chunks with as many records as were written, but other ones."""
        return [chunk.chunk for chunk in self.chunks if chunk.is_changed]

    @property
    def bad(self) -> list[ChunkVerdict]:
        """The chunks with which something is wrong."""
        return [chunk for chunk in self.chunks if not chunk.is_good]

    @property
    def looked_at(self) -> int:
        """The number of chunks whose records were counted in the target."""
        return sum(chunk.found is not None for chunk in self.chunks)

    @property
    def is_good(self) -> bool:
        """Whether every row is there once, as it was written."""
        return not self.bad

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        summary = {"missing": self.missing, "twice": self.twice, "changed": self.changed, "unfinished": self.unfinished}
        looked = {
            "sample": self.sample,
            "looked_at": self.looked_at,
            "keys": None if not self.keys else asdict(self.keys),
        }
        chunks = [asdict(chunk) | {"finding": chunk.finding} for chunk in self.chunks]
        return {"job": self.job, "good": self.is_good, **summary, **looked, "chunks": chunks}

    def facts(self) -> Iterator[str]:
        """What was counted, in sentences."""
        written = sum(chunk.wrote or 0 for chunk in self.chunks)
        found = sum(chunk.found or 0 for chunk in self.chunks)
        yield f"{len(self.chunks):,} chunks, {written:,} records written"
        yield f"{found:,} records found in the target, of {self.looked_at:,} chunks"
        if counted := [chunk for chunk in self.chunks if chunk.source is not None]:
            yield f"{sum(chunk.source or 0 for chunk in counted):,} rows counted in the source now"
        if self.keys is not None and self.keys.records:
            again = self.keys.records - self.keys.distinct
            yield f"{self.keys.distinct:,} distinct keys; {again:,} records have a key that another one has"
        if letters := sum(chunk.letters for chunk in self.chunks):
            yield f"{letters:,} rows are dead letters"
        if gone := sum(chunk.gone for chunk in self.chunks):
            yield f"{gone:,} rows were deleted or changed in the source since they were read"

    def lines(self) -> Iterator[str]:
        """The report for people."""
        yield from self.facts()
        for chunk in self.bad[:_NAMED]:
            yield f"  chunk {chunk.chunk}: {chunk.finding}"
        if len(self.bad) > _NAMED:
            yield f"  and {len(self.bad) - _NAMED:,} more chunks"
        yield f"{'good' if self.is_good else 'NOT good'}: {self.missing} missing, {self.twice} twice"
