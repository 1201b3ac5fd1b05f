"""Defines how many small files in a sink's target become few large ones, while the sink runs or later. Sinks may lack
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Compaction:
    """Tells what is wanted: files of about `target_bytes`, made of files that are older than `min_age_s` seconds.

    A target that replaces files at once, as a table does, takes files of any age.
    """

    target_bytes: int
    min_age_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Small files that may become one; `where` names the folder, partition or table that they are in.

    It is plain data: any process that has the connector's configuration can compact it.
    """

    where: str
    files: Sequence[str]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CompactedFiles:
    """Tells what became of a group of files. `rows` counts those of the new files."""

    where: str
    files_before: int
    files_after: int
    rows: int
    bytes_before: int


@runtime_checkable
class CompactableSink(Protocol):
    """A sink connector whose target may have many small files."""

    def compaction_groups(self, wish: Compaction) -> Iterator[FileGroup]:
        """Return the groups of files that would be joined; nothing is changed. Raise RetriableError when the target is
        away.

        ConfigError: under these settings the files themselves keep each row in the target once, so they cannot be
        joined.
        """

    def compact(self, group: FileGroup) -> CompactedFiles | None:
        """Join the files of a group, and return what became of them once the new files are durable.

        Return None if the files are no longer as they were when the group was found. Tasks may write meanwhile, and
        still write each row once. If the process is killed at any place, no row is lost, and a further call repairs
        what is half done. A reader of a table sees each row once at every moment; where files cannot be replaced at
        once, it sees each row at least once. RetriableError: the target is away.
        """
