"""Makes the keys and the metadata of a backfill's objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connect.api.optional.bulk import BulkChunk
from connectors.s3.paths.layout import Place

_PARTS: Final = "+"
"""This separates the parts of a name. Jobs, chunks and topics do not have it in their names, so that no such key is
one that the sink makes.
"""


@dataclass(frozen=True, slots=True)
class BulkObject:
    """Describes the content of a chunk's object: its rows have offsets from start_offset to last_offset.

    `files` is the number of objects that the chunk has in this place; more than one if the schema changes.
    """

    job: str
    chunk: str
    rows: int
    start_offset: int
    last_offset: int
    files: int

    def metadata(self) -> dict[str, str]:
        """Return the user metadata of the object."""
        return {
            "kconnect-backfill": self.job,
            "kconnect-chunk": self.chunk,
            "kconnect-rows": str(self.rows),
            "kconnect-start-offset": str(self.start_offset),
            "kconnect-last-offset": str(self.last_offset),
            "kconnect-files": str(self.files),
        }

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> BulkObject | None:
        """Return the facts in the metadata of an object, or None if it is not an object of a backfill."""
        try:
            rows, start, last, files = (
                int(metadata[f"kconnect-{name}"]) for name in ("rows", "start-offset", "last-offset", "files")
            )
            return cls(metadata["kconnect-backfill"], metadata["kconnect-chunk"], rows, start, last, files)
        except (KeyError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class BulkLayout:
    """Gives a backfill's objects keys beside the sink's, as `topics/orders/partition=0/<job>+<chunk>.parquet`."""

    topics_dir: str
    directory_delim: str
    extension: str

    def key(self, place: Place, chunk: BulkChunk, number: int) -> str:
        """Return the key of an object of a chunk. `number` counts the chunk's objects in this place, from 0."""
        name = _PARTS.join((chunk.job, chunk.id, *([str(number)] if number else [])))
        folders = (self.topics_dir, place.topic) if self.topics_dir else (place.topic,)
        return self.directory_delim.join((*folders, place.path, f"{name}{self.extension}"))

    def chunk_of(self, key: str) -> tuple[str, str] | None:
        """Return the job and the chunk of a key, or None if it is not a key of a backfill's object."""
        if not key.endswith(self.extension):
            return None
        name = key.rpartition(self.directory_delim)[2].removesuffix(self.extension)
        job, *rest = name.split(_PARTS)
        return (job, rest[0]) if rest else None
