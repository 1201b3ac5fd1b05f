"""Defines the chunk protocol: fence, read markers, work.

A chunk's rows and its marker are in one transaction. No threads.

A lane is an ordered list of chunks with one transactional id and one marker partition. Whoever runs it takes the id
over first, which ends what an older run of the lane has open and keeps it from ever committing again; only then are
markers read, so nothing can be committed behind the look; only then chunks without a marker are written. So every row
is in Kafka once, whenever a run dies and however many run at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.api.optional.bulk import Split
from connect.backfill.job.markers import ChunkState, Marker, chunk_states, with_headers
from connect.backfill.job.parts import ChunkPart, RemainingChunk
from connect.kafka.client.errors import AbortableError
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

_log = logging.getLogger(__name__)
_OPEN_S = 60.0
_PAUSE_S = 0.5
_PAUSE_MAX_S = 15.0


class Step(StrEnum):
    """Names the steps of a lane; each is told before the next thing happens."""

    BEGUN = "begun"
    FENCED = "fenced"
    MARKERS_READ = "markers read"
    CHUNK_READ = "chunk read"
    """The chunk's rows are read and encoded; for a sink, they are written."""
    ROWS_SENT = "rows sent"
    MARKER_SENT = "marker sent"
    COMMITTED = "committed"


class Signal(StrEnum):
    """Tells what the owner of a running job wants of it."""

    GO_ON = "go on"
    PAUSE = "pause"
    CANCEL = "cancel"
    AGAIN = "again"
    """More or fewer lanes may run at a time now. All lanes end behind their chunks, and the driver starts them anew."""
    SUPERSEDED = "superseded"
    """Another run has taken the job over."""


class Transactions(Protocol):
    """Writes records under the lane's transactional id, as a `BatchProducer` does."""

    def init_transactions(self, deadline: Deadline) -> None:
        """Fence older producers of the id, and end the transaction that they have open."""

    def begin(self) -> None:
        """Open a transaction."""

    def send(self, batch: RawBatch, deadline: Deadline) -> None:
        """Queue the records of a batch."""

    def commit(self, deadline: Deadline) -> None:
        """Commit the transaction. AbortableError: nothing of it can be read, so the work has to be done again."""

    def abort(self, deadline: Deadline) -> None:
        """Throw away the open transaction."""


class LanePorts(Protocol):
    """Connects one lane to Kafka, to its source and to its target."""

    @property
    def producer(self) -> Transactions:
        """Return the producer that writes the lane's records."""

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        """Yield the parts of what is left of a chunk; the last one is marked as such.

        `then` is the chunk that is asked for next if all goes well. It may be read early, but nothing of it may be
        written. An error is raised for a row that is not tolerated.
        """

    def markers(self) -> Iterable[Marker]:
        """Return the markers that are committed in the lane's marker partition now, in order."""

    def marker_batch(self, marker: Marker) -> RawBatch:
        """Return the record of a marker, for the lane's marker partition."""

    def signal(self) -> Signal:
        """Return what the job's owner wants. Outside the hours in which the job works, it waits for them first."""

    def pace(self, rows: int, size_bytes: int) -> None:
        """Wait for as long as the limits demand after `rows` rows and `size_bytes` bytes."""


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """Holds the limits of a lane.

    A transaction of records is committed once it has `max_bytes` bytes. It may take at most `chunk_timeout_s` seconds.
    A chunk is tried again up to `max_retries` times.
    """

    max_bytes: int
    chunk_timeout_s: float
    max_retries: int


@dataclass(frozen=True, slots=True)
class LaneReport:
    """Tells how a lane ended: `signal` is GO_ON if all of its chunks are in Kafka. The counts are of this run."""

    lane: int
    signal: Signal
    chunks: int = 0
    rows: int = 0
    skipped: int = 0
    error: str | None = None
    """Says why the lane cannot go on, if running it again would not help."""
    is_denied: bool = False
    """Tells that the error is a right that the brokers deny. Once it is granted, running the lane again helps."""

    @property
    def ends_run(self) -> bool:
        """Return True if no further lane is to be started: after an error, or because the job's owner wants it."""
        return self.error is not None or self.signal not in {Signal.GO_ON, Signal.AGAIN}


def denial_of(reports: Sequence[LaneReport]) -> str | None:
    """Return the rights that a round lacked, a line each; None if an owner or any other error ended a lane."""
    ended = [report for report in reports if report.ends_run]
    if not ended or not all(report.is_denied for report in ended):
        return None
    return "\n".join(dict.fromkeys(report.error or "" for report in ended))


class LaneBrokenError(ConnectError):
    """Says that this run of a lane cannot know what the brokers did. It ends, and the next run fences and looks."""


@dataclass(frozen=True, slots=True)
class LaneWork:
    """Holds the chunks of one lane of a job, in order."""

    job: str
    lane: int
    chunks: Sequence[Split]
    limits: LaneLimits


class LaneRun:
    """Does one run of one lane. Owned by one thread."""

    def __init__(
        self, work: LaneWork, ports: LanePorts, on_step: Callable[[Step, str], None] = lambda _step, _chunk: None
    ) -> None:
        """Take the lane's work and its ports. `on_step` is called for each step with the chunk's id; "" if none."""
        self._work = work
        self._ports = ports
        self._on_step = on_step
        self._states: dict[str, ChunkState] = {}
        self._rows = 0

    def run(self) -> LaneReport:
        """Write every chunk of the lane that is not written yet, until its end or the owner's signal.

        FencedError: another run owns the lane now. Any other ConnectError: this run cannot go on, and the lane has to
        be run again.
        """
        self._on_step(Step.BEGUN, "")
        self._ports.producer.init_transactions(Deadline.after(_OPEN_S))
        self._on_step(Step.FENCED, "")
        self._states = chunk_states(self._ports.markers())
        self._on_step(Step.MARKERS_READ, "")
        left = [chunk for chunk in self._work.chunks if not self._state(chunk).is_done]
        skipped = len(self._work.chunks) - len(left)
        for written, (chunk, following) in enumerate(zip_longest(left, left[1:])):
            signal = self._ports.signal()
            if signal is not Signal.GO_ON:
                return LaneReport(self._work.lane, signal, written, self._rows, skipped)
            self._write(chunk, following)
        return LaneReport(self._work.lane, Signal.GO_ON, len(left), self._rows, skipped)

    def _state(self, chunk: Split) -> ChunkState:
        return self._states.get(chunk.id, ChunkState())

    def _rest(self, chunk: Split) -> RemainingChunk:
        state = self._state(chunk)
        return RemainingChunk(chunk, state.after, state.parts)

    def _write(self, chunk: Split, following: Split | None) -> None:
        tries = 0
        while not self._state(chunk).is_done:
            parts = self._state(chunk).parts
            try:
                self._write_parts(chunk, None if following is None else self._rest(following))
            except (AbortableError, RetriableError) as error:
                tries = tries + 1 if self._state(chunk).parts == parts else 1
                if tries > self._work.limits.max_retries:
                    raise
                _log.warning("Lane %d tries chunk %s again: %s", self._work.lane, chunk.id, error)
                Deadline.after(_PAUSE_MAX_S).wait(min(_PAUSE_S * 2.0**tries, _PAUSE_MAX_S))

    def _write_parts(self, chunk: Split, then: RemainingChunk | None) -> None:
        """Write the rest of the chunk, part by part; its state says where the rest begins."""
        for part in self._ports.parts(self._rest(chunk), then):
            self._commit(chunk, part)

    def _commit(self, chunk: Split, part: ChunkPart) -> None:
        self._on_step(Step.CHUNK_READ, chunk.id)
        marker = part.marker(chunk.id, self._state(chunk).parts)
        producer, deadline = self._ports.producer, Deadline.after(self._work.limits.chunk_timeout_s)
        producer.begin()
        try:
            for raw in part.batches:
                producer.send(with_headers(raw, self._work.job, chunk.id), deadline)
            for letter in part.letters:
                producer.send(letter, deadline)
            self._on_step(Step.ROWS_SENT, chunk.id)
            producer.send(self._ports.marker_batch(marker), deadline)
            self._on_step(Step.MARKER_SENT, chunk.id)
        except (AbortableError, RetriableError):
            self._abort()
            raise
        self._finish(deadline)
        self._on_step(Step.COMMITTED, chunk.id)
        self._rows += part.rows
        self._states[chunk.id] = self._state(chunk).with_part(marker)
        self._ports.pace(part.rows, part.size_bytes)

    def _finish(self, deadline: Deadline) -> None:
        try:
            self._ports.producer.commit(deadline)
        except AbortableError:
            self._abort()
            raise
        except RetriableError as error:
            raise LaneBrokenError(f"Whether a chunk was committed is not known: {error.message}") from error

    def _abort(self) -> None:
        try:
            self._ports.producer.abort(Deadline.after(_OPEN_S))
        except (AbortableError, RetriableError) as error:
            raise LaneBrokenError(f"Whether a chunk was aborted is not known: {error.message}") from error
