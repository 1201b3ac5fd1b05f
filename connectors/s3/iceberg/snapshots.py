"""Write data files, and the snapshots that take them into a table or out of it.

The library's own retries are not used.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from connect.api.errors import RetriableError
from connectors.s3.iceberg.partitions import split
from connectors.s3.iceberg.progress import OFFSETS, TableProgress
from connectors.s3.iceberg.stored_progress import properties_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table


def write_rows(table: Table, rows: pa.Table) -> list[DataFile]:
    """Write rows, which have the table's columns, as data files; the table has them only once a snapshot names them."""
    from pyiceberg.io.pyarrow import write_file
    from pyiceberg.table import WriteTask

    own = uuid.uuid4()
    tasks = (
        WriteTask(own, number, table.schema(), part.to_batches(), partition_key=partition)
        for number, (partition, part) in enumerate(split(rows, table.metadata))
    )
    return list(write_file(table.io, table.metadata, tasks))


def is_committed(
    table: Table, progress: TableProgress | None, new_files: Sequence[DataFile], old_files: Sequence[DataFile] = ()
) -> bool:
    """Try once to commit a snapshot behind the one that the table was at when refreshed; return False if it has another
    one.

    It has the new files and not the old ones, and says, as the table does, how far the table is with it; None: neither
    says so, as after a snapshot of somebody else. RetriableError: the catalogue says that it committed, and answers a
    table without the snapshot.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table import Table, TableProperties

    # The library's own retries would put these rows behind whatever came first, and take its offsets back.
    properties = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    once = Table(
        table.name(), table.metadata.model_copy(update={"properties": properties}), table.metadata_location, table.io,
        table.catalog,
    )  # fmt: skip
    transaction = once.transaction()
    summary = {} if progress is None else {OFFSETS: progress.text}
    update = transaction.update_snapshot(snapshot_properties=summary)
    change = update.overwrite() if old_files else update.merge_append()
    for file in old_files:
        change.delete_data_file(file)
    for file in new_files:
        change.append_data_file(file)
    change.commit()
    if progress is not None:
        transaction.set_properties(properties_of(progress, transaction.table_metadata.current_snapshot()))
    own = transaction.table_metadata.current_snapshot()
    try:
        transaction.commit_transaction()
    except CommitFailedException:
        return False
    if own is not None and once.snapshot_by_id(own.snapshot_id) is None:
        raise RetriableError(
            f"The catalogue says that it committed snapshot {own.snapshot_id}, and answers a table without it."
        )
    return True
