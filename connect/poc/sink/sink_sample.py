"""Converts a sample of a sink's records, to learn their fields, their types and which records cannot be converted.

It runs in a process of its own (`child`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect.api.records import Batch, TopicPartition
from connect.kafka.client.settings import consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.poc.source.sample import EXAMPLE_CHARS, FieldTypes, named_type, note_refusal, types_of
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.tolerance import BadRow


@dataclass(slots=True)
class SinkSample:
    """Holds what the sink's tasks would get of the sampled records.

    `kept` has the offsets of the records that still have a value after converters and transforms, by `topic-partition`;
    `tombstones` counts the records without a value.
    """

    records: int = 0
    topics: dict[str, int] = field(default_factory=dict)
    fields: dict[str, FieldTypes] = field(default_factory=dict)
    kept: dict[str, list[int]] = field(default_factory=dict)
    tombstones: int = 0
    refused_rows: int = 0
    refused: list[str] = field(default_factory=list)
    error: str | None = None


def place_of(partition: TopicPartition) -> str:
    """Return the key of a partition in `kept`."""
    return f"{partition.topic}-{partition.partition}"


def reading_settings(parts: ConnectorParts) -> dict[str, str | int | float | bool]:
    """Return the settings of a consumer that reads by assignment, without a group."""
    settings = dict(consumer_settings(parts.clients.worker_properties, {}, client_id="connect-poc").properties)
    settings.pop("consumer.path", None)
    return settings


def take_sink_sample(
    parts: ConnectorParts, spans: Mapping[TopicPartition, OffsetRange], deadline: Deadline, *, show_values: bool
) -> SinkSample:
    """Convert the records of some offset ranges as a task would. RetriableError: the deadline passed."""
    sample = SinkSample(kept={place_of(partition): [] for partition in spans})
    bad: list[BadRow] = []
    pipeline = parts.sink_pipeline(bad.extend)
    for raw in read_spans(reading_settings(parts), spans, deadline):
        sample.records += len(raw)
        sample.topics[raw.topic] = sample.topics.get(raw.topic, 0) + len(raw)
        for batch in pipeline.decode(raw):
            if len(batch):
                _note_rows(batch, sample, show_values=show_values)
    sample.refused_rows = len(bad)
    for row in bad:
        note_refusal(sample.refused, row.error, show_values=show_values)
    return sample


def _note_rows(batch: Batch, sample: SinkSample, *, show_values: bool) -> None:
    assert batch.consumed is not None
    values = batch.values.rows()
    kept = sample.kept.setdefault(place_of(batch.consumed.topic_partition), [])
    offsets = zip(batch.consumed.offsets.to_pylist(), values, strict=True)
    kept.extend(offset for offset, value in offsets if value is not None)
    sample.tombstones += sum(1 for value in values if value is None)
    arrow = types_of(batch.values.arrow())
    for value in values:
        if value is None:
            continue
        for name, member in (value if isinstance(value, Mapping) else {"": value}).items():
            path = f"{batch.topic}.{name}" if name else batch.topic
            known = sample.fields.get(path)
            if known is None:
                kind = named_type(batch.values.schema, name)
                known = sample.fields[path] = FieldTypes(path, kind, arrow.get(name, ""), "")
            known.rows += 1
            known.nulls += member is None
            if show_values and not known.example and member is not None:
                known.example = str(member)[:EXAMPLE_CHARS]
