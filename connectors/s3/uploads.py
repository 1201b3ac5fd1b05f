"""Ended files on their way to become objects, over as many calls as they need. Owned by the task thread."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connectors.s3.ended import EndedFile
from connectors.s3.files import PartitionFiles
from connectors.s3.identity import foreign, same_log
from connectors.s3.layout import Extent, Layout, Place
from connectors.s3.store import Bucket, Started, Upload

_log = logging.getLogger(__name__)
_UNDER_WAY_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class _Upload:
    file: EndedFile
    key: str
    started: Started


class Uploads:
    """What is being created; a place has at most one at a time."""

    def __init__(
        self, bucket: Bucket, layout: Layout, content_type: str, tags: Mapping[str, str] | None = None
    ) -> None:
        """`tags`: of all objects, beside those that tell the rows; None: objects have none."""
        self.created = 0
        self._bucket = bucket
        self._layout = layout
        self._content_type = content_type
        self._tags = tags
        self._under_way: dict[tuple[TopicPartition, Place], _Upload] = {}

    @property
    def under_way(self) -> int:
        """Objects that were begun, of which nothing is known yet."""
        return len(self._under_way)

    def advance(self, files: Mapping[TopicPartition, PartitionFiles], deadline: Deadline) -> RetriableError | None:
        """Create objects of ended files until there are none or the deadline is over; what is begun goes on behind it.

        Returns why one could not be created for now; it is begun anew by the next call. Any other ConnectError is
        raised, once all else is as far as it comes.
        """
        failed: dict[tuple[TopicPartition, Place], ConnectError] = {}
        while True:
            for at, file in _to_create(files):
                if len(self._under_way) == _UNDER_WAY_MAX:
                    break
                if at not in self._under_way and at not in failed:
                    self._under_way[at] = self._begun(file)
            if not self._under_way or deadline.expired:
                break
            self._bucket.wait_for_one([upload.started for upload in self._under_way.values()], deadline)
            for at in [at for at, upload in self._under_way.items() if upload.started.done()]:
                try:
                    self._settle(files, self._under_way.pop(at))
                except ConnectError as error:
                    failed[at] = error
        worst = min(failed.values(), key=lambda error: isinstance(error, RetriableError), default=None)
        if worst is None or isinstance(worst, RetriableError):
            return worst
        raise worst

    def give_up(self, partitions: Collection[TopicPartition]) -> None:
        """End what is under way for these."""
        gone = [at for at in self._under_way if at[0] in partitions]
        self._bucket.give_up([self._under_way.pop(at).started for at in gone])

    def _begun(self, file: EndedFile) -> _Upload:
        key = self._layout.key(file.place, file.partition, file.extent.start_offset)
        data = memoryview(file.body.data).cast("B")
        tags = None if self._tags is None else {**self._tags, **file.extent.tags()}
        upload = Upload(key, data, file.extent.metadata(), self._content_type, tags)
        return _Upload(file, key, self._bucket.start_create(upload))

    def _settle(self, files: Mapping[TopicPartition, PartitionFiles], upload: _Upload) -> None:
        result = upload.started.result()
        if isinstance(result, ConnectError):
            raise result
        owner = files[upload.file.partition]
        if result is None:
            self.created += 1
            owner.created(upload.file)
        else:
            found = same_log(f"s3://{self._bucket.name}/{upload.key}", upload.file.extent, result)
            if found.start_offset != upload.file.extent.start_offset:
                raise foreign(f"s3://{self._bucket.name}/{upload.key}")
            owner.found(upload.file, found)
            self._tell(upload, found)

    def _tell(self, upload: _Upload, found: Extent) -> None:
        rows = upload.file.rows_before(found.end_offset)
        _log.info(
            "%d rows of %s-%d that were read again are in s3://%s/%s already and are not written again. To have them "
            "written anew, move the object away or choose another topics.dir.",
            rows, *upload.file.partition, self._bucket.name, upload.key,
        )  # fmt: skip


def _to_create(
    files: Mapping[TopicPartition, PartitionFiles],
) -> Iterator[tuple[tuple[TopicPartition, Place], EndedFile]]:
    for partition, own in files.items():
        for file in own.to_create():
            yield (partition, file.place), file
