"""Reads the rows that a source has now for given keys, as the records that they would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from connect.api.errors import ConnectError
from connect.api.optional.bulk import KeyedReader
from connect.backfill.job.kinds import bulk_source
from connect.kafka.raw import RawBatch
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.pipeline import SourcePipeline
from connect.runtime.records.tolerance import BadRow, ToleranceExceededError


class FoundRows:
    """Asks the source of a connector for rows by their keys. Owned by one thread."""

    def __init__(self, parts: ConnectorParts) -> None:
        """Open the source. ConnectError: it cannot find rows by their keys."""
        reader = bulk_source(parts).bulk_reader()
        if not isinstance(reader, KeyedReader):
            reader.close()
            raise ConnectError(
                f"Connector {parts.resolved['name']} cannot be asked for the rows of some keys, so that nobody could "
                "tell which of them are gone.",
                key="connector.class",
            )
        self._reader = reader
        self._keys = parts.converters.key
        self._pipeline: SourcePipeline = parts.source_pipeline(_give_up)

    def records(self, topic: str, keys: Sequence[bytes]) -> Iterator[RawBatch]:
        """Yield the records that the topic would have for these keys; rows that do not exist have none.

        SchemaError: the topic's keys are not the source's.
        """
        wanted = set(keys)
        columns = self._keys.decode(topic, pa.array(keys, pa.binary()))
        for batch in self._reader.find(topic, [key for column in columns for key in column.rows()]):
            for raw in self._pipeline.encode(batch).rows:
                if raw.topic == topic and raw.keys is not None:
                    own = [i for i, key in enumerate(raw.keys.to_pylist()) if key in wanted]
                    yield raw.take(own)

    def close(self) -> None:
        """Close the source."""
        self._reader.close()


def _give_up(rows: list[BadRow]) -> None:
    raise ToleranceExceededError(rows[0])
