"""Describes the records of a job's marker topic: how far each chunk is, and the plan. Values and JSON; no I/O.

A chunk's rows and its marker are written in one transaction. Each lane has its own partition, so that no other lane's
open transaction hides its markers. The last partition is the driver's.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConnectError
from connect.api.optional.bulk import Split
from connect.api.records import SourcePosition
from connect.api.state import require_known
from connect.kafka.raw import RawBatch, SharedHeaders
from connect.native import sum_crc32

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SPLITS_PER_RECORD: Final = 500
HEADER_JOB: Final = "bf.job"
HEADER_CHUNK: Final = "bf.chunk"
_SUM_BITS: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Marker:
    """Describes a part of a chunk that is in Kafka. A chunk has several parts if it has more bytes than planned.

    `read` counts the rows that the source gave, `rows` the records that the transforms made of them, and `topics` the
    records of each topic. `checksum` is the sum of the CRC-32 of each record's key and value, modulo 2**64, whatever
    their order. Reading goes on from `offset`; `is_last` says that the chunk is read to its end. `letters` counts the
    dead letters of rows that no record can hold, in the same transaction. `pieces` is given if the chunk was found much
    larger than planned: it holds the chunk as far as it was read, and the chunks that its rest became. `partitions`
    tells how many partitions each topic had, if known, and `topic_ids` its id. `counted` is set in the last part: it is
    the source's own count of the rows that part `counted_from` and the parts behind it should have.
    """

    chunk: str
    part: int
    read: int
    rows: int
    size_bytes: int
    checksum: int
    is_last: bool
    letters: int = 0
    topics: Mapping[str, int] = field(default_factory=dict)
    offset: Mapping[str, object] | None = None
    written_ms: int = 0
    pieces: Sequence[Split] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    counted: int | None = None
    counted_from: int = 0
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the marker's record."""
        value = asdict(self)
        for later in ("pieces", "topic_ids"):
            if not value[later]:
                del value[later]
        key = {"chunk": value.pop("chunk"), "part": value.pop("part")}
        return compact(key), compact(value)


@dataclass(frozen=True, slots=True)
class MarkersOwner:
    """Names the owner of a marker topic: the cluster's `group.id`, the jobs topic that has its job, and the job.

    `job` is empty if a release wrote the record that did not name it.
    """

    group: str
    jobs_topic: str
    job: str = ""

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the owner's record."""
        return compact({"owner": True}), compact({name: text for name, text in asdict(self).items() if text})


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """Holds a verdict on the job. `line` is the verdict in words for people.

    `began_ms` is when its reading began, which may be long before it was written. It is 0 if an older release wrote it.
    """

    good: bool
    line: str
    written_ms: int
    began_ms: int = 0

    def replaces(self, other: RecordedVerdict | None) -> bool:
        """Return True if this verdict is of a later reading than the other one, or says that the rows are not good.

        Clocks of machines differ, and a handover has to see that something is wrong.
        """
        return (
            other is None or not self.good or (self.began_ms or self.written_ms) >= (other.began_ms or other.written_ms)
        )

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the verdict's record."""
        return compact({"verdict": True}), compact(asdict(self))


@dataclass(frozen=True, slots=True)
class HandoverMarker:
    """Says that the connector's offsets were written; it is written in the same transaction."""

    following: Sequence[SourcePosition]
    written_ms: int

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the marker's record."""
        told = {"following": stored_positions(self.following), "written_ms": self.written_ms}
        return compact({"handover": True}), compact(told)


def stored_positions(positions: Iterable[SourcePosition]) -> list[dict[str, Any]]:
    """Return positions as JSON objects. The offset is null where the connector begins as if it had never read."""
    return [
        {"partition": dict(one.partition), "offset": None if one.offset is None else dict(one.offset)}
        for one in positions
    ]


def plan_records(splits: Sequence[Split]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the records of the plan: its splits in order, up to SPLITS_PER_RECORD in each."""
    for number, start in enumerate(range(0, len(splits), SPLITS_PER_RECORD)):
        part = [
            {"id": s.id, "bounds": dict(s.bounds), "rows": s.rows, "size_bytes": s.size_bytes}
            for s in splits[start : start + SPLITS_PER_RECORD]
        ]
        yield compact({"plan": number}), compact({"splits": part})


@dataclass(frozen=True, slots=True)
class DriverState:
    """Holds what the driver's partition says: the plan, and if written the handover, the owner and the verdict."""

    splits: Sequence[Split]
    handover: HandoverMarker | None
    owner: MarkersOwner | None = None
    verdict: RecordedVerdict | None = None


def driver_state(records: Iterable[tuple[bytes, bytes | None]]) -> DriverState:
    """Return what the records of the driver's partition say; the newest record of each kind counts; of verdicts
    that of the latest reading.

    ConnectError: a record is not ours, or a newer version wrote it.
    """
    parts: dict[int, list[Split]] = {}
    handover, owner, verdict = None, None, None
    for key, value in records:
        name, told = parsed(key), _told(value)
        if "plan" in name:
            parts[name["plan"]] = [Split(**split) for split in told["splits"]]
        elif "handover" in name:
            positions = [SourcePosition(p["partition"], p["offset"]) for p in told["following"]]
            handover = HandoverMarker(positions, told["written_ms"])
        elif "owner" in name:
            owner = MarkersOwner(**known_members(MarkersOwner, told))
        elif "verdict" in name:
            found = RecordedVerdict(**known_members(RecordedVerdict, told))
            verdict = found if found.replaces(verdict) else verdict
    return DriverState([split for number in sorted(parts) for split in parts[number]], handover, owner, verdict)


def markers(records: Iterable[tuple[bytes, bytes | None]]) -> list[Marker]:
    """Return the markers that the records of a lane's partition hold. ConnectError: a record is not ours."""
    return [_marker(parsed(key) | _told(value)) for key, value in records]


def _told(value: bytes | None) -> dict[str, Any]:
    told = parsed(value)
    require_known(told, "A marker of the backfill")
    return told


def _marker(told: Mapping[str, Any]) -> Marker:
    pieces = tuple(Split(**split) for split in told.get("pieces", ()))
    return Marker(**known_members(Marker, told) | {"pieces": pieces})


@dataclass(frozen=True, slots=True)
class ChunkState:
    """Tells how far a chunk is. Reading goes on from the offset `after`; None: from the chunk's beginning."""

    parts: int = 0
    read: int = 0
    rows: int = 0
    size_bytes: int = 0
    checksum: int = 0
    letters: int = 0
    is_done: bool = False
    after: Mapping[str, object] | None = None
    topics: Mapping[str, int] = field(default_factory=dict)
    reads: Sequence[int] = ()
    """Holds the number of rows that the source gave for each part."""
    counted: int | None = None
    counted_from: int = 0

    @property
    def unread(self) -> int:
        """Return how many rows the source counted in its last reading of the chunk but did not give."""
        return 0 if self.counted is None else max(0, self.counted - sum(self.reads[self.counted_from :]))

    def with_part(self, marker: Marker) -> ChunkState:
        """Return the state with its next part added. ConnectError: the part is not the next, so markers were lost."""
        if marker.part != self.parts or self.is_done:
            raise ConnectError(
                f"Chunk {marker.chunk} has part {marker.part} after {self.parts} parts, so markers of this job are lost"
                " or were written twice.",
                fix="Its rows are in Kafka, but nothing tells which. Begin again under another name, into a new topic.",
            )
        topics = dict(self.topics)
        for topic, rows in marker.topics.items():
            topics[topic] = topics.get(topic, 0) + rows
        return ChunkState(
            parts=self.parts + 1,
            read=self.read + marker.read,
            rows=self.rows + marker.rows,
            size_bytes=self.size_bytes + marker.size_bytes,
            checksum=added(self.checksum, marker.checksum),
            letters=self.letters + marker.letters,
            is_done=marker.is_last,
            after=marker.offset,
            topics=topics,
            reads=(*self.reads, marker.read),
            counted=marker.counted,
            counted_from=marker.counted_from,
        )


def chunk_states(found: Iterable[Marker]) -> dict[str, ChunkState]:
    """Return the state of each chunk that has markers."""
    states: dict[str, ChunkState] = {}
    for marker in found:
        states[marker.chunk] = states.get(marker.chunk, ChunkState()).with_part(marker)
    return states


def checksum(batch: RawBatch) -> int:
    """Return the checksum of records in any order. It counts keys and values, but no headers, which tell the origin."""
    found = sum_crc32(batch.values, batch.keys)
    if found is not None:
        return found
    keys = [None] * len(batch) if batch.keys is None else batch.keys.to_pylist()
    # A tombstone begins with another CRC than an empty value, so the two have different checksums.
    pairs = zip(keys, batch.values.to_pylist(), strict=True)
    return sum(zlib.crc32(value or b"", zlib.crc32(key or b"", value is None)) for key, value in pairs) & _SUM_BITS


def added(one: int, other: int) -> int:
    """Return the checksum of two sets of records together, given the checksum of each."""
    return (one + other) & _SUM_BITS


def with_headers(batch: RawBatch, job: str, chunk: str) -> RawBatch:
    """Return the records with two more headers, which name the job and the chunk, behind their own."""
    ours = ((HEADER_JOB, job.encode()), (HEADER_CHUNK, chunk.encode()))
    own = batch.headers
    headers = SharedHeaders(ours, len(batch)) if own is None else [(*one, *ours) for one in own]
    return replace(batch, headers=headers)


def known_members(kind: type[DataclassInstance], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that this version knows; a newer version may have written more."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in told.items() if name in names}


def compact(value: Mapping[str, Any]) -> bytes:
    """Return the value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def parsed(text: bytes | None) -> dict[str, Any]:
    """Return the JSON object of a record's key or value. ConnectError: the text is no JSON object."""
    try:
        value = json.loads(text or b"null")
    except (ValueError, RecursionError):  # deeply nested text
        value = None
    if not isinstance(value, dict):
        raise ConnectError(
            "A topic of the backfill holds a record that no backfill wrote.",
            fix="Name topics of its own under state.jobs_topic and state.marker_topic.",
        )
    return value


def undone(chunks: Iterable[str], found: Sequence[Marker]) -> list[str]:
    """Return those of `chunks` that are not done by these markers."""
    states = chunk_states(found)
    return [chunk for chunk in chunks if not states.get(chunk, ChunkState()).is_done]


def require_done(chunks: Iterable[str], found: Sequence[Marker]) -> None:
    """Raise ConnectError if a chunk is not done by these markers although its lane has ended."""
    if missing := undone(chunks, found):
        raise ConnectError(
            f"{len(missing)} chunks have no marker although their lanes have ended: {missing[:5]}.",
            fix="Records of the marker topic are lost. Begin again under another name, into a new topic.",
        )
