"""Small data files of a table rewritten as large ones, each partition's in a snapshot of its own.

The snapshot takes the small files out and puts the large one in, in one commit under the same condition as those of
tasks, and repeats how far the table is. Who dies before it leaves a file that no snapshot names.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from connect.api.compaction import CompactedFiles, Compaction
from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connectors.s3.iceberg.progress import Progress
from connectors.s3.iceberg.snapshots import is_committed, write_rows

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table

_SMALL_SHARE: Final = 2
"""A file is small below a half of the target: two of those make one that is not."""
_COMMIT_LIMIT_S: Final = 60.0
_WAIT_S: Final = 0.2


def compacted(table: Table, wish: Compaction) -> Iterator[CompactedFiles]:
    """Rewrite the small files of a table, group by group."""
    for group in _groups(table, wish.target_bytes):
        after = 1 if wish.is_trial else _rewritten(table, group)
        if after:
            yield CompactedFiles(
                ".".join(table.name()), len(group), after, sum(task.file.record_count for task in group),
                sum(task.file.file_size_in_bytes for task in group),
            )  # fmt: skip


def _groups(table: Table, target_bytes: int) -> Iterator[Sequence[FileScanTask]]:
    """Small files of one partition each, that together are no larger than the target; at least two."""
    by_partition: dict[str, list[FileScanTask]] = {}
    for task in table.scan().plan_files():
        file = task.file
        # Rows that a delete file marks are left to engines that write such files.
        is_plain = not task.delete_files and file.spec_id == table.spec().spec_id
        if is_plain and file.file_size_in_bytes < target_bytes // _SMALL_SHARE:
            by_partition.setdefault(repr(file.partition), []).append(task)
    for tasks in by_partition.values():
        group: list[FileScanTask] = []
        size_bytes = 0
        for task in tasks:
            if group and size_bytes + task.file.file_size_in_bytes > target_bytes:
                if len(group) > 1:
                    yield group
                group, size_bytes = [], 0
            group.append(task)
            size_bytes += task.file.file_size_in_bytes
        if len(group) > 1:
            yield group


def _rewritten(table: Table, group: Sequence[FileScanTask]) -> int:
    """How many files came in their place; 0: another one has rewritten or deleted some of them meanwhile."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    deadline, files, schema_id = Deadline.after(_COMMIT_LIMIT_S), list["DataFile"](), None
    while True:
        table.refresh()
        if not _are_there(table, group):
            return 0
        if table.schema().schema_id != schema_id:
            rows = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table(group)
            files, schema_id = write_rows(table, rows), table.schema().schema_id
        progress = Progress.of(table.current_snapshot(), table.snapshot_by_id)
        if is_committed(table, progress, files, [task.file for task in group]):
            return len(files)
        if not deadline.wait(random.uniform(0, _WAIT_S)):
            raise RetriableError(f"Other writers of table {'.'.join(table.name())} came first until the time was over.")


def _are_there(table: Table, group: Sequence[FileScanTask]) -> bool:
    there = {task.file.file_path for task in table.scan().plan_files() if not task.delete_files}
    return all(task.file.file_path in there for task in group)
