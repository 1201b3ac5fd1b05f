"""Holds the connectors of a job of each kind; it is sent to the processes of an engine.

A job of kind source reads rows by a source connector into Kafka. Kind sink writes the records of a sink connector's
topics into the sink. Kind copy brings the rows of a source connector into a sink connector without Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from connect.api.codec import AvroValues
from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.bulk import BulkSink, BulkSource, BulkWriter, MeasuredSource, OrderedBulkSink, SourceLoad
from connect.api.records import Batch
from connect.api.schema import Schema
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.topic_source import TopicSource
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts, ConnectorSettings

_LOAD_S: Final = 10.0
_LETTERS: Final = "errors.deadletterqueue.topic.name"


@dataclass(frozen=True, slots=True, repr=False)
class JobConnectors:
    """Holds the source and sink connectors of a job, which may hold secrets; one of them may be None, but not both.

    Without a source, records of the sink's topics are read, from `offsets` on ("orders-0": 7) where these are given.
    Without a sink, rows go to Kafka.
    """

    source: ConnectorSettings | None
    sink: ConnectorSettings | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)

    @property
    def following(self) -> ConnectorSettings:
        """Return the settings of the connector that goes on where the job ends."""
        found = self.source or self.sink
        assert found is not None
        return found

    def open_source(self) -> BulkSource:
        """Return the source that is read. ConnectError: the source connector cannot be read in bulk."""
        parts = self.following.open()
        if self.source is not None:
            return bulk_source(parts)
        sink = bulk_sink(parts)
        return TopicSource(parts, self.offsets, in_order=isinstance(sink, OrderedBulkSink) and sink.chunks_in_order)

    def check(self) -> None:
        """Raise ConfigError if the sink takes no rows in bulk as it is set, or a copy has dead letters.

        Dead letters need a topic of records, which a copy does not have.
        """
        if self.sink is None:
            return
        self.open_writer().close()
        for one in (self.source, self.sink) if self.source is not None else ():
            _require_no_letters(one.open())

    def open_writer(self) -> BulkWriter:
        """Return a writer of the sink that is only asked which rows it has. ConfigError: it takes no rows in bulk."""
        assert self.sink is not None
        return bulk_sink(self.sink.open()).bulk_writer(_Asking())


def job_connectors(
    spec: BackfillSpec, worker: dict[str, str], connector: Mapping[str, str], target: Mapping[str, str]
) -> JobConnectors:
    """Return the connectors of a job.

    `connector` is the configuration of the one that goes on. `target` is the sink's configuration for kind copy.
    """

    def settings(name: str, config: Mapping[str, str]) -> ConnectorSettings:
        return ConnectorSettings(worker, {**config, "name": name})

    match spec.kind:
        case "source":
            return JobConnectors(settings(spec.source.connector, connector))
        case "sink":
            return JobConnectors(None, settings(spec.target.connector, connector), spec.source.offsets)
        case "copy":
            return JobConnectors(settings(spec.source.connector, connector), settings(spec.target.connector, target))
        case never:
            assert_never(never)


def _require_no_letters(parts: ConnectorParts) -> None:
    topic = parts.resolved.get(_LETTERS)
    if topic:
        raise ConfigError(
            f"Connector {parts.resolved['name']} has dead letters in topic {topic}, but rows that are copied past "
            "Kafka are no records that could be set aside there.",
            key=_LETTERS,
            fix="Leave it out for the copy, or move the rows through a topic.",
        )


class _Asking:
    """Is the context of a writer that is asked to write nothing. Implements BulkSinkContext."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        raise AssertionError(f"{len(rows)} rows of {batch.topic} were rejected where nothing is written.")

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        raise AssertionError(f"{schema} was asked for with {properties} where nothing is written.")


def bulk_source(parts: ConnectorParts) -> BulkSource:
    """Return the connector as a source that can be read in bulk. ConnectError: it cannot be."""
    connector = parts.build_connector()
    if not isinstance(connector, BulkSource):
        raise ConnectError(
            f"Connector {parts.resolved['name']} cannot be read in bulk: {parts.resolved.get('connector.class')} "
            "offers no splits.",
            key="source.connector",
            fix="Name a connector that can be split, as the JDBC source, or let it read its source itself.",
        )
    return connector


def load_of(parts: ConnectorParts) -> SourceLoad:
    """Return how busy a connector's source is; its figures are None if it cannot tell. RetriableError: no answer."""
    source = parts.build_connector()
    return source.load(Deadline.after(_LOAD_S)) if isinstance(source, MeasuredSource) else SourceLoad(None, None)


def reader_connections(source: BulkSource) -> int:
    """Return how many connections one reader of the source has at most; 1 if the source does not tell."""
    return source.connections_per_reader if isinstance(source, MeasuredSource) else 1


def bulk_sink(parts: ConnectorParts) -> BulkSink:
    """Return the connector as a sink that takes rows in bulk. ConfigError: it cannot."""
    connector = parts.build_connector()
    if not isinstance(connector, BulkSink):
        raise ConfigError(
            f"Connector {parts.resolved['name']} takes no rows in bulk: {parts.resolved.get('connector.class')} "
            "cannot write a chunk so that it is there once.",
            key="target.connector",
            fix="Name a sink that can, as the S3 sink, or let the connector read its topics itself.",
        )
    return connector
