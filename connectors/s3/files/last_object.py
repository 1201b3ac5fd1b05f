"""Asks the bucket how far the objects of a path reach, before the first row of the path is taken.

So rows that are read again are not written again, wherever reading begins: at a committed offset in the middle of
objects, at a beginning of the topic that retention or compaction moved, or after offsets were reset. Rows that no task
has read, as those before a first task that began at the end of the topic, are in no object, and are written when they
are read. The last object of a path tells where its unbroken run of objects began. Where reading begins before that,
the objects before that run are asked, too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from posixpath import commonpath
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.s3.files.identity import same_log
from connectors.s3.files.intake import Admitted
from connectors.s3.files.known_objects import Run
from connectors.s3.files.other_connectors import OtherConnectors
from connectors.s3.files.partition_files import PartitionFiles
from connectors.s3.paths.layout import Extent, Layout
from connectors.s3.paths.object_chain import Chain, ListedObject, last_starts
from connectors.s3.stores.store import Bucket

_log = logging.getLogger(__name__)
_MANY: Final = 64
"""If there are this many new paths or more, all objects are listed together, a thousand per request, unless there are
too many objects.
"""
_KEYS_PER_CHAIN: Final = 16
_ASKED: Final = 64
"""As many objects before a gap are asked at a time."""
_LastObject = tuple[Chain, str, Mapping[str, str]]
"""Holds the chain of an object, its key and its metadata."""


class LastObjects:
    """Tells the files how far the objects of new paths reach. It is owned by the task thread."""

    def __init__(self, bucket: Bucket, layout: Layout, others: OtherConnectors) -> None:
        self._bucket = bucket
        self._layout = layout
        self._others = others
        self._asked: dict[str, Mapping[str, str]] = {}

    def learn(self, files: PartitionFiles, parts: Sequence[Admitted], deadline: Deadline) -> None:
        """Tell the files how far the objects of new paths reach.

        RetriableError: the store cannot be reached. Any other ConnectError: another program wrote an object, or its
        records are of another topic that had the same name.
        """
        places = sorted(files.reaches.unknown(parts))
        if not places:
            return
        first = min(int(part.consumed.offsets[0].as_py()) for part in parts)
        chains = [self._layout.chain(place, files.partition) for place in places]
        errors = []
        answers = self._last_objects(chains, first, deadline)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, ConnectError):
                errors.append(answer)
            else:
                runs = [] if answer is None else self._runs(files, first, answer, deadline)
                files.reaches.learn(place, runs, first)
        if errors:
            raise min(errors, key=lambda error: isinstance(error, RetriableError))

    def _last_objects(
        self, chains: Sequence[Chain], first: int, deadline: Deadline
    ) -> Sequence[_LastObject | ConnectError | None]:
        """Return key and metadata of the last object of each chain, near an offset, or None if there is none."""
        answers = self._answers(chains, first, deadline)
        return [
            answer if answer is None or isinstance(answer, ConnectError) else (chain, *answer)
            for chain, answer in zip(chains, answers, strict=True)
        ]

    def _answers(
        self, chains: Sequence[Chain], first: int, deadline: Deadline
    ) -> Sequence[tuple[str, Mapping[str, str]] | ConnectError | None]:
        keys = None
        if len(chains) >= _MANY and all(chain.has_clear_stem for chain in chains):
            folder = commonpath([chain.stem.rpartition("/")[0] for chain in chains])
            keys = self._bucket.few_keys(folder, len(chains) * _KEYS_PER_CHAIN, deadline)
        if keys is None:
            return self._bucket.last_of(chains, first, deadline)
        last = {chain: chain.key(start) for chain, start in last_starts(chains, keys).items()}
        told = dict(zip(last, self._bucket.metadata(list(last.values()), deadline), strict=True))
        return [
            found if found is None or isinstance(found, ConnectError) else (last[chain], found)
            for chain in chains for found in [told.get(chain)]
        ]  # fmt: skip

    def _runs(self, files: PartitionFiles, first: int, last: _LastObject, deadline: Deadline) -> list[Run]:
        """Return the runs of rows from `first` on that objects hold. Objects before the last one's run are asked."""
        chain, key, metadata = last
        run = self._run(files, first, key, metadata)
        runs = [] if run is None else [run]
        begin = (chain.start_offset(key) or 0) if run is None else run[0]
        listed = self._bucket.objects_between(chain, first, begin, deadline) if first < begin else []
        while listed:
            asked, listed = listed[-_ASKED:], listed[:-_ASKED]
            for one, told in zip(asked, self._metadata(asked, deadline), strict=True):
                run = None if _is_of_others(one, files, told) else self._run(files, first, one.key, told)
                runs += [] if run is None else [run]
            begin = min((run[0] for run in runs), default=begin)
            listed = [one for one in listed if one.start < begin]
        if any(end > first for _, end in runs):
            self._tell(files, first, runs, key)
        self._asked.clear()
        return runs

    def _metadata(self, objects: Sequence[ListedObject], deadline: Deadline) -> list[Mapping[str, str]]:
        """Return the metadata of objects. Answers are kept until all of a path are there, so that each try gets on."""
        fresh = [one.key for one in objects if one.key not in self._asked]
        errors = []
        for key, told in zip(fresh, self._bucket.metadata(fresh, deadline), strict=True):
            if isinstance(told, ConnectError):
                errors.append(told)
            else:
                self._asked[key] = told
        if errors:
            raise errors[0]
        return [self._asked[one.key] for one in objects]

    def _run(self, files: PartitionFiles, first: int, key: str, metadata: Mapping[str, str]) -> Run | None:
        where = f"s3://{self._bucket.name}/{key}"
        ours = Extent(files.partition, first, first, first + 1, 1, topic_id=files.topic_id)
        found = same_log(where, ours, metadata)
        if found.topic_id is None and not found.start_offset < first < found.end_offset:
            # It is not known if the object is of this log. A file that starts there is compared with it when its object
            # is to be created.
            return None
        if found.end_offset > first:
            self._others.compare(where, files.partition, metadata)
        return found.run

    def _tell(self, files: PartitionFiles, first: int, runs: Sequence[Run], key: str) -> None:
        spans = ", ".join(f"{max(begin, first)} to {end - 1}" for begin, end in _joined(runs) if end > first)
        _log.info(
            "Rows of %s-%d that are read again are in s3://%s/%s and before it already and are not written again: "
            "those of the offsets %s. To have them written anew, move the objects away or choose another topics.dir.",
            *files.partition, self._bucket.name, key, spans,
        )  # fmt: skip


def _is_of_others(listed: ListedObject, files: PartitionFiles, metadata: Mapping[str, str]) -> bool:
    """Return True if an object has the name of a joined one and is of another topic partition.

    Some templates make such names, as `t-0-1-20` of partition 1 of a topic `t-0`.
    """
    found = None if listed.end is None else Extent.of(metadata)
    return found is not None and found.partition != files.partition


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, ascending, with those as one that touch each other."""
    found: list[Run] = []
    for begin, end in sorted(runs):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found
