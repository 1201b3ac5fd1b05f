"""Reads the rows that a source has now for given keys, as the records that they would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

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

        SchemaError: the topic's keys are not the source's. ConnectError: a row has other bytes as its key today.
        """
        wanted = set(keys)
        columns = self._keys.decode(topic, pa.array(keys, pa.binary()))
        for batch in self._reader.find(topic, [key for column in columns for key in column.rows()]):
            for raw in self._pipeline.encode(batch).rows:
                if raw.topic == topic and raw.keys is not None:
                    yield of_keys(raw, wanted)

    def close(self) -> None:
        """Close the source."""
        self._reader.close()


def of_keys(raw: RawBatch, wanted: AbstractSet[bytes]) -> RawBatch:
    """Return the records whose key is wanted. ConnectError: a record has another key.

    The source was asked for the wanted keys alone, so such a record's row was found by a key that is written otherwise
    today. It would seem to be gone, and its tombstone would delete it in a sink that reads keys.
    """
    keys = [] if raw.keys is None else raw.keys.to_pylist()
    others = sum(key is not None and key not in wanted for key in keys)
    if others:
        raise ConnectError(
            f"Topic {raw.topic}: {others} rows that the source has would have other bytes as their keys today than the "
            "topic's records of them, as with another schema of keys: nobody can tell which keys are gone.",
            fix="Delete nothing by --delete-missing; bring the rows into a new topic, or delete keys by hand.",
        )
    return raw.take([i for i, key in enumerate(keys) if key in wanted])


def _give_up(rows: list[BadRow]) -> None:
    raise ToleranceExceededError(rows[0])
