"""Makes object keys, and the metadata that tell which rows an object holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connectors.s3.paths.object_chain import Chain

NULL_DIRECTORY: Final = "__HIVE_DEFAULT_PARTITION__"
"""In Hive the partition of null and of empty text has this name (ConfVars.DEFAULTPARTITIONNAME)."""
KEY_BYTES_MAX: Final = 1024
_OFFSET_DIGITS_MAX: Final = 19
_UTF8_BYTES_MAX: Final = 4
_ESCAPED: Final = {c: f"%{ord(c):02X}" for c in "\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(1, 32)))}
"""Maps the characters that Hive escapes in a directory to their form %XX (FileUtils.charToEscape)."""
_ESCAPES: Final = str.maketrans(_ESCAPED)


class Place(NamedTuple):
    """Holds the topic that rows of a topic partition have after transforms, and their encoded path below it."""

    topic: str
    path: str


@dataclass(frozen=True, slots=True)
class Extent:
    """Describes the rows that an object holds: those of its place with start_offset <= offset < end_offset.

    `end_offset` is where the file ended, so that rows of other places may be between `last_offset` and it. A topic that
    was deleted and made again may have other records at the same offsets. `topic_id`, Kafka's id of the topic, and
    `start_ms`, Kafka's timestamp of the record at start_offset, show that. Each is None if it is not known.
    `begin_offset` is where the unbroken run of the place's objects began to which this one belongs: objects hold all
    rows of the place from there to `end_offset`. It is None in objects of earlier versions, which do not tell it.
    """

    partition: TopicPartition
    start_offset: int
    last_offset: int
    end_offset: int
    rows: int
    start_ms: int | None = None
    topic_id: str | None = None
    begin_offset: int | None = None

    @property
    def run(self) -> tuple[int, int]:
        """Return the offsets from and before which objects surely hold all rows of the place."""
        begin = self.start_offset if self.begin_offset is None else min(self.begin_offset, self.start_offset)
        return begin, self.end_offset

    def difference(self, other: Extent) -> str | None:
        """Return why this extent and another one do not belong to the same log, or None if nothing shows that.

        The ids of the topics decide. If one extent has none, the times of the first records do.
        """
        if self.topic_id is not None and other.topic_id is not None:
            same = self.topic_id == other.topic_id
            return None if same else f"they are of the topic with the id {other.topic_id}, ours has {self.topic_id}"
        if self.start_ms is None or other.start_ms is None or self.start_ms == other.start_ms:
            return None
        return f"the first is of {_moment(other.start_ms)}, ours of {_moment(self.start_ms)}"

    def metadata(self) -> dict[str, str]:
        """Return the user metadata of the object."""
        ids = {} if self.topic_id is None else {"kconnect-topic-id": self.topic_id}
        times = {} if self.start_ms is None else {"kconnect-start-timestamp": str(self.start_ms)}
        begins = {} if self.begin_offset is None else {"kconnect-begin-offset": str(self.begin_offset)}
        return {
            **ids,
            **times,
            **begins,
            "kconnect-topic": self.partition.topic,
            "kconnect-partition": str(self.partition.partition),
            "kconnect-start-offset": str(self.start_offset),
            "kconnect-last-offset": str(self.last_offset),
            "kconnect-end-offset": str(self.end_offset),
            "kconnect-rows": str(self.rows),
        }

    def tags(self) -> dict[str, str]:
        """Return the tags that Confluent's sink gives an object."""
        return {
            "startOffset": str(self.start_offset),
            "endOffset": str(self.last_offset),
            "recordCount": str(self.rows),
        }

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> Extent | None:
        """Return the extent that an object's user metadata tell, or None if they lack it, or a part of it."""
        try:
            start, last, end, rows, partition = (
                int(metadata[f"kconnect-{name}"])
                for name in ("start-offset", "last-offset", "end-offset", "rows", "partition")
            )
            topic = metadata["kconnect-topic"]
            time_text = metadata.get("kconnect-start-timestamp")
            start_ms = None if time_text is None else int(time_text)
            begin_text = metadata.get("kconnect-begin-offset")
            begin = None if begin_text is None else int(begin_text)
        except (KeyError, ValueError):
            return None
        if not start <= last < end:
            return None
        topic_id = metadata.get("kconnect-topic-id")
        return cls(TopicPartition(topic, partition), start, last, end, rows, start_ms, topic_id, begin)


@dataclass(frozen=True, slots=True)
class Layout:
    """Makes object keys as Confluent's S3 sink does.

    `tombstones` are the path of records without a value, and the extension of the last object of their files, or None
    if such records have no files. `longest_extension` is the longest one of objects that are created before a file's
    last object, or an empty text if there are none. In a store whose objects are files, a name may have
    `name_bytes_max` bytes. That is 0 if there is no limit.
    """

    topics_dir: str
    directory_delim: str
    file_delim: str
    pad_width: int
    extension: str
    tombstones: tuple[str, str] | None = None
    longest_extension: str = ""
    name_bytes_max: int = 0

    def chain(self, place: Place, partition: TopicPartition) -> Chain:
        """Return the chain of keys of a place's objects.

        The name of the file has the topic that was read, so that topics which are routed into one have different keys.
        """
        name = self.file_delim.join((partition.topic, str(partition.partition), ""))
        folders = (self.topics_dir, place.topic) if self.topics_dir else (place.topic,)
        stem = self.directory_delim.join((*folders, place.path, name))
        is_of_tombstones = self.tombstones is not None and place.path == self.tombstones[0]
        extension = self.tombstones[1] if self.tombstones is not None and is_of_tombstones else self.extension
        return Chain(stem, self.pad_width, extension)

    def key(self, place: Place, partition: TopicPartition, start_offset: int, extension: str | None = None) -> str:
        """Return the key of a place's object that starts at an offset.

        If a file has several objects, `extension` tells which one is meant, or is None for the last one.
        """
        chain = self.chain(place, partition)
        return (chain if extension is None else replace(chain, extension=extension)).key(start_offset)

    def is_surely_taken(self, topic: str, paths: Sequence[str], partition: TopicPartition) -> bool:
        """Return True if a store surely accepts the keys of these paths at any offset. It is a quick, rough check."""
        others = self.key(Place(topic, ""), partition, 0) + self.longest_extension
        path_bytes = _UTF8_BYTES_MAX * max(map(len, paths), default=0)
        size = len(others.encode()) + max(_OFFSET_DIGITS_MAX, self.pad_width) + path_bytes
        return size <= min(KEY_BYTES_MAX, self.name_bytes_max or KEY_BYTES_MAX) and not any(map(_has_nul, paths))

    def refusal(self, place: Place, partition: TopicPartition, offset: int) -> ConnectError | None:
        """Return the error if a place cannot hold a row with an offset up to this one, or None if it can.

        S3 accepts keys of up to 1,024 bytes of UTF-8, and no store accepts the character NUL.
        """
        keys = [self.key(place, partition, offset, ending) for ending in (None, self.longest_extension or None)]
        size = max(len(key.encode()) for key in keys)
        if any(map(_has_nul, keys)):
            return _refused(place, "The object key would hold the character NUL, which no store takes")
        if size > KEY_BYTES_MAX:
            return _refused(place, f"The object key would have {size} bytes, and S3 takes {KEY_BYTES_MAX}")
        longest = max(len(name.encode()) for key in keys for name in key.split("/"))
        if self.name_bytes_max and longest > self.name_bytes_max:
            return _refused(
                place, f"A name in the path would have {longest} bytes, and files take {self.name_bytes_max}"
            )
        return None


def _has_nul(text: str) -> bool:
    return "\0" in text


def _refused(place: Place, why: str) -> ConnectError:
    return ConnectError(
        f"{why}: its path begins {place.path[:100]!r}.",
        key="partitioner.class",
        fix="Choose another partition.field.name or path.format, or change the value with a transform.",
    )


def directory(name: str, value: str | None) -> str:
    """Return one directory `name=value`, escaped as Hive does."""
    text = value.translate(_ESCAPES) if value else NULL_DIRECTORY
    return f"{name.translate(_ESCAPES)}={text}"


def _moment(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return f"{ms} ms since 1970"
