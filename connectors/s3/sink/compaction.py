"""Joins small objects of a path into larger ones, while the sink goes on writing.

A joined object is created first, beside the objects that it was made of. Its key tells which offsets it holds:
`topics/orders/partition=0/orders+0+0000000000-0000001200.parquet`. Then the objects that it was made of are deleted. If
the compaction dies in between, both stay. The next one sees by the keys what the joined object holds, and deletes the
others.

The sink goes on from the last object of a chain (`paths/object_chain.py`). That object is never joined, so the sink
finds it as before. The key of a deleted object is free again. A former owner of the partition that was frozen before it
created the object could create it then. So only objects of a certain age are joined, and only if the sink asks for the
last object of a path.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.compaction import CompactedFiles, Compaction, FileGroup
from connect.lib.deadline import Deadline
from connectors.s3.files.grouping import is_small, small_groups
from connectors.s3.formats.file_format import Merger
from connectors.s3.paths.layout import Extent
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import MergerPlan
from connectors.s3.stores.store import Bucket, Upload

_log = logging.getLogger(__name__)
JOINED: Final = "kconnect-joined-objects"
"""A joined object has this key in its metadata, with the number of objects that it was made of."""
_LIMIT_S: Final = 600.0
"""Each operation on objects has this time limit."""


@dataclass(frozen=True, slots=True)
class _Object:
    """Describes an object of a chain by its key.

    `end` is the offset behind a joined object's rows, or None if the object is not joined.
    """

    key: str
    stem: str
    start: int
    end: int | None
    size_bytes: int = 0
    age_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """Describes an object that is to be joined, with the extent that its metadata tells."""

    key: str
    extent: Extent
    is_joined: bool


class ObjectCompaction:
    """Finds and joins small objects in the bucket of a configuration. Owned by one thread."""

    def __init__(self, config: S3SinkConfig, plan: MergerPlan) -> None:
        """Connect to nothing. ConfigError: with these settings the sink needs each object as it is."""
        _require_reaches(config)
        self._config = config
        self._plan = plan
        delimiter, ending = re.escape(config.file_delim), re.escape(plan.extension)
        self._name = re.compile(rf"(.*{delimiter}\d+{delimiter})(\d+)(?:-(\d+))?{ending}", re.DOTALL)
        self._bucket = Bucket(config)

    def close(self) -> None:
        """Release the client. May be called twice."""
        self._bucket.close()

    def groups(self, wish: Compaction) -> Iterator[FileGroup]:
        """Yield groups of objects that an interrupted compaction left, and of small objects that follow each other."""
        for stem, chain in groupby(self._objects(), key=lambda found: found.stem):
            found = _without_late(list(chain))
            yield from (_group(stem, own) for own in _leftovers(found))
            for run in _small_runs(found, wish):
                for own in small_groups(run, lambda one: one.size_bytes, wish.target_bytes):
                    yield _group(stem, own)

    def compact(self, group: FileGroup) -> CompactedFiles | None:
        """Join the objects of a group.

        Return None if some do not exist any more, as another compaction has joined them.
        """
        parts = self._parts(group.files)
        if parts is None:
            return None
        kept, covered = _apart(parts)
        rows = sum(part.extent.rows for part in kept)
        if covered:
            self._delete(covered)
            return CompactedFiles(group.where, len(parts), len(kept), rows, group.size_bytes)
        after = 0
        try:
            for joined, merger in self._merged(kept):
                if len(joined) > 1:
                    self._create(joined, merger)
                    self._delete(joined)
                after += 1
        except FileNotFoundError:
            return None
        is_changed = after < len(kept)
        return CompactedFiles(group.where, len(parts), after, rows, group.size_bytes) if is_changed else None

    def _objects(self) -> list[_Object]:
        """Return the objects of chains, sorted by chain and offset, a joined one before those that it holds."""
        now_s = time.time()
        found = []
        for listed in self._bucket.objects(self._config.topics_dir, _soon()):
            match = self._name.fullmatch(listed.key)
            if match is not None:
                stem, start, end = match.groups()
                age_s = now_s - listed.modified.timestamp()
                end_offset = None if end is None else int(end)
                found.append(_Object(listed.key, stem, int(start), end_offset, listed.size_bytes, age_s))
        return sorted(found, key=lambda one: (one.stem, one.start, -(one.end or one.start)))

    def _parts(self, keys: Sequence[str]) -> list[_Part] | None:
        parts = []
        for key, metadata in zip(keys, self._bucket.metadata(keys, _soon()), strict=True):
            if isinstance(metadata, ConnectError):
                if self._bucket.content(key, _soon()) is None:
                    return None
                raise metadata
            extent = Extent.of(metadata)
            if extent is None or extent.topic_id is None:
                raise ConnectError(
                    f"s3://{self._bucket.name}/{key} does not say by its metadata which rows of which topic it holds, "
                    "so the sink would not miss it where it is looked for.",
                    key="topics.dir",
                    fix="Objects of other writers, and of brokers before Kafka 2.8, are left to others to join.",
                )
            parts.append(_Part(key, extent, JOINED in metadata))
        return parts

    def _merged(self, parts: Sequence[_Part]) -> Iterator[tuple[Sequence[_Part], Merger]]:
        """Yield runs of objects that have one schema and no gap, each with the merger that has read them.

        Rows in a gap may still be written, as an object of their own.

        FileNotFoundError: an object is gone, as another compaction joins it.
        """
        run, merger = list[_Part](), self._plan.merger()
        for part in parts:
            data = self._bucket.content(part.key, _soon())
            if data is None:
                raise FileNotFoundError(part.key)
            has_gap = (
                bool(run) and part.extent.run[0] > run[-1].extent.end_offset and part.extent.begin_offset is not None
            )
            if has_gap or not merger.add(data):
                yield run, merger
                run, merger = [], self._plan.merger()
                merger.add(data)
            run.append(part)
        yield run, merger

    def _create(self, parts: Sequence[_Part], merger: Merger) -> None:
        first, last = parts[0].extent, parts[-1].extent
        extent = replace(
            first, last_offset=last.last_offset, end_offset=last.end_offset, rows=sum(p.extent.rows for p in parts)
        )
        key = self._key(parts[0].key, extent)
        tags = None if self._config.tags is None else {**self._config.tags, **extent.tags()}
        metadata = {**extent.metadata(), JOINED: str(len(parts))}
        upload = Upload(key, memoryview(merger.end()).cast("B"), metadata, self._plan.content_type, tags)
        there = self._bucket.create(upload, _soon())
        if there is not None and Extent.of(there) != extent:
            raise _overlap(key)

    def _key(self, key: str, extent: Extent) -> str:
        match = self._name.fullmatch(key)
        assert match is not None
        width = self._config.offset_pad_width
        return f"{match[1]}{extent.start_offset:0{width}d}-{extent.end_offset:0{width}d}{self._plan.extension}"

    def _delete(self, parts: Sequence[_Part]) -> None:
        self._bucket.delete([part.key for part in parts], _soon())


def _require_reaches(config: S3SinkConfig) -> None:
    if not config.conditional_writes:
        raise ConfigError(
            "Without conditional writes the sink finds what it reads again by the key of each object, so none may go.",
            key="enable.conditional.writes",
            fix="Set enable.conditional.writes=true, or leave the objects as they are.",
        )
    if config.store_keys or config.store_headers:
        raise ConfigError(
            "Objects of keys, headers and values belong together and are not joined.",
            key="store.kafka.keys" if config.store_keys else "store.kafka.headers",
            fix="Leave the objects as they are.",
        )


def _without_late(chain: Sequence[_Object]) -> Sequence[_Object]:
    """Return the chain without objects that were written later than a joined one that has their offsets.

    It is not known which of the two a reader needs, so that both stay as they are.
    """
    joined = [one for one in chain if one.end is not None]
    found = []
    for one in chain:
        late = [j for j in joined if j is not one and j.start <= one.start < (j.end or 0) and one.age_s < j.age_s]
        if late and one.end is None:
            _log.warning(
                "%s was written later than %s, which has its offsets: both are left as they are, and readers may see "
                "rows twice. See by their metadata kconnect-* which rows they hold.", one.key, late[0].key,
            )  # fmt: skip
        else:
            found.append(one)
    return found


def _leftovers(chain: Sequence[_Object]) -> Iterator[Sequence[_Object]]:
    """Yield each joined object with those objects that it was made of and that still exist."""
    found: list[_Object] = []
    for one in chain:
        holder = found[0].end if found else None
        if holder is not None and one.start < holder:
            found.append(one)
            continue
        if len(found) > 1:
            yield found
        found = [one]
    if len(found) > 1:
        yield found


def _small_runs(chain: Sequence[_Object], wish: Compaction) -> Iterator[Sequence[_Object]]:
    """Yield runs of objects that may be joined and follow each other; some runs are empty."""
    last = max((one.start for one in chain if one.end is None), default=None)
    left = {one.key for own in _leftovers(chain) for one in own}
    run: list[_Object] = []
    for one in chain:
        is_last = one.end is None and one.start == last
        is_free = is_small(one.size_bytes, wish.target_bytes) and one.age_s >= wish.min_age_s
        if is_free and not is_last and one.key not in left:
            run.append(one)
        else:
            yield run
            run = []
    yield run


def _group(stem: str, objects: Sequence[_Object]) -> FileGroup:
    return FileGroup(stem, [one.key for one in objects], sum(one.size_bytes for one in objects))


def _apart(parts: Sequence[_Part]) -> tuple[list[_Part], list[_Part]]:
    """Return two lists: objects that follow each other, and objects whose rows a joined one of the first list has, too.

    ConnectError: two objects overlap in another way, or belong to two topics that had the same name.
    """
    kept, covered = list[_Part](), list[_Part]()
    for part in sorted(parts, key=lambda part: (part.extent.start_offset, -part.extent.end_offset)):
        before = kept[-1] if kept else None
        if before is None or part.extent.start_offset >= before.extent.end_offset:
            kept.append(part)
        elif before.is_joined and part.extent.end_offset <= before.extent.end_offset:
            covered.append(part)
        else:
            raise _overlap(part.key)
        if kept[0].extent.difference(part.extent) is not None:
            raise _overlap(part.key)
    return kept, covered


def _overlap(key: str) -> ConnectError:
    return ConnectError(
        f"{key} and another object of its path hold the same offsets, and neither is made of the other.",
        key="topics.dir",
        fix="See by their metadata kconnect-* which of them readers need, and move the other one away.",
    )


def _soon() -> Deadline:
    return Deadline.after(_LIMIT_S)
