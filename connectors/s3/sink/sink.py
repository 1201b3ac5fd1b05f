"""Holds the S3 sink's connector and task. Batches become files, ended files become objects, and then offsets move."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.optional.bulk import BulkSinkContext
from connect.api.optional.compaction import CompactedFiles, Compaction, FileGroup
from connect.api.optional.findings import Finding
from connect.api.optional.topic_ids import TopicIds
from connect.api.records import Batch, TopicPartition
from connect.api.schema import Schema
from connect.lib.deadline import Deadline
from connectors.s3.files.last_object import LastObjects
from connectors.s3.files.other_connectors import OtherConnectors
from connectors.s3.files.partition_files import PartitionFiles
from connectors.s3.files.pending_uploads import Uploads
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan, Plan, merger_plan_of
from connectors.s3.sink.bulk import S3BulkWriter
from connectors.s3.sink.compaction import ObjectCompaction
from connectors.s3.sink.policy import missing_rights
from connectors.s3.sink.trial import TrialObjects
from connectors.s3.stores.store import Bucket

_ROOM_SHARE: Final = 4
"""When memory is full, files are ended until one in this many bytes is free, a quarter of the limit.

It is not done byte by byte, as the rows that stay are copied together each time.
"""

_log = logging.getLogger(__name__)


class S3SinkConnector:
    """Makes the tasks of one sink. All have the same settings, and Kafka shares the partitions out among them."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, S3SinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """List, create, create again and delete a probe object. ConfigError names what to change."""
        check_bucket(ConfluentPlan(self._config), deadline)

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield the rights that are missing, with the policy that gives them."""
        return missing_rights(ConfluentPlan(self._config), deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same configuration for each task."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> S3SinkTask:
        """Return a task that is not yet open."""
        return S3SinkTask(ConfluentPlan(type(self._config).parse(config)))

    def bulk_writer(self, ctx: BulkSinkContext) -> S3BulkWriter:
        """Return a writer of a backfill's chunks."""
        return S3BulkWriter(self._config, ctx)

    def compaction_groups(self, wish: Compaction) -> Iterator[FileGroup]:
        """Yield the groups of small objects below topics.dir that follow each other in a path."""
        with self._compaction() as compaction:
            yield from compaction.groups(wish)

    def compact(self, group: FileGroup) -> CompactedFiles | None:
        """Join the objects of a group. A reader may see their rows twice until the former objects are deleted."""
        with self._compaction() as compaction:
            return compaction.compact(group)

    def _compaction(self) -> AbstractContextManager[ObjectCompaction]:
        return closing(ObjectCompaction(self._config, merger_plan_of(self._config)))

    def trial_target(self, name: str) -> TrialObjects:
        """Return a separate folder below topics.dir for a trial."""
        return TrialObjects(self._config, name)


def check_bucket(plan: Plan, deadline: Deadline) -> None:
    """List, create, create again and delete a probe object. ConfigError names what to change."""
    bucket = Bucket(plan.bucket)
    try:
        bucket.check(plan.probe_prefix, deadline)
    finally:
        bucket.close()


class S3SinkTask:
    """Writes the partitions assigned to it. Owned by the task thread."""

    def __init__(self, plan: Plan, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._plan = plan
        self._now_ms = now_ms
        self._schedule = plan.schedule
        self._files: dict[TopicPartition, PartitionFiles] = {}
        self._bucket: Bucket | None = None
        self._uploads: Uploads | None = None
        self._reaches: LastObjects | None = None
        self._ctx: SinkContext | None = None
        self._noted = 0
        self._claimed: dict[TopicPartition, int] = {}
        self._schemas: dict[tuple[TopicPartition, str], Schema | None] = {}

    def open(self, ctx: SinkContext) -> None:
        """Make the client of the store. The first request connects."""
        self._ctx = ctx
        self._topic_ids = TopicIds(ctx.topic_id)
        self._intake = self._plan.intake(self._now_ms, ctx.avro)
        self._bucket = Bucket(self._plan.bucket)
        layout, self._others = self._intake.layout, OtherConnectors(ctx.connector)
        self._uploads = Uploads(self._bucket, layout, self._intake.format, self._others, self._plan.bucket.tags)
        self._reaches = LastObjects(self._bucket, layout, self._others)
        for weakness in self._plan.weaknesses():
            _log.warning("%s Set exactly.once=false to accept it without this line.", weakness.message)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what is buffered for these partitions; each starts with its first batch."""
        self._topic_ids.forget(partitions)
        for partition in partitions:
            self._files.pop(partition, None)

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Buffer the rows, and create the objects of files that have ended.

        While uploads are under way no rows are taken. RetriableError: the deadline was over before they ended.
        """
        assert batch.consumed is not None
        assert self._uploads is not None
        assert self._reaches is not None
        self._wait_for_uploads(self._uploads, deadline)
        partition = batch.consumed.topic_partition
        files = self._files_of(partition, deadline)
        if not files.has_rows_of(batch.topic):
            # The next file begins with the schema of its own rows, as it would after a restart.
            self._schemas.pop((partition, batch.topic), None)
        current = self._schemas.get((partition, batch.topic))
        admission = self._intake.admit(batch, current)
        for other, known in self._files.items():
            if other != partition:
                # The batches of a poll come partition by partition. So no more rows of this poll come for the others.
                known.end_poll()
        if files.topic_id is not None and self._plan.bucket.conditional_writes:
            self._reaches.learn(files, [part for part in admission.parts if part.facts.length], deadline)
        if admission.schema != current and files.reaches.lacks_rows(admission.parts):
            self._schemas[partition, batch.topic] = admission.schema
        for part in admission.parts:
            files.take(part, self._now_ms())
        self._end_due()
        self._keep_to_memory()
        # The rows are taken, so that an upload that fails must not fail this call. The next call raises the error.
        self._uploads.advance(self._files, deadline)
        self._report(self._uploads)
        if admission.bad:
            raise RejectedRowsError(admission.bad)

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """End files that the clock ends, create objects until the deadline, and return the offsets to commit.

        An upload that needs longer goes on after the deadline, and the next call sees its result. RetriableError: no
        offset can be committed that the last call did not return.
        """
        assert self._uploads is not None
        assert self._ctx is not None
        for files in self._files.values():
            files.settle()
        self._end_due()
        for files in self._files.values():
            if self._schedule.each_flush:
                files.end_all()
            files.encode()
        failure = self._uploads.advance(self._files, deadline)
        self._report(self._uploads)
        known = {partition: files.durable_offset() for partition, files in self._files.items()}
        durable = {partition: offset for partition, offset in known.items() if offset is not None}
        if failure is not None and durable == self._claimed:
            raise failure
        if failure is not None:
            _log.warning("Some objects could not be created and are tried again: %s", failure)
        if failure is None and self._uploads.under_way:
            self._ctx.request_flush()
        self._claimed = durable
        return durable

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the rows of these partitions and give up their uploads: the next owner reads the rows again."""
        if self._uploads is not None:
            self._uploads.give_up(partitions)
        self._schemas = {at: schema for at, schema in self._schemas.items() if at[0] not in partitions}
        for partition in partitions:
            self._files.pop(partition, None)
            self._claimed.pop(partition, None)

    def close(self) -> None:
        """Release the client. May be called twice."""
        self._files.clear()
        if self._bucket is not None:
            self._bucket.close()
            self._bucket = self._uploads = self._reaches = None

    def _end_due(self) -> None:
        now_ms = self._now_ms()
        for files in self._files.values():
            files.end_due(self._schedule, now_ms)

    def _keep_to_memory(self) -> None:
        """End files if there are more bytes than buffer.max.bytes, without the rows of a poll that is not complete."""
        most = self._plan.open_bytes_max
        held = sum(files.open_bytes for files in self._files.values())
        if most is None or held <= most:
            return
        goal = most - most // _ROOM_SHARE
        for files in sorted(self._files.values(), key=lambda files: -files.open_bytes):
            if held <= goal:
                break
            held -= files.open_bytes
            files.end_largest(files.open_bytes + held - goal)
            held += files.open_bytes

    def _files_of(self, partition: TopicPartition, deadline: Deadline) -> PartitionFiles:
        found = self._files.get(partition)
        if found is None:
            assert self._ctx is not None
            topic_id = self._topic_ids.of(partition.topic, deadline)
            rotation = self._plan.rotation(topic_id)
            found = self._files[partition] = PartitionFiles(partition, rotation, self._intake.format, topic_id)
        return found

    def _wait_for_uploads(self, uploads: Uploads, deadline: Deadline) -> None:
        failure = uploads.advance(self._files, deadline)
        if failure is None and uploads.under_way:
            failure = RetriableError(
                f"{uploads.under_way} objects are still on their way to s3://{self._plan.bucket.bucket}."
            )
        if failure is not None:
            raise failure

    def _report(self, uploads: Uploads) -> None:
        if self._ctx is not None and len(self._others.notes) > self._noted:
            self._noted = len(self._others.notes)
            self._ctx.note(list(self._others.notes))
        self._gauge("open_files", sum(files.open_files for files in self._files.values()))
        self._gauge("buffered_bytes", sum(files.buffered_bytes for files in self._files.values()))
        self._gauge("objects_created", uploads.created)
        self._gauge("uploads_under_way", uploads.under_way)
        self._gauge("rows_already_in_objects", sum(files.rows_already_there for files in self._files.values()))

    def _gauge(self, name: str, value: float) -> None:
        if self._ctx is not None:
            self._ctx.gauge(name, value)
