"""Builds the pipelines of connectors by their present configurations, to see what becomes of a letter today."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from connect.api import schema as s
from connect.api.codec import Converter, HeaderConverter
from connect.api.errors import ConnectError
from connect.api.plugin import PluginKind
from connect.api.records import Batch, Header
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
            return lambda letter: list(source.encode(source_row(letter, parts.converters.header)).rows)
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


def source_row(letter: Letter, headers: HeaderConverter) -> Batch:
    """Return the row of a source connector in a letter, as a batch. ConnectError: the letter holds no row to replay."""
    if letter.source_format is not LetterFormat.JSON:
        raise ConnectError(
            f"The letter is written as {letter.source_format or 'something unknown'}, for people to read only: "
            "the row or a header of it had no form, or was too large."
        )
    key_converter, value_converter = letter_converters()
    raw = letter.raw
    (values,) = value_converter.decode(raw.topic, raw.values)
    keys = None if raw.keys is None or raw.keys.null_count else key_converter.decode(raw.topic, raw.keys)[0]
    own = _headers_of(letter, headers, value_converter)
    return Batch(letter.topic, values, keys, [own] if own else None, raw.timestamps_ms, _partition(letter))


def _headers_of(letter: Letter, headers: HeaderConverter, values: Converter) -> list[Header]:
    """Return the headers of a source's row as they were. LetterRefusedError: the letter does not tell them."""
    own = letter.headers
    texts = _texts_of(letter) if letter.header_texts else [None] * len(own)
    if len(texts) != len(own):
        raise LetterRefusedError(f"The letter has {len(own)} headers of its row, and tells the types of {len(texts)}.")
    return [
        _read_back(letter.topic, key, value, headers) if text is None else _typed(key, text, values)
        for (key, value), text in zip(own, texts, strict=True)
    ]


def _texts_of(letter: Letter) -> list[str | None]:
    try:
        texts = json.loads(letter.header_texts)
    except (ValueError, RecursionError) as error:
        raise LetterRefusedError(f"What the letter says of its row's headers is no JSON: {error}.") from error
    if not isinstance(texts, list) or not all(text is None or isinstance(text, str) for text in texts):
        raise LetterRefusedError("What the letter says of its row's headers is no list of texts.")
    return texts


def _typed(key: str, text: str, values: Converter) -> Header:
    import pyarrow as pa

    (column,) = values.decode("", pa.array([text.encode()], pa.binary()))
    return Header(key, column.rows()[0], column.schema)


def _read_back(topic: str, key: str, value: bytes | None, headers: HeaderConverter) -> Header:
    """Return a header whose bytes are those of the letter. Letters of earlier releases tell no types."""
    found = headers.decode(topic, key, value)
    if headers.encode(topic, found) == value:
        return found
    text = Header(key, (value or b"").decode(errors="replace"), s.STRING)
    if headers.encode(topic, text) == value:
        return text
    raise LetterRefusedError(
        f"The header {key!r} of the letter would be written in other bytes than it has.",
        fix="Set header.converter to the one that wrote the letter, or discard the letter.",
    )


def _partition(letter: Letter) -> int | None:
    text = letter.context.get("partition", "")
    # Other digits than these are no numbers for int, and Python reads no number of thousands of them.
    return int(text) if text.isascii() and text.isdigit() and len(text) < _PARTITION_DIGITS else None
