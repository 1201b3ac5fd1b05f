"""Verifies that every row of a backfill is in its target, once and unchanged.

The source tells what to expect, if it can: it counts its rows by chunk and by table, or at the moment of reading if it
logs its changes. It also gives the rows of some chunks once more, to compare them value by value. Markers tell what was
read and written, and the target is read again. The verdict says what could not be examined.
"""

from __future__ import annotations

import math
import secrets
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from connect.api.optional.bulk import AuditedSource, BulkChunk, BulkReader, BulkSource, Split, StampingReader
from connect.backfill.driver import Driver
from connect.backfill.job.markers import ChunkState, Marker, chunk_states
from connect.backfill.job.oversized_chunks import placed_chunks
from connect.backfill.verify.topic_records import Found, RecordTally, TopicReading
from connect.backfill.verify.value_sample import ValueSample, sampled_chunks
from connect.backfill.verify.verdict import ChunkVerdict, Keys, TableVerdict, ValuesVerdict, Verdict
from connect.lib.deadline import Deadline
from connect.lib.printable import counted

_MARGIN_MS: Final = 10_000
"""This is the tolerance for timestamps: clocks of lanes and brokers differ, and a transaction takes time."""
_KAFKA_S: Final = 60.0
_SINK_S: Final = 600.0
_COUNT_S: Final = 3600.0


def verify(driver: Driver, *, count_source: bool = True, sample: float = 1.0, seed: str | None = None) -> Verdict:
    """Read everything again and return the verdict, which is stored with the job.

    With a `sample` below 1 only this share of the chunks has its records read; the markers are read of all. `seed`
    draws the chunks whose values are compared; None: others each time. ConnectError: the job was never planned, its
    plan is lost, or something cannot be read.
    """
    began_ms = time.time_ns() // 1_000_000
    verdict = _Verification(
        driver, count_source=count_source, sample=sample, seed=seed or secrets.token_hex(4)
    ).verdict()
    driver.store.say_verdict(verdict.is_good, verdict.line, began_ms, Deadline.after(_KAFKA_S))
    return verdict


def chosen_chunks(job: str, chunks: Sequence[str], sample: float) -> frozenset[str]:
    """Return a share of the chunks, always the same ones; at least one."""
    if sample >= 1:
        return frozenset(chunks)
    count = max(1, math.ceil(len(chunks) * sample))
    return frozenset(sorted(chunks, key=lambda chunk: zlib.crc32(f"{job}/{chunk}".encode()))[:count])


def times_of(markers: Sequence[Marker], chosen: frozenset[str], timeout_s: float) -> list[tuple[int, int]]:
    """Return the spans, in milliseconds since 1970, in which the records of the chosen chunks were sent."""
    # A marker is made before its transaction begins, and the transaction lasts for at most `timeout_s`.
    longest_ms = int(timeout_s * 1000) + _MARGIN_MS
    return [(m.written_ms - _MARGIN_MS, m.written_ms + longest_ms) for m in markers if m.chunk in chosen]


def unwritten_in_sink(states: Iterable[ChunkState]) -> str | None:
    """Return how many rows became neither rows of the sink nor dead letters, and why that may be; None if all did."""
    count = sum(max(0, state.read - state.rows - state.letters) for state in states)
    if not count:
        return None
    return (
        f"{counted(count, 'row')} that were read and that the sink does not count as written: errors.tolerance=all "
        "drops bad ones, transforms may leave some out, and deletes are not counted"
    )


@dataclass(frozen=True, slots=True)
class _Target:
    """Holds what was found in the target. `tally` is None for a sink, which tells counts alone."""

    found: Mapping[str, Found]
    keys: Keys | None = None
    tally: RecordTally | None = None
    again: int = 0


class _Verification:
    """Examines a job once. Owned by one thread."""

    def __init__(self, driver: Driver, *, count_source: bool, sample: float, seed: str) -> None:
        self._driver = driver
        self._count_source = count_source
        self._sample = sample
        self._seed = seed
        self._job = driver.spec.name
        known = driver.ownership.require_known()
        self._name_in_sinks = known.name_in_sinks
        planned = driver.ownership.planned_splits(known)
        self._markers = driver.store.all_markers(Deadline.after(_KAFKA_S))
        self._splits = [c.split for c in placed_chunks(planned, self._markers, driver.store.topics.lanes)]
        self._states = chunk_states(self._markers)
        self._chosen = chosen_chunks(self._job, [split.id for split in self._splits], sample)
        self._not_compared: list[str] = []

    def verdict(self) -> Verdict:
        """Examine source and target, and return the verdict. ConnectError: something cannot be read."""
        with ExitStack() as stack:
            source = self._driver.connectors.open_source()
            reader = source.bulk_reader()
            stack.callback(reader.close)
            # The source is counted before the target is read, so a row that changes in between counts as changed.
            counts = self._counts(reader)
            tables = self._tables(source, counts)
            watched = self._watched(reader, counts)
            target = self._target(frozenset(watched))
            values = self._values(reader, watched, target)
        chunks = [self._judged(split, target.found, counts.get(split.id)) for split in self._splits]
        unplanned = sorted(set(target.found) - {split.id for split in self._splits})
        chunks += [ChunkVerdict(chunk, None, 0, 0, target.found[chunk].rows, same_content=False) for chunk in unplanned]
        return Verdict(
            self._job, chunks, target.keys, self._sample, tables, values, target.again, tuple(self._not_compared)
        )

    @cached_property
    def _is_one_to_one(self) -> bool:
        """Return True if each row that is read becomes either a record or a dead letter."""
        if self._driver.connectors.sink is not None:
            return False
        if self._driver.settings.connector.get("transforms", "").strip():
            self._not_compared.append("rows read with records written: transforms stand between them")
            return False
        return True

    def _is_done(self, chunk: str) -> bool:
        return chunk in self._states and self._states[chunk].is_done

    def _counts(self, reader: BulkReader) -> Mapping[str, int]:
        """Return how many rows the source has now for each chunk that is done, if the source tells."""
        if not self._count_source:
            self._not_compared.append("rows of the source, which were not to be counted")
            return {}
        done = [split for split in self._splits if self._is_done(split.id)]
        counted = {split.id: count for split in done if (count := reader.count(split)) is not None}
        at_fence = sum(self._states[split.id].counted is not None for split in done)
        if len(counted) + at_fence < len(done):
            told = "the rows that it has now say nothing of those that were read"
            self._not_compared.append(f"rows of the source in {len(done) - len(counted) - at_fence:,} chunks: {told}")
        return counted

    def _tables(self, source: BulkSource, counts: Mapping[str, int]) -> Sequence[TableVerdict]:
        """Count each table's rows after those of its chunks. Rows can only go meanwhile; none comes before the mark."""
        if not counts:
            return ()
        if not isinstance(source, AuditedSource):
            self._not_compared.append("rows of the source that are in no chunk: it counts them chunk by chunk alone")
            return ()
        found = source.count_all(self._splits, Deadline.after(_COUNT_S))
        return [
            TableVerdict(one.name, one.rows, sum(counts[split] for split in one.splits), one.left_out, one.why)
            for one in found
            if all(split in counts for split in one.splits)
        ]

    def _watched(self, reader: BulkReader, counts: Mapping[str, int]) -> Sequence[str]:
        """Return the ids of the chunks whose values are compared."""
        if self._driver.connectors.sink is not None:
            self._not_compared.append("values, which a sink does not tell")
            return ()
        if isinstance(reader, StampingReader) and reader.stamps_rows:
            self._not_compared.append("values with the source: its rows tell when they were read")
            return ()
        if not counts:
            told = "its rows were not counted, or say nothing of those that were read"
            at_fence = any(state.counted is not None for state in self._states.values())
            why = "it logs its changes, and has other rows by now than those that were read" if at_fence else told
            self._not_compared.append(f"values with the source: {why}")
            return ()
        mine = {chunk: self._states[chunk] for chunk in counts if chunk in self._chosen}
        return sampled_chunks(self._seed, mine)

    def _values(self, reader: BulkReader, watched: Sequence[str], target: _Target) -> ValuesVerdict | None:
        if not watched or target.tally is None:
            return None
        splits = [split for split in self._splits if split.id in watched]
        sample = ValueSample(self._driver.settings.open(), reader)
        found = sample.compared(self._seed, splits, target.tally.watched)
        if found is None:
            self._not_compared.append("values with the source: a row becomes another record each time it is converted")
        return found

    def _target(self, watched: frozenset[str]) -> _Target:
        """Return what the target has of each chosen chunk, by the topics or by the sink, which tells no keys."""
        if self._driver.connectors.sink is not None:
            return self._sink_target()
        topics = {topic for state in self._states.values() for topic in state.topics}
        reading = TopicReading(self._driver.settings.worker, topics)
        is_whole = len(self._chosen) == len(self._splits)
        times = None if is_whole else times_of(self._markers, self._chosen, self._driver.spec.limits.chunk_timeout)
        tally = self._tallied(reading, times, watched)
        if times is not None and any(
            tally.found.get(chunk, Found()).rows < self._states[chunk].rows
            for chunk in self._chosen & self._states.keys()
        ):
            # Rows are missing, or records have timestamps of their source; only the whole topic tells which it is.
            tally = self._tallied(reading, times := None, watched)
        if not is_whole:
            self._not_compared.append(f"records of {len(self._splits) - len(self._chosen):,} chunks: see --sample")
        again = 0
        if tally.foreign.are_too_many:
            self._not_compared.append("records without the job's headers with its own: there are too many")
        elif tally.foreign:
            again = tally.foreign.repeated_in(self._job, reading.records(times))
        return _Target(tally.found, tally.keys.counted, tally, again)

    def _tallied(
        self, reading: TopicReading, times: Sequence[tuple[int, int]] | None, watched: frozenset[str]
    ) -> RecordTally:
        tally = RecordTally(self._job, None if len(self._chosen) == len(self._splits) else self._chosen, watched)
        tally.add_all(reading.records(times))
        return tally

    def _sink_target(self) -> _Target:
        connectors = self._driver.connectors
        with closing(connectors.open_writer()) as writer:
            chunks = [BulkChunk(self._name_in_sinks, split.id, connectors.source is None) for split in self._splits]
            rows = writer.rows_of([chunk for chunk in chunks if chunk.id in self._chosen], Deadline.after(_SINK_S))
        if told := unwritten_in_sink(state for state in self._states.values() if state.is_done):
            self._not_compared.append(told)
        self._not_compared.append("the content of rows in the sink, which tells counts alone")
        return _Target({chunk: Found(count) for chunk, count in rows.items()})

    def _judged(self, split: Split, all_found: Mapping[str, Found], source: int | None) -> ChunkVerdict:
        """Return the verdict on one chunk. Its records were read if it is a chosen chunk."""
        found = all_found.get(split.id, Found()) if split.id in self._chosen else None
        state = self._states.get(split.id)
        if state is None or not state.is_done:
            return ChunkVerdict(split.id, None, None, None, None if found is None else found.rows, same_content=False)
        counted = ChunkVerdict(
            split.id, source, state.read, state.rows, None, True, state.letters, {}, state.unread,
            max(0, state.read - state.rows - state.letters) if self._is_one_to_one else 0,
        )  # fmt: skip
        if found is None:
            return counted
        same = (found.rows, found.checksum) == (state.rows, state.checksum)
        return replace(counted, found=found.rows, same_content=same, places=found.places)
