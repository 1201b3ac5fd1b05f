"""Reads topics in bulk, by ranges of offsets up to where every transaction has ended. It joins no group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.bulk import BulkPlan, Split, SplitSize
from connect.api.records import Batch, SourcePosition, TopicPartition
from connect.backfill.job.oversized_chunks import STRAND
from connect.kafka.admin.topic_descriptions import ids_of
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, Settings, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.lib.javatext.regex import compile_pattern
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.source.offset_topics import without_group

Decode = Callable[[RawBatch], Iterable[Batch]]
_OVERRIDE: Final = "consumer.override."
_CLIENT: Final = "connect-backfill-topics"
_SAMPLE: Final = 100
_KAFKA_S: Final = 30.0
_READ_S: Final = 3600.0
"""A chunk is read in seconds. If brokers are away for so many seconds, that is an error."""
TOPIC: Final = "kafka_topic"
PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"
TOPIC_ID: Final = "topic_id"
"""This bound of a range is the id of its topic, by which a topic of the same name that was made anew is told."""


def topic_position(partition: TopicPartition, offset: int) -> SourcePosition:
    """Return the position from which a sink goes on, in the form in which REST shows a sink's offsets."""
    return SourcePosition({TOPIC: partition.topic, PARTITION: partition.partition}, {OFFSET: offset})


def topic_offset(position: SourcePosition) -> tuple[TopicPartition, int]:
    """Return the partition and offset of a position that `topic_position` made."""
    partition, offset = position.partition, position.offset or {}
    return TopicPartition(str(partition[TOPIC]), int(str(partition[PARTITION]))), int(str(offset[OFFSET]))


class _Range(NamedTuple):
    partition: TopicPartition
    span: OffsetRange
    topic_id: str | None
    """Is None if an older release planned the range, or brokers give no ids."""

    @classmethod
    def of(cls, split: Split) -> _Range:
        bounds = split.bounds
        place = TopicPartition(str(bounds["topic"]), int(str(bounds["partition"])))
        topic_id = bounds.get(TOPIC_ID)
        span = OffsetRange(int(str(bounds["from"])), int(str(bounds["to"])))
        return cls(place, span, None if topic_id is None else str(topic_id))


class TopicSource:
    """Divides the topics of a sink connector into ranges of offsets. Implements BulkSource."""

    def __init__(self, parts: ConnectorParts, offsets: Mapping[str, int], *, in_order: bool = False) -> None:
        """Take the sink connector and the offsets to begin at.

        `offsets` holds the offset to begin at by "topic-partition"; other partitions begin at their first record. With
        `in_order` all splits of a partition go to one lane, see `division.STRAND`.
        """
        self._config = SinkConnectorConfig.parse(parts.resolved)
        self._settings = reader_settings(parts)
        self._admin = TopicAdmin(admin_part(self._settings))
        self._given = offsets
        self._in_order = in_order

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Return ranges of about `size.rows` records, up to the last stable offset of each partition.

        ConfigError: a topic is missing, or an offset is given for a partition that does not exist or begins later.
        """
        counts = self._admin.topics(deadline)
        partitions = [TopicPartition(name, p) for name in self._names(counts) for p in range(counts[name])]
        ids = ids_of(self._admin.describe({tp.topic for tp in partitions}, deadline))
        begins = self._begins(self._admin.beginning_offsets(partitions, deadline))
        ends = self._admin.end_offsets(partitions, deadline, committed_only=True)
        spans = {tp: OffsetRange(begins[tp], max(begins[tp], ends[tp])) for tp in sorted(partitions)}
        row_bytes = self._row_bytes(spans, deadline)
        splits: list[Split] = []
        for tp, span in spans.items():
            more = {STRAND: f"{tp.topic}-{tp.partition}"} if self._in_order else {}
            known = {TOPIC_ID: ids[tp.topic]} if tp.topic in ids else {}
            splits += _cut(tp, span, size, row_bytes.get(tp, 0), {**more, **known})
        return BulkPlan(
            splits,
            [topic_position(tp, span.end) for tp, span in spans.items()],
            [f"{tp.topic}-{tp.partition}: offsets {span.start} to {span.end - 1}"
             for tp, span in spans.items() if span.start < span.end],
        )  # fmt: skip

    def bulk_reader(self) -> TopicReader:
        """Return a reader that counts records and does not decode them."""
        return TopicReader(self._settings, _never)

    def _names(self, counts: Mapping[str, int]) -> Sequence[str]:
        wanted = self._config.topics_regex
        names = self._config.topics
        if wanted:
            pattern = compile_pattern(wanted)
            names = tuple(name for name in sorted(counts) if pattern.fullmatch(name) and not name.startswith("__"))
        missing = [name for name in names if name not in counts]
        if missing or not names:
            raise ConfigError(
                f"There is no topic {', '.join(missing) or f'that matches {wanted}'}.",
                key="topics.regex" if wanted else "topics",
            )
        return names

    def _begins(self, first: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        by_name = {f"{tp.topic}-{tp.partition}": tp for tp in first}
        unknown = sorted(set(self._given) - set(by_name))
        early = {
            name: offset for name, offset in self._given.items() if name in by_name and offset < first[by_name[name]]
        }
        if unknown or early:
            said = [f"{name} is no partition of the connector's topics" for name in unknown]
            said += [f"{name} begins at offset {first[by_name[name]]} now, not at {early[name]}" for name in early]
            raise ConfigError(
                f"{'; '.join(said)}.", key="source.offsets", fix='Write topic and partition as "orders-0".'
            )
        return {tp: self._given.get(f"{tp.topic}-{tp.partition}", offset) for tp, offset in first.items()}

    def _row_bytes(self, spans: Mapping[TopicPartition, OffsetRange], deadline: Deadline) -> dict[TopicPartition, int]:
        """Return the estimated size of a record in each partition, by some records from its middle."""
        middles = {}
        for tp, span in spans.items():
            middle = (span.start + span.end) // 2
            middles[tp] = OffsetRange(middle, min(span.end, middle + _SAMPLE))
        found: dict[TopicPartition, list[int]] = {}
        for raw in read_spans(self._settings, middles, deadline):
            rows, size_bytes = found.setdefault(TopicPartition(raw.topic, raw.partition or 0), [0, 0])
            found[TopicPartition(raw.topic, raw.partition or 0)] = [rows + len(raw), size_bytes + raw.size_bytes]
        return {tp: -(-size_bytes // rows) for tp, (rows, size_bytes) in found.items() if rows}


class TopicReader:
    """Reads committed records in ranges of offsets. Owned by one thread. Implements BulkReader."""

    def __init__(self, settings: Settings, decode: Decode) -> None:
        """Remember the settings without connecting. `decode` makes batches of records, and gets all records."""
        self._settings = settings
        self._decode = decode
        self._admin = TopicAdmin(admin_part(settings))

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """Yield the records of a range as batches; records that compaction or a rollback removed are left out.

        `after` is the offset from which to go on; None: from the range's begin. ConnectError: records of the range are
        no longer kept.
        """
        wanted = _Range.of(split)
        start = wanted.span.start if after is None else int(str(after[OFFSET]))
        for raw in self._records(wanted, start):
            yield from self._decode(raw)

    def count(self, split: Split) -> int:
        """Return the number of records in a range."""
        wanted = _Range.of(split)
        return sum(len(raw) for raw in self._records(wanted, wanted.span.start))

    def close(self) -> None:
        """Do nothing, as nothing is open between two calls."""

    def _records(self, wanted: _Range, start: int) -> Iterator[RawBatch]:
        self._require_kept(wanted, start)
        yield from read_spans(
            self._settings, {wanted.partition: OffsetRange(start, wanted.span.end)}, Deadline.after(_READ_S)
        )
        # Retention may have removed records meanwhile; a client that is too late goes on at the first one that is left.
        self._require_kept(wanted, start)

    def _require_kept(self, wanted: _Range, start: int) -> None:
        tp = wanted.partition
        require_same_topic(self._admin, tp.topic, wanted.topic_id, Deadline.after(_KAFKA_S))
        first = self._admin.beginning_offsets([tp], Deadline.after(_KAFKA_S))[tp]
        if first > start:
            raise ConnectError(
                f"{tp.topic}-{tp.partition} begins at offset {first} now: records from {start} on are no longer kept.",
                fix="Give the topic a longer retention.ms until the backfill is done; what is gone cannot be read.",
            )


def require_same_topics(parts: ConnectorParts, splits: Iterable[Split], deadline: Deadline) -> None:
    """Raise ConnectError if a topic of the sink connector `parts` is not the one whose ranges were planned."""
    admin = TopicAdmin(admin_part(reader_settings(parts)))
    for topic, topic_id in sorted({(one.partition.topic, one.topic_id or "") for one in map(_Range.of, splits)}):
        require_same_topic(admin, topic, topic_id or None, deadline)


def require_same_topic(admin: TopicAdmin, topic: str, planned_id: str | None, deadline: Deadline) -> None:
    """Raise ConnectError if the topic is not the planned one, as it was deleted and made anew. None: nobody knows."""
    if planned_id is not None and admin.topic_id(topic, deadline, "Read") not in {None, planned_id}:
        raise ConnectError(
            f"Topic {topic} was made anew since the backfill was planned: its offsets count other records now.",
            fix="Begin again under another name.",
        )


def reader_settings(parts: ConnectorParts) -> Settings:
    """Return the connector's own settings for a consumer, without its group.

    The consumer reads committed records only, as `plan_bulk` ends where no transaction is open.
    """
    given = {k.removeprefix(_OVERRIDE): v for k, v in parts.resolved.items() if k.startswith(_OVERRIDE)}
    found = consumer_settings(parts.clients.worker_properties, without_group(given), client_id=_CLIENT).properties
    return {**found, "isolation.level": "read_committed"}


def _cut(
    tp: TopicPartition, span: OffsetRange, size: SplitSize, row_bytes: int, more: Mapping[str, str]
) -> Iterator[Split]:
    """Yield splits that cut the offsets of a partition into ranges of equal width, with `more` among their bounds."""
    most = size.rows if not row_bytes else max(1, min(size.rows, size.size_bytes // row_bytes))
    records = span.end - span.start
    parts = -(-records // most)
    cuts = [span.start + records * part // parts for part in range(parts)] + [span.end]
    for number, (start, end) in enumerate(pairwise(cuts)):
        bounds: dict[str, object] = {"topic": tp.topic, "partition": tp.partition, "from": start, "to": end, **more}
        # Topic names hold no character that an id may not have.
        yield Split(f"{tp.topic}-{tp.partition}-{number:06d}", bounds, end - start, (end - start) * row_bytes)


def _never(_raw: RawBatch) -> Iterable[Batch]:
    raise AssertionError("Records are counted here, not decoded.")
