"""Writes chunks of a backfill as objects. They are named after the chunk, so that each chunk is there once.

An object is created only if none of its key exists. If a chunk is written again, by any worker, the keys are the same.
The existing objects stay, and are compared with those that would have been written.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.bulk import BulkChunk, BulkSinkContext, WrittenChunk
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.s3.files.commit_together import CommonRotation
from connectors.s3.files.ended_files import EndedFile
from connectors.s3.files.intake import Intake
from connectors.s3.files.partition_files import PartitionFiles
from connectors.s3.files.rotation import Rules
from connectors.s3.paths.layout import Place
from connectors.s3.settings.classes import DEFAULT_PARTITIONER
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import bulk_layout_of, intake_of
from connectors.s3.sink.bulk_layout import BulkObject
from connectors.s3.stores.store import Bucket, Upload

_log = logging.getLogger(__name__)
_ENDLESS: Final = 1 << 62
"""This limit on rows and bytes is never reached: a file ends only at the end of its chunk."""


@dataclass(frozen=True, slots=True)
class _File:
    """Describes an object to create: its key, the facts in its metadata, and its content."""

    key: str
    told: BulkObject
    ended: EndedFile


class S3BulkWriter:
    """Writes chunks. Owned by one thread."""

    def __init__(self, config: S3SinkConfig, ctx: BulkSinkContext) -> None:
        """Connect to nothing. ConfigError: with these settings a chunk that is written twice could be there twice."""
        _require_repeatable(config)
        self._config = config
        self._ctx = ctx
        self._intake = intake_of(config, _no_clock, ctx.avro)
        self._layout = bulk_layout_of(config, self._intake.format)
        self._opened: Bucket | None = None

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Create those objects of a chunk that do not exist yet; see `BulkWriter`.

        ConnectError: an existing object of the chunk holds other rows than the chunk has now, so that new objects would
        not fit to it.
        """
        if not chunk.is_stable and self._config.partitioner_class != DEFAULT_PARTITIONER:
            raise ConfigError(
                "Rows that are copied from a table may change between two tries, and then belong below other paths: "
                "they could be there twice, or not at all.",
                key="partitioner.class",
                fix="Use the DefaultPartitioner for the copy, or move the table into a topic first.",
            )
        files = self._files(chunk, _buffered(self._intake, batches, self._ctx))
        there = [
            file.told if found is None else self._compared(file, found)
            for file, found in zip(files, self._created(files, deadline), strict=True)
        ]
        return WrittenChunk(sum(one.rows for one in there), sum(file.ended.body.data.size for file in files))

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Return the number of rows of each chunk, as the metadata of its present objects tells it."""
        rows = {chunk.id: 0 for chunk in chunks}
        jobs = {chunk.job for chunk in chunks}
        keys = [
            found.key for found in self._bucket.objects(self._config.topics_dir, deadline)
            if (name := self._layout.chunk_of(found.key)) is not None and name[0] in jobs and name[1] in rows
        ]  # fmt: skip
        for key, metadata in zip(keys, self._bucket.metadata(keys, deadline), strict=True):
            if isinstance(metadata, ConnectError):
                raise metadata
            found = BulkObject.of(metadata)
            if found is not None:
                rows[found.chunk] += found.rows
            else:
                _log.warning("s3://%s/%s was not written by a backfill.", self._bucket.name, key)
        return rows

    def close(self) -> None:
        """Release the client. May be called twice."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _bucket(self) -> Bucket:
        if self._opened is None:
            self._opened = Bucket(self._config)
        return self._opened

    def _files(self, chunk: BulkChunk, ended: Mapping[Place, list[EndedFile]]) -> list[_File]:
        return [
            _File(
                self._layout.key(place, chunk, number),
                BulkObject(chunk.job, chunk.id, len(file.offsets), file.offsets[0], file.offsets[-1], len(own)),
                file,
            )
            for place, own in ended.items()
            for number, file in enumerate(own)
        ]

    def _created(self, files: Sequence[_File], deadline: Deadline) -> list[Mapping[str, str] | None]:
        """Create the objects, several at a time. Return None for each new object, and the metadata of each old one."""
        started = [self._bucket.start_create(self._upload(file)) for file in files]
        try:
            while (left := [one for one in started if not one.done()]) and not deadline.expired:
                self._bucket.wait_for_one(left, deadline)
        finally:
            self._bucket.give_up([one for one in started if not one.done()])
        if any(one.cancelled() for one in started):
            raise RetriableError(f"Objects of a chunk were not created in s3://{self._bucket.name} in time.")
        found, errors = list[Mapping[str, str] | None](), list[ConnectError]()
        for one in started:
            result = one.result()
            if isinstance(result, ConnectError):
                errors.append(result)
            else:
                found.append(result)
        if errors:
            raise min(errors, key=lambda error: isinstance(error, RetriableError))
        return found

    def _upload(self, file: _File) -> Upload:
        body = memoryview(file.ended.body.data).cast("B")
        tags = None if self._config.tags is None else {**self._config.tags, **file.ended.extent.tags()}
        return Upload(file.key, body, file.told.metadata(), self._intake.format.content_type, tags)

    def _compared(self, file: _File, metadata: Mapping[str, str]) -> BulkObject:
        """Return the facts about an object that existed before.

        ConnectError: it does not fit to the rest of the chunk.
        """
        found, where = BulkObject.of(metadata), f"s3://{self._bucket.name}/{file.key}"
        if found is None or (found.job, found.chunk) != (file.told.job, file.told.chunk):
            raise ConnectError(
                f"{where} is there already and was not written by this backfill.",
                key="topics.dir",
                fix="Move the object away, or give the backfill another name.",
            )
        # If the object is the only one of its chunk in its place, it has all of the chunk's rows there, also those that
        # were removed from the source since.
        if found != file.told and (found.files, file.told.files) != (1, 1):
            raise ConnectError(
                f"{where} has {found.rows} rows of offsets {found.start_offset} to {found.last_offset}, and now "
                f"there are {file.told.rows} of {file.told.start_offset} to {file.told.last_offset}: records were "
                "removed between two tries of a chunk whose schema changes, so that what is there does not fit to "
                "the rest.",
                fix=f"Delete the objects of chunk {file.told.chunk}, and run the backfill again.",
            )
        return found


def _buffered(intake: Intake, batches: Iterable[Batch], ctx: BulkSinkContext) -> Mapping[Place, list[EndedFile]]:
    """Return all rows as encoded files by their place. A place has several files if the schema changes."""
    partitions: dict[TopicPartition, PartitionFiles] = {}
    for batch in batches:
        assert batch.consumed is not None
        partition = batch.consumed.topic_partition
        admission = intake.admit(batch)
        files = partitions.get(partition)
        if files is None:
            files = partitions[partition] = PartitionFiles(partition, CommonRotation(Rules(_ENDLESS)), intake.format)
        for part in admission.parts:
            files.take(part, now_ms=0)
        if admission.bad:
            ctx.reject(batch, admission.bad)
    ended: dict[Place, list[EndedFile]] = {}
    for files in partitions.values():
        files.settle()
        files.end_largest(_ENDLESS)
        while heads := list(files.to_create()):
            for head in heads:
                ended.setdefault(head.place, []).append(head)
                files.created(head)
    return ended


def _require_repeatable(config: S3SinkConfig) -> None:
    if not config.conditional_writes:
        raise ConfigError(
            "Without conditional writes an older run of a backfill could replace what a later one has written.",
            key="enable.conditional.writes",
            fix="Set enable.conditional.writes=true.",
        )
    if config.is_time_partitioned and config.timestamp_extractor == "Wallclock":
        raise ConfigError(
            "By the clock, a record that is written again has another path, and would be there twice.",
            key="timestamp.extractor",
            fix="Use timestamp.extractor=Record or RecordField.",
        )
    if config.store_keys or config.store_headers:
        raise ConfigError(
            "A chunk's objects hold values alone, without the keys and headers of their records.",
            key="store.kafka.keys" if config.store_keys else "store.kafka.headers",
            fix="Leave them out of the copy, or move the table into a topic first.",
        )


def _no_clock() -> int:
    return 0
