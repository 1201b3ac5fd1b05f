"""Rewrites small data files of a table as large ones, with a separate snapshot for each partition.

The snapshot removes the small files and adds the large one in one commit. As in tasks, the commit succeeds only if the
table has not changed. The snapshot repeats the table's progress. If the compaction dies before the commit, a file stays
that no snapshot names.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from connect.api.errors import RetriableError
from connect.api.optional.compaction import CompactedFiles, Compaction, FileGroup
from connect.lib.deadline import Deadline
from connectors.s3.files.grouping import is_small, small_groups
from connectors.s3.iceberg.data_files import read_rows, write_rows
from connectors.s3.iceberg.snapshots import is_committed
from connectors.s3.iceberg.stored_progress import told_by

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table

_COMMIT_LIMIT_S: Final = 60.0
_WAIT_S: Final = 0.2


def groups(table: Table, wish: Compaction) -> Iterator[FileGroup]:
    """Yield groups of small files. All files of a group are of one partition."""
    by_partition: dict[str, list[DataFile]] = {}
    for task in table.scan().plan_files():
        # Files with rows that a delete file marks are left to the engines that write delete files.
        if not task.delete_files and task.file.spec_id == table.spec().spec_id:
            by_partition.setdefault(repr(task.file.partition), []).append(task.file)
    for files in by_partition.values():
        small = [file for file in files if is_small(file.file_size_in_bytes, wish.target_bytes)]
        for group in small_groups(small, lambda file: file.file_size_in_bytes, wish.target_bytes):
            size_bytes = sum(file.file_size_in_bytes for file in group)
            yield FileGroup(".".join(table.name()), [file.file_path for file in group], size_bytes)


def rewritten(table: Table, group: FileGroup) -> CompactedFiles | None:
    """Replace the files of a group by large ones in a commit.

    Return None if some of them are not in the table any more, or have other columns and cannot be read exactly.
    """
    deadline, files, schema_id = Deadline.after(_COMMIT_LIMIT_S), list["DataFile"](), None
    while True:
        table.refresh()
        old = _found(table, group)
        if old is None:
            return None
        if table.schema().schema_id != schema_id:
            rows = read_rows(table, old)
            if rows is None:
                return None
            files, schema_id = write_rows(table, rows), table.schema().schema_id
        told = told_by(table)
        # Progress that is not certain is not repeated, as the snapshot would make it look certain.
        progress = told.progress if told.is_certain and told.progress.topics else None
        if is_committed(table, progress, files, [task.file for task in old]):
            count = sum(task.file.record_count for task in old)
            return CompactedFiles(group.where, len(old), len(files), count, group.size_bytes)
        if not deadline.wait(random.uniform(0, _WAIT_S)):
            raise RetriableError(f"Other writers of table {group.where} came first until the time was over.")


def _found(table: Table, group: FileGroup) -> Sequence[FileScanTask] | None:
    """Return the files of the group as the table has them now, or None if some of them are not in the table."""
    there = {task.file.file_path: task for task in table.scan().plan_files() if not task.delete_files}
    return [there[path] for path in group.files] if there.keys() >= set(group.files) else None
