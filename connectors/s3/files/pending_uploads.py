"""Creates the objects of ended files. One upload may go on over several calls. Owned by the task thread."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connectors.s3.files.ended_files import EndedFile
from connectors.s3.files.identity import foreign, same_log
from connectors.s3.files.other_connectors import OtherConnectors
from connectors.s3.files.partition_files import PartitionFiles
from connectors.s3.formats.file_format import Format, StoredObject
from connectors.s3.paths.layout import Extent, Layout, Place
from connectors.s3.stores.store import Bucket, Started, Upload

_log = logging.getLogger(__name__)
_UNDER_WAY_MAX: Final = 32
_At = tuple[TopicPartition, Place]


@dataclass(frozen=True, slots=True)
class _Upload:
    """Holds the objects of a file, which are created one after the other, and the request that is under way.

    `number` and `key` are those of the object that is being created. If the first object exists already and has more
    rows than the file, `found` is its extent.
    """

    file: EndedFile
    objects: Sequence[StoredObject]
    number: int
    key: str
    started: Started
    found: Extent | None = None

    @property
    def is_last(self) -> bool:
        """Return True if this is the file's last object. If it exists, all objects of the file do."""
        return self.number == len(self.objects) - 1


class Uploads:
    """Creates the objects of ended files; a place has at most one object under way at a time."""

    def __init__(
        self,
        bucket: Bucket,
        layout: Layout,
        file_format: Format,
        others: OtherConnectors,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Take the parts. `others` has the name of this connector, which objects tell.

        All objects get the tags in `tags`, and tags that tell their rows. If `tags` is None, they get no tags.
        """
        self.created = 0
        self._bucket = bucket
        self._layout = layout
        self._format = file_format
        self._tags = tags
        self._others = others
        self._under_way: dict[tuple[TopicPartition, Place], _Upload] = {}

    @property
    def under_way(self) -> int:
        """Return how many objects were begun whose outcome is not known yet."""
        return len(self._under_way)

    def advance(self, files: Mapping[TopicPartition, PartitionFiles], deadline: Deadline) -> RetriableError | None:
        """Create objects of ended files until all are created or the deadline is over. Uploads go on after that.

        Return the error of an object that could not be created for now, or None; the next call tries again. Another
        ConnectError is raised at the end, when the other objects are as far as they can come.
        """
        failed: dict[_At, ConnectError] = {}
        while True:
            self._begin(files, failed)
            if not self._under_way or deadline.expired:
                break
            self._bucket.wait_for_one([upload.started for upload in self._under_way.values()], deadline)
            for at in [at for at, upload in self._under_way.items() if upload.started.done()]:
                try:
                    following = self._settle(files, self._under_way.pop(at))
                except ConnectError as error:
                    failed[at] = error
                else:
                    if following is not None:
                        self._under_way[at] = following
        worst = min(failed.values(), key=lambda error: isinstance(error, RetriableError), default=None)
        if worst is None or isinstance(worst, RetriableError):
            return worst
        raise worst

    def give_up(self, partitions: Collection[TopicPartition]) -> None:
        """End the uploads that are under way for these partitions."""
        gone = [at for at in self._under_way if at[0] in partitions]
        self._bucket.give_up([self._under_way.pop(at).started for at in gone])

    def _begin(self, files: Mapping[TopicPartition, PartitionFiles], failed: Collection[_At]) -> None:
        for partition, own in files.items():
            busy = {place for of, place in (*self._under_way, *failed) if of == partition}
            for file in own.to_create(busy):
                if len(self._under_way) == _UNDER_WAY_MAX:
                    return
                self._under_way[partition, file.place] = self._begun(file)

    def _begun(self, file: EndedFile) -> _Upload:
        return self._creating(file, self._format.objects(file.body), 0)

    def _creating(self, file: EndedFile, objects: Sequence[StoredObject], number: int) -> _Upload:
        own = objects[number]
        key = self._key(file, own)
        tags = None if self._tags is None else {**self._tags, **file.extent.tags()}
        data = memoryview(own.data).cast("B")
        metadata = {**file.extent.metadata(), **self._others.metadata}
        started = self._bucket.start_create(Upload(key, data, metadata, own.content_type, tags))
        return _Upload(file, objects, number, key, started)

    def _key(self, file: EndedFile, stored: StoredObject) -> str:
        return self._layout.key(file.place, file.partition, file.extent.start_offset, stored.extension)

    def _settle(self, files: Mapping[TopicPartition, PartitionFiles], upload: _Upload) -> _Upload | None:
        """Return the file's next upload, or None if all its objects exist, or the file has to end at another offset."""
        result = upload.started.result()
        if isinstance(result, ConnectError):
            raise result
        owner = files[upload.file.partition]
        if upload.found is not None:
            self._settle_longer(owner, upload, upload.found, result)
            return None
        if result is None and upload.is_last:
            self.created += 1
            owner.created(upload.file)
            return None
        if result is None:
            return self._creating(upload.file, upload.objects, upload.number + 1)
        return self._settle_found(owner, upload, self._extent_of(upload, result))

    def _settle_found(self, owner: PartitionFiles, upload: _Upload, found: Extent) -> _Upload | None:
        file = upload.file
        if upload.is_last:
            owner.found(file, found)
            self._tell(upload, found)
        elif found.end_offset == file.end_offset:
            return self._creating(file, upload.objects, upload.number + 1)
        elif upload.number:
            # All objects of a file end where the first one does, so this one was written with other settings.
            raise foreign(f"s3://{self._bucket.name}/{upload.key}")
        elif found.end_offset < file.end_offset:
            owner.agree(file, found.end_offset)
        else:
            last = self._key(file, upload.objects[-1])
            return replace(upload, key=last, started=self._bucket.start_ask(last), found=found)
        return None

    def _settle_longer(
        self, owner: PartitionFiles, upload: _Upload, first: Extent, last: Mapping[str, str] | None
    ) -> None:
        """Settle a file whose first object exists already and has more rows than the file.

        `last` is the metadata of the last object, or None if it does not exist.
        """
        if last is None:
            owner.agree(upload.file, first.end_offset)
        else:
            found = self._extent_of(upload, last)
            owner.found(upload.file, found)
            self._tell(upload, found)

    def _extent_of(self, upload: _Upload, metadata: Mapping[str, str]) -> Extent:
        where = f"s3://{self._bucket.name}/{upload.key}"
        found = same_log(where, upload.file.extent, metadata)
        if found.start_offset != upload.file.extent.start_offset:
            raise foreign(where)
        self._others.compare(where, upload.file.partition, metadata)
        return found

    def _tell(self, upload: _Upload, found: Extent) -> None:
        rows = upload.file.rows_before(found.end_offset)
        _log.info(
            "%d rows of %s-%d that were read again are in s3://%s/%s already and are not written again. To have them "
            "written anew, move the object away or choose another topics.dir.",
            rows, *upload.file.partition, self._bucket.name, upload.key,
        )  # fmt: skip
