"""Builds the pipelines of connectors by their present configurations, to see what becomes of a letter today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from connect.api.codec import HeaderConverter
from connect.api.errors import ConnectError
from connect.api.plugin import PluginKind
from connect.api.records import Batch
from connect.cluster.store.config_reading import read_connectors
from connect.dlq.letter import Letter
from connect.dlq.target_partitions import Destinations
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.parts.clients import Clients
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.parts.task_parts import connector_plugin
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.records.source_letters import LetterFormat, letter_converters
from connect.runtime.records.tolerance import BadRow
from connect.runtime.settings.worker_config import WorkerConfig

_PARTITION_DIGITS: Final = 11
Convert = Callable[[Letter], list[RawBatch]]
"""Converts a letter to records to produce. LetterRefusedError says why it cannot be replayed."""


class LetterRefusedError(ConnectError):
    """Says that a letter cannot be replayed now; it stays in its topic."""


class CurrentPipelines:
    """Holds the configurations that connectors had when the first letter was converted."""

    def __init__(self, worker: WorkerConfig, catalog: Catalog) -> None:
        self._clients = Clients(worker, catalog)
        self._worker = worker
        self._destinations = Destinations(worker)
        self._configs: Mapping[str, Mapping[str, str]] | None = None
        self._converts: dict[str, Convert] = {}
        self._sources: set[str] = set()

    def convert(self, letter: Letter, deadline: Deadline) -> list[RawBatch]:
        """Return the records that the letter becomes under its connector's present configuration.

        LetterRefusedError: it is still bad. ConnectError: there is no such topic or partition.
        """
        if letter.connector not in self._converts:
            self._converts[letter.connector] = self._convert_for(letter.connector, deadline)
        records = self._converts[letter.connector](letter)
        for record in records:
            self._destinations.require(record, deadline, may_be_made=letter.connector in self._sources)
        return records

    def _convert_for(self, name: str, deadline: Deadline) -> Convert:
        if self._configs is None:
            self._configs = read_connectors(self._worker, "connect-dlq-configs", deadline)
        if name not in self._configs:
            return _without_connector
        parts = ConnectorParts(self._clients, self._clients.configs.resolve_secretly(self._configs[name]))
        if connector_plugin(self._clients.catalog, parts.resolved).kind is PluginKind.SOURCE:
            self._sources.add(name)
            source = parts.source_pipeline(_refuse)
            return lambda letter: [
                raw for batch in _batches_of(letter, parts.converters.header) for raw in source.encode(batch).rows
            ]
        sink = parts.sink_pipeline(_refuse)
        return lambda letter: _checked_by(sink, letter)


def _checked_by(pipeline: SinkPipeline, letter: Letter) -> list[RawBatch]:
    original = original_of(letter)
    # The sink had the record: its topic, and none of the letter's headers.
    raw = letter.raw
    pipeline.decode(
        replace(original, partition=original.partition or 0, offsets=raw.offsets, next_offset=raw.next_offset)
    )
    return [original]


def _without_connector(letter: Letter) -> list[RawBatch]:
    if letter.source_format is not None:
        raise LetterRefusedError(
            f"The source connector {letter.connector!r} is gone; its transforms and converters are needed."
        )
    return [original_of(letter)]


def original_of(letter: Letter) -> RawBatch:
    """Return the record that a sink gave up, as it was, for the topic and partition that it came from.

    LetterRefusedError: the letter does not say from which topic it came.
    """
    if not letter.topic:
        raise LetterRefusedError(
            "The letter does not say where it came from.",
            fix="Give --to TOPIC; with errors.deadletterqueue.context.headers.enable=true later letters say it.",
        )
    raw = letter.raw
    return RawBatch(
        topic=letter.topic,
        values=raw.values,
        keys=raw.keys,
        headers=[list(letter.headers)] if letter.headers else None,
        timestamps_ms=raw.timestamps_ms,
        partition=_partition(letter),
    )


def _refuse(rows: list[BadRow]) -> None:
    row = rows[0]
    raise LetterRefusedError(f"Still bad: {row.stage} by {row.component}: {type(row.error).__name__}: {row.error}")


def _batches_of(letter: Letter, headers: HeaderConverter) -> list[Batch]:
    """Return the row of a source connector in a letter, as a batch. ConnectError: the letter holds no row to replay."""
    if letter.source_format is not LetterFormat.JSON:
        raise ConnectError(
            f"The letter is written as {letter.source_format or 'something unknown'}, for people to read only: "
            "the row had no JSON form, or was too large."
        )
    key_converter, value_converter = letter_converters()
    raw = letter.raw
    (values,) = value_converter.decode(raw.topic, raw.values)
    keys = None if raw.keys is None or raw.keys.null_count else key_converter.decode(raw.topic, raw.keys)[0]
    own = [headers.decode(letter.topic, key, value) for key, value in letter.headers]
    return [Batch(letter.topic, values, keys, [own] if own else None, raw.timestamps_ms, _partition(letter))]


def _partition(letter: Letter) -> int | None:
    text = letter.context.get("partition", "")
    # Other digits than these are no numbers for int, and Python reads no number of thousands of them.
    return int(text) if text.isascii() and text.isdigit() and len(text) < _PARTITION_DIGITS else None
