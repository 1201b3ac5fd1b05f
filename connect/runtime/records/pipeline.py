"""Takes whole batches through transforms and converters, between connector and Kafka, and sets bad rows aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from connect.api.codec import Converter, HeaderConverter
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connect.kafka.raw import RawBatch
from connect.runtime.records.bad_row_search import isolate
from connect.runtime.records.chain import Link, apply_chain
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.records.retry import TopicNotJudgedError
from connect.runtime.records.row_origins import OriginLostError, marked, origins, unmarked
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.records.staged_failures import by_stage, staged
from connect.runtime.records.tolerance import BadRow, Origin, Stage, bad_rows
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.task.task_metrics import TaskFigures

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
_PRODUCER: Final = "org.apache.kafka.clients.producer.KafkaProducer"
GiveUp = Callable[[list[BadRow]], None]


@dataclass(frozen=True, slots=True)
class Converters:
    """Holds the three converters of a task with their class names, for messages."""

    key: Converter
    value: Converter
    header: HeaderConverter
    key_name: str
    value_name: str
    header_name: str


@dataclass(frozen=True, slots=True)
class Encoded:
    """Holds what a polled batch became: rows for their topics, and dead letters of those that cannot be converted."""

    rows: list[RawBatch]
    letters: Sequence[RawBatch] = ()


class _Traced(NamedTuple):
    """Holds rows as bytes, with the index in the polled batch of each."""

    raw: RawBatch
    origins: list[int]


class _Rejects:
    """Hands bad rows of a source to `give_up`."""

    def __init__(self, give_up: GiveUp, polled: Callable[[Batch], list[int]] | None = None) -> None:
        self._give_up = give_up
        self._polled = polled

    def by_transform(self, name: str, batch: Batch, rows: Mapping[int, Exception]) -> None:
        self._give_up(bad_rows(Stage.TRANSFORMATION, name, self._origin(batch), rows))

    def by_converter(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        for stage, component, causes in by_stage(rows):
            self._give_up(bad_rows(stage, component, self._origin(batch), causes))

    def _origin(self, batch: Batch) -> Origin:
        return Origin(batch.topic, polled=None if self._polled is None else self._polled(batch))


class SourcePipeline:
    """Makes bytes for Kafka of a source's batches: by transforms, then by converters. Owned by the task thread."""

    def __init__(
        self,
        links: Sequence[Link],
        converters: Converters,
        give_up: GiveUp,
        letters: SourceDeadLetters | None = None,
        *,
        figures: TaskFigures | None = None,
        sizes: RecordSizes | None = None,
        reserved: ReservedTopics,
        ends_at_first: bool = False,
    ) -> None:
        """Take the parts of the path: `letters` makes the dead letters of rows that `give_up` tolerates.

        `sizes` refuses rows that are too large, `reserved` rows for topics that hold a cluster's state. With
        `ends_at_first` the search for bad rows ends at the first one, as `give_up` tolerates none.
        """
        self._ends_at_first = ends_at_first
        self._sizes = sizes
        self._reserved = reserved
        self._figures = figures or TaskFigures()
        self._links = links
        self._converters = converters
        self._give_up = give_up
        self._letters = letters

    def encode(self, batch: Batch) -> Encoded:
        """Return the rows as bytes, in order; none when every row was dropped.

        Raises what `give_up` raises for a bad row.
        """
        if self._ends_at_first and self._letters is None:
            return Encoded(self._convert(batch, self._give_up))
        bad: list[BadRow] = []
        made = self._convert(batch, bad.extend)
        if bad and self._letters is not None:
            return self._set_aside(batch, self._letters)
        if bad:
            # Not before: while the rest waits for a broker or a registry, each try would count these rows once more.
            self._give_up(bad)
        return Encoded(made)

    def reject(self, component: str, batch: Batch, rows: Mapping[int, Exception]) -> list[RawBatch]:
        """Return the dead letters of rows that the source (class `component`) gave up. Raises what `give_up` raises."""
        bad = bad_rows(Stage.TASK_POLL, component, Origin(batch.topic, polled=list(range(len(batch)))), rows)
        if self._letters is None:
            self._give_up(bad)
            return []
        self._letters.current = batch
        self._give_up(bad)
        return self._letters.take()

    def _convert(self, batch: Batch, give_up: GiveUp) -> list[RawBatch]:
        rejects = _Rejects(give_up)
        made: list[RawBatch] = []
        with self._figures.span("transform"):
            transformed = apply_chain(self._links, batch, rejects.by_transform)
        for changed in transformed:
            made.extend(isolate(changed, self._encode_good, rejects.by_converter))
        return made

    def _set_aside(self, batch: Batch, letters: SourceDeadLetters) -> Encoded:
        """Convert once more, knowing where each row comes from: a polled row is dead-lettered whole or not at all."""
        try:
            parts, bad = self._traced(batch)
        except OriginLostError:
            parts, bad = self._row_by_row(batch)
        letters.current = batch
        self._give_up([bad[index] for index in sorted(bad)])
        good = [raw.take([i for i, row in enumerate(rows) if row not in bad]) for raw, rows in parts]
        return Encoded([raw for raw in good if len(raw)], letters.take())

    def _traced(self, batch: Batch) -> tuple[list[_Traced], dict[int, BadRow]]:
        bad: dict[int, BadRow] = {}

        def note(rows: list[BadRow]) -> None:
            for row in rows:
                bad.setdefault(row.row or 0, row)

        rejects = _Rejects(note, origins)
        parts: list[_Traced] = []
        for changed in apply_chain(self._links, marked(batch), rejects.by_transform):
            parts.extend(isolate(changed, self._encode_traced, rejects.by_converter))
        return parts, bad

    def _encode_traced(self, batch: Batch) -> _Traced:
        return _Traced(self._encode_good(unmarked(batch)), origins(batch))

    def _row_by_row(self, batch: Batch) -> tuple[list[_Traced], dict[int, BadRow]]:
        parts: list[_Traced] = []
        bad: dict[int, BadRow] = {}
        for i in range(len(batch)):
            found: list[BadRow] = []
            made = self._convert(batch.slice(i, i + 1), found.extend)
            if found:
                bad[i] = replace(found[0], row=i)
            else:
                parts.extend(_Traced(raw, [i] * len(raw)) for raw in made)
        return parts, bad

    def _judge(self, batch: Batch) -> None:
        try:
            self._reserved.check(batch.topic, len(batch))
        except RetriableError as error:
            raise TopicNotJudgedError(str(error), waiting_for="kafka") from error

    def _encode_good(self, batch: Batch) -> RawBatch:
        c = self._converters
        # After the transforms, which may have chosen the topic.
        staged(Stage.KAFKA_PRODUCE, _PRODUCER, lambda: self._judge(batch))
        headers = staged(Stage.HEADER_CONVERTER, c.header_name, lambda: _encode_headers(c.header, batch))
        keys = batch.keys
        raw_keys = None
        if keys is not None:
            raw_keys = staged(Stage.KEY_CONVERTER, c.key_name, lambda: c.key.encode(batch.topic, keys))
        values = staged(Stage.VALUE_CONVERTER, c.value_name, lambda: c.value.encode(batch.topic, batch.values))
        raw = RawBatch(
            topic=batch.topic,
            values=values,
            keys=raw_keys,
            headers=headers,
            timestamps_ms=batch.timestamps_ms,
            partition=batch.partition,
        )
        sizes = self._sizes
        if sizes is not None:
            staged(Stage.KAFKA_PRODUCE, _PRODUCER, lambda: sizes.check(raw))
        return raw


class SinkPipeline:
    """Makes batches for a sink of bytes from Kafka: by converters, then by transforms. Owned by the task thread."""

    def __init__(
        self, links: Sequence[Link], converters: Converters, give_up: GiveUp, figures: TaskFigures | None = None
    ) -> None:
        self._figures = figures or TaskFigures()
        self._links = links
        self._converters = converters
        self._give_up = give_up
        self._bad: list[BadRow] = []

    def decode(self, raw: RawBatch) -> list[Batch]:
        """Return the rows as batches of one topic and schema each, in order. There is one batch at least, maybe empty.

        The last batch carries the next offset behind all rows of `raw`, those that were dropped or are bad among them.
        Bad rows are given up at the end, in the order of their offsets. Raises what `give_up` raises for them.
        """
        self._bad = []
        decoded = [part for parts in isolate(raw, self._decode_good, self._reject_convert) for part in parts]
        with self._figures.span("transform"):
            batches = [made for part in decoded for made in apply_chain(self._links, part, self._reject_transform)]
        if self._bad:
            # Not before: were the rest to be tried again, each try would set them aside once more.
            self._give_up(sorted(self._bad, key=lambda row: row.offset or 0))
        return _with_next_offsets(batches, raw)

    def _decode_good(self, raw: RawBatch) -> list[Batch]:
        c = self._converters
        size = len(raw)
        headers = staged(Stage.HEADER_CONVERTER, c.header_name, lambda: _decode_headers(c.header, raw))
        raw_keys = raw.keys
        keys: Sequence[Column] = ()
        if raw_keys is not None and raw_keys.null_count < size:
            keys = staged(Stage.KEY_CONVERTER, c.key_name, lambda: c.key.decode(raw.topic, raw_keys))
        values = staged(Stage.VALUE_CONVERTER, c.value_name, lambda: c.value.decode(raw.topic, raw.values))
        return [_part(raw, run, headers) for run in _joint_runs(size, keys, values)]

    def _reject_convert(self, raw: RawBatch, rows: Mapping[int, Exception]) -> None:
        assert raw.offsets is not None
        origin = Origin(raw.topic, raw.partition, raw.offsets.to_pylist())
        for stage, component, causes in by_stage(rows):
            self._bad += bad_rows(stage, component, origin, causes)

    def _reject_transform(self, name: str, batch: Batch, rows: Mapping[int, Exception]) -> None:
        self._bad += bad_sink_rows(Stage.TRANSFORMATION, name, batch, rows)


def bad_sink_rows(stage: Stage, component: str, batch: Batch, rows: Mapping[int, Exception]) -> list[BadRow]:
    """Return bad rows of a sink's batch with topic, partition and offset as they were read, before any transform."""
    assert batch.consumed is not None
    topic, partition = batch.consumed.topic_partition
    return bad_rows(stage, component, Origin(topic, partition, batch.consumed.offsets.to_pylist()), rows)


def _encode_headers(converter: HeaderConverter, batch: Batch) -> list[list[tuple[str, bytes | None]]] | None:
    if batch.headers is None:
        return None
    return [[(h.key, converter.encode(batch.topic, h)) for h in row] for row in batch.headers]


def _decode_headers(converter: HeaderConverter, raw: RawBatch) -> list[list[Header]] | None:
    if raw.headers is None:
        return None
    return [[converter.decode(raw.topic, key, data) for key, data in row] for row in raw.headers]


@dataclass(frozen=True, slots=True)
class _Run:
    """Holds the rows start..stop-1, in which neither the key's nor the value's schema changes."""

    start: int
    stop: int
    key: Column | None
    value: Column


def _joint_runs(size: int, keys: Sequence[Column], values: Sequence[Column]) -> list[_Run]:
    cuts = {0, size}
    for columns in (keys, values):
        place = 0
        for column in columns:
            place += len(column)
            cuts.add(place)
    return [
        _Run(start, stop, _covering(keys, start, stop), _must(_covering(values, start, stop)))
        for start, stop in pairwise(sorted(cuts))
    ]


def _covering(columns: Sequence[Column], start: int, stop: int) -> Column | None:
    place = 0
    for column in columns:
        end = place + len(column)
        if place <= start and stop <= end:
            whole = start == place and stop == end
            return column if whole else column.slice(start - place, stop - place)
        place = end
    return None


def _must(column: Column | None) -> Column:
    if column is None:
        raise ValueError("The converter gave back fewer rows than it was given; this is a defect of the converter.")
    return column


def _part(raw: RawBatch, run: _Run, headers: list[list[Header]] | None) -> Batch:
    part = raw if run.stop - run.start == len(raw) else raw.slice(run.start, run.stop)
    assert part.offsets is not None
    assert raw.partition is not None
    assert part.next_offset is not None
    return Batch(
        topic=raw.topic,
        values=run.value,
        keys=run.key,
        headers=None if headers is None else headers[run.start : run.stop],
        timestamps_ms=part.timestamps_ms,
        partition=raw.partition,
        consumed=Consumed(TopicPartition(raw.topic, raw.partition), part.offsets, part.next_offset),
    )


def _with_next_offsets(batches: list[Batch], raw: RawBatch) -> list[Batch]:
    """Let each batch end where the next begins, the last where the read ended, so that no batch claims another's rows.

    Batches whose rows lie among each other's in the log, as those of several topics may, end together.
    """
    next_offset = raw.next_offset
    assert next_offset is not None
    if not batches:
        return [_nothing_left(raw, next_offset)]
    offsets = [_offsets_of(batch) for batch in batches]
    reached = list(accumulate((own[-1].as_py() for own in offsets), max))
    done = []
    first = next_offset
    for batch, own, last in zip(reversed(batches), reversed(offsets), reversed(reached), strict=True):
        if last < first:
            next_offset = first
        done.append(replace(batch, consumed=replace(_consumed_of(batch), next_offset=next_offset)))
        first = min(first, own[0].as_py())
    return done[::-1]


def _consumed_of(batch: Batch) -> Consumed:
    assert batch.consumed is not None
    return batch.consumed


def _offsets_of(batch: Batch) -> pa.Int64Array:
    return _consumed_of(batch).offsets


def _nothing_left(raw: RawBatch, next_offset: int) -> Batch:
    """Return the batch without rows that says: everything up to here was dropped or dead-lettered."""
    import pyarrow as pa

    assert raw.partition is not None
    none = pa.array([], pa.int64())
    consumed = Consumed(TopicPartition(raw.topic, raw.partition), none, next_offset)
    return Batch(raw.topic, Column.nulls(0), partition=raw.partition, consumed=consumed)
