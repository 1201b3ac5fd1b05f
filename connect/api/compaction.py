"""Making few large files of many small ones in a sink's target, behind the sink and beside it. Optional for sinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Compaction:
    """What is wanted: files of about `target_bytes`; `is_trial`: only say what would be done."""

    target_bytes: int
    is_trial: bool = False


@dataclass(frozen=True, slots=True)
class CompactedFiles:
    """What became of some files: `where` names the folder, partition or table that they are in."""

    where: str
    files_before: int
    files_after: int
    rows: int
    bytes_before: int


@runtime_checkable
class CompactableSink(Protocol):
    """A sink connector whose target may have many small files."""

    def compact(self, wish: Compaction) -> Iterator[CompactedFiles]:
        """Rewrite small files, some at a time; what is given is durable.

        A reader sees each row once at every moment, and tasks that write meanwhile go on, exactly once. Ended at any
        place, it leaves nothing that a further call has to know of. RetriableError: the target is away.
        """
