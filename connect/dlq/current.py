"""The connectors as the config topic has them now, and their pipelines, to see what becomes of a letter today."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.api.plugin import PluginKind
from connect.api.records import TopicPartition
from connect.cluster.config_records import decode
from connect.cluster.config_state import ConfigState
from connect.cluster.record_json import RecordFormatError
from connect.dlq.letter import Letter
from connect.dlq.source_rows import batches_of
from connect.kafka.log_reader import Span, read_spans
from connect.kafka.raw import RawBatch
from connect.kafka.settings import admin_settings, consumer_settings
from connect.kafka.topics import TopicAdmin
from connect.plugins import Catalog
from connect.runtime.build import build_chain, build_converters, connector_plugin
from connect.runtime.clients import Clients
from connect.runtime.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.pipeline import SinkPipeline, SourcePipeline
from connect.runtime.tolerance import BadRow
from connect.runtime.worker_config import WorkerConfig

Convert = Callable[[Letter], list[RawBatch]]
"""What a letter becomes: records to produce. LetterRefusedError says why it cannot be replayed."""


class LetterRefusedError(ConnectError):
    """This letter cannot be replayed now; it stays where it is."""


class CurrentConnectors:
    """Connector configurations as of when they were first asked for."""

    def __init__(self, worker: WorkerConfig, catalog: Catalog) -> None:
        self._clients = Clients(worker, catalog)
        self._worker = worker
        self._configs: Mapping[str, Mapping[str, str]] | None = None
        self._converts: dict[str, Convert] = {}

    def convert(self, letter: Letter, deadline: Deadline) -> list[RawBatch]:
        """What the letter becomes under its connector's present configuration. LetterRefusedError: it is still bad."""
        if letter.connector not in self._converts:
            self._converts[letter.connector] = self._convert_for(letter.connector, deadline)
        return self._converts[letter.connector](letter)

    def _convert_for(self, name: str, deadline: Deadline) -> Convert:
        if self._configs is None:
            self._configs = _read_configs(self._worker, deadline)
        if name not in self._configs:
            return _without_connector
        config = self._clients.resolve(self._configs[name])
        catalog = self._clients.catalog
        converters = build_converters(catalog, config, self._clients.worker_properties)
        if connector_plugin(catalog, config).kind is PluginKind.SOURCE:
            chain = build_chain(catalog, SourceConnectorConfig.parse(config), self._clients.worker_properties)
            source = SourcePipeline(chain, converters, _refuse)
            return lambda letter: [
                raw for batch in batches_of(letter, converters.header) for raw in source.encode(batch).rows
            ]
        chain = build_chain(catalog, SinkConnectorConfig.parse(config), self._clients.worker_properties)
        sink = SinkPipeline(chain, converters, _refuse)
        return lambda letter: _checked_by(sink, letter)


def _checked_by(pipeline: SinkPipeline, letter: Letter) -> list[RawBatch]:
    original = original_of(letter)
    pipeline.decode(letter.raw)
    return [original]


def _without_connector(letter: Letter) -> list[RawBatch]:
    if letter.source_format is not None:
        raise LetterRefusedError(
            f"The source connector {letter.connector!r} is gone; its transforms and converters are needed."
        )
    return [original_of(letter)]


def original_of(letter: Letter) -> RawBatch:
    """The record that a sink gave up, as it was, for the topic and partition it came from."""
    if not letter.topic:
        raise LetterRefusedError(
            "The letter does not say where it came from.",
            fix="Give --to TOPIC; with errors.deadletterqueue.context.headers.enable=true later letters say it.",
        )
    partition = letter.context.get("partition", "")
    raw = letter.raw
    return RawBatch(
        topic=letter.topic,
        values=raw.values,
        keys=raw.keys,
        headers=[list(letter.headers)] if letter.headers else None,
        timestamps_ms=raw.timestamps_ms,
        partition=int(partition) if partition.isdigit() else None,
    )


def _refuse(rows: list[BadRow]) -> None:
    row = rows[0]
    raise LetterRefusedError(f"Still bad: {row.stage} by {row.component}: {type(row.error).__name__}: {row.error}")


def _read_configs(worker: WorkerConfig, deadline: Deadline) -> Mapping[str, Mapping[str, str]]:
    topic, client_id = worker.config_storage_topic, "connect-dlq-configs"
    admin = TopicAdmin(admin_settings(worker.originals, {}, client_id).properties)
    partitions = [TopicPartition(topic, p) for p in range(admin.partition_counts([topic], deadline).get(topic, 0))]
    ends = admin.end_offsets(partitions, deadline, committed_only=True) if partitions else {}
    state = ConfigState()
    settings = consumer_settings(worker.originals, {}, client_id=client_id).properties
    for raw in read_spans(settings, {tp: Span(0, end) for tp, end in ends.items()}, deadline):
        keys = raw.keys.to_pylist() if raw.keys is not None else [None] * len(raw)
        for key, value in zip(keys, raw.values.to_pylist(), strict=True):
            try:
                state.apply(decode(key, value))
            except RecordFormatError:
                continue  # the workers warn of it
    return state.snapshot().connectors
