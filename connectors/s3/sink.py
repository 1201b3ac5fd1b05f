"""The S3 sink's connector and task: batches into files, ended files into objects, objects into durable offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connectors.s3.build import intake_of, rules_of, schedule_of
from connectors.s3.config import S3SinkConfig
from connectors.s3.files import EndedFile, PartitionFiles
from connectors.s3.layout import Extent
from connectors.s3.schedule import OpenSince
from connectors.s3.store import Bucket, Upload

_log = logging.getLogger(__name__)


class S3SinkConnector:
    """Plans tasks: all are alike, Kafka shares the partitions out."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, S3SinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """List, create, create again and delete a probe object. ConfigError names what to change."""
        bucket = Bucket(self._config)
        try:
            bucket.check(self._config.topics_dir, deadline)
        finally:
            bucket.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The same configuration for each task."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> S3SinkTask:
        """A task, not yet open."""
        return S3SinkTask(S3SinkConfig.parse(config))


class S3SinkTask:
    """Writes the partitions assigned to it. Owned by the task thread."""

    def __init__(self, config: S3SinkConfig, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._config = config
        self._now_ms = now_ms
        self._intake = intake_of(config, now_ms)
        self._rules = rules_of(config)
        self._schedule = schedule_of(config)
        self._files: dict[TopicPartition, PartitionFiles] = {}
        self._since: dict[TopicPartition, OpenSince] = {}
        self._bucket: Bucket | None = None
        self._ctx: SinkContext | None = None
        self._created = 0

    def open(self, ctx: SinkContext) -> None:
        """Build the client; the first upload connects."""
        self._ctx = ctx
        self._bucket = Bucket(self._config)
        for weakness in self._config.weaknesses() if self._config.exactly_once is None else ():
            _log.warning("%s Set exactly.once=false to accept it without this line.", weakness.message)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Start each partition empty."""
        for partition in partitions:
            self._files[partition] = PartitionFiles(partition, self._rules, self._intake.format)

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Buffer the rows, and create the objects of files that ended.

        Files that could not be uploaded wait; the next call tries them again before it takes more.
        """
        assert batch.consumed is not None
        self._upload(deadline)
        admission = self._intake.admit(batch)
        partition = batch.consumed.topic_partition
        for other, known in self._files.items():
            if other != partition:
                # What was polled at once comes at once: no more of theirs is on its way.
                known.settle()
        files = self._files.setdefault(partition, PartitionFiles(partition, self._rules, self._intake.format))
        for part in admission.parts:
            files.take(part)
        self._note_rows(partition, sum(part.facts.length for part in admission.parts))
        self._end_due()
        self._end_largest()
        try:
            self._upload(deadline)
        except RetriableError:
            # The rows are taken, so this call must not fail: the ended files are kept, and the next call says why.
            self._gauge("uploads_waiting", 1)
        self._report()
        if admission.bad:
            raise RejectedRowsError(admission.bad)

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """End files that the clock ends, create the objects of all ended files, and say how far."""
        for files in self._files.values():
            files.settle()
        self._end_due()
        self._upload(deadline)
        self._report()
        durable = {partition: files.durable_offset() for partition, files in self._files.items()}
        return {partition: offset for partition, offset in durable.items() if offset is not None}

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what is buffered: the next owner reads it again."""
        for partition in partitions:
            self._files.pop(partition, None)
            self._since.pop(partition, None)

    def close(self) -> None:
        """Release the client; idempotent."""
        self._files.clear()
        self._since.clear()
        if self._bucket is not None:
            self._bucket.close()
            self._bucket = None

    def _note_rows(self, partition: TopicPartition, rows: int) -> None:
        if not rows:
            return
        now = self._now_ms()
        since = self._since.setdefault(partition, OpenSince(now, now))
        since.last_row_ms = now

    def _end_due(self) -> None:
        now = self._now_ms()
        for partition, files in self._files.items():
            since = self._since.get(partition)
            if since is None:
                continue
            if since.is_due(self._schedule, now):
                files.end_files()
                self._since[partition] = OpenSince(now, since.last_row_ms)
            if not files.has_open_files:
                del self._since[partition]

    def _end_largest(self) -> None:
        """Keep to buffer.max.bytes; what was polled last waits for the rest of its poll, and is no file yet."""
        most = self._config.open_bytes_max
        if most is None:
            return
        while sum(files.open_bytes for files in self._files.values()) > most:
            largest = max(self._files.values(), key=lambda files: files.open_bytes)
            largest.end_files()

    def _upload(self, deadline: Deadline) -> None:
        while ready := [file for files in self._files.values() for file in files.to_create()]:
            self._create(ready, deadline)

    def _create(self, ready: Sequence[EndedFile], deadline: Deadline) -> None:
        assert self._bucket is not None
        made = self._bucket.create([self._object(file) for file in ready], deadline)
        conflicts = []
        for file, result in zip(ready, made, strict=True):
            if result is True:
                self._created += 1
                self._files[file.partition].created(file)
            elif result is False:
                conflicts.append(file)
        self._resolve(conflicts, deadline)
        _raise_worst([result for result in made if isinstance(result, ConnectError)])

    def _resolve(self, conflicts: Sequence[EndedFile], deadline: Deadline) -> None:
        if not conflicts:
            return
        assert self._bucket is not None
        keys = [self._key(file) for file in conflicts]
        failed = []
        for file, key, answer in zip(conflicts, keys, self._bucket.metadata(keys, deadline), strict=True):
            if isinstance(answer, ConnectError):
                failed.append(answer)
                continue
            self._files[file.partition].found(file, self._checked(file, key, Extent.of(answer)))
        _raise_worst(failed)

    def _checked(self, file: EndedFile, key: str, extent: Extent | None) -> Extent:
        if extent is None or (extent.partition, extent.start_offset) != (file.partition, file.extent.start_offset):
            raise ConnectError(
                f"s3://{self._bucket_name}/{key} is there already and was not written by this sink for these records: "
                "its metadata kconnect-* is missing or names others.",
                key="topics.dir",
                fix="Move the object away, or give this connector a topics.dir of its own.",
            )
        ours, theirs = file.extent.start_ms, extent.start_ms
        if ours is not None and theirs is not None and ours != theirs:
            raise ConnectError(
                f"s3://{self._bucket_name}/{key} holds other records with these offsets: its first one is of "
                f"{_moment(theirs)}, ours of {_moment(ours)}. The topic was made anew, or is of another Kafka cluster.",
                key="topics.dir",
                fix="Give this connector a topics.dir of its own, or move the objects of the former topic away.",
            )
        return extent

    @property
    def _bucket_name(self) -> str:
        return self._config.bucket

    def _object(self, file: EndedFile) -> Upload:
        return Upload(
            self._key(file),
            memoryview(file.body.data).cast("B"),
            file.extent.metadata(),
            self._intake.format.content_type,
        )

    def _key(self, file: EndedFile) -> str:
        return self._intake.layout.key(file.place, file.partition, file.extent.start_offset)

    def _report(self) -> None:
        self._gauge("open_files", sum(files.open_files for files in self._files.values()))
        self._gauge("buffered_bytes", sum(files.buffered_bytes for files in self._files.values()))
        self._gauge("objects_created", self._created)

    def _gauge(self, name: str, value: float) -> None:
        if self._ctx is not None:
            self._ctx.gauge(name, value)


def _moment(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return f"{ms} ms since 1970"


def _raise_worst(errors: Sequence[ConnectError]) -> None:
    if errors:
        raise min(errors, key=lambda error: isinstance(error, RetriableError))
