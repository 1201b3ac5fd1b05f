"""Compares rows of the source with the records of the target, value by value, for some chunks of a job.

The rows are read and made into records once more, by the connector's own transforms and converters. Each such record
has to be among those that the topics have of its chunk.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from connect.api.optional.bulk import BulkReader, RejectingReader, Split
from connect.backfill.job.markers import ChunkState
from connect.backfill.verify.topic_records import digests
from connect.backfill.verify.verdict import ValuesVerdict
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.pipeline import SourcePipeline

ROWS_AT_MOST: Final = 100_000
BYTES_AT_MOST: Final = 256 * 2**20
"""About so many rows, and bytes of their records, are compared. They are read and converted once more."""


def sampled_chunks(seed: str, chunks: Mapping[str, ChunkState]) -> list[str]:
    """Return the ids of the chunks to compare, drawn by the seed: as many as the bounds allow, at least one if any."""
    taken: list[str] = []
    share = 0.0
    for chunk in sorted(chunks, key=lambda chunk: zlib.crc32(f"{seed}/{chunk}".encode())):
        state = chunks[chunk]
        share += max(state.read / ROWS_AT_MOST, state.size_bytes / BYTES_AT_MOST)
        if taken and share > 1:
            break
        taken.append(chunk)
    return taken


class ValueSample:
    """Makes records of the rows of some chunks once more. Owned by one thread."""

    def __init__(self, parts: ConnectorParts, reader: BulkReader) -> None:
        """Take the source connector, and a reader of the rows that the job read; the caller closes the reader."""
        # A row that no record can hold is a dead letter, or its chunk is not done.
        self._pipeline: SourcePipeline = parts.source_pipeline(lambda _: None)
        self._reader = reader
        if isinstance(reader, RejectingReader):
            reader.reject_by(lambda _batch, _rows: None)

    def compared(self, seed: str, splits: Sequence[Split], there: Mapping[str, Counter[int]]) -> ValuesVerdict | None:
        """Return how the chunks compare; None if a row becomes another record each time it is converted.

        `there` holds the digests of the records that the topics have of each chunk.
        """
        compared = differ = 0
        for split in splits:
            left = Counter(there[split.id])
            for batch in self._reader.read(split, None):
                if not len(batch):
                    continue
                made = [digest for raw in self._pipeline.encode(batch).rows for digest in digests(raw)]
                if not compared and made != [d for raw in self._pipeline.encode(batch).rows for d in digests(raw)]:
                    return None
                compared += len(made)
                for digest in made:
                    if left[digest] > 0:
                        left[digest] -= 1
                    else:
                        differ += 1
        return ValuesVerdict(compared, differ, [split.id for split in splits], seed)
