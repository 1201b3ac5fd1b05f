"""Commits the snapshots that add data files to a table or remove them.

The library's own retries are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from connect.api.errors import RetriableError
from connectors.s3.iceberg.progress import OFFSETS, TableProgress
from connectors.s3.iceberg.stored_progress import properties_of

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table


def is_committed(
    table: Table, progress: TableProgress | None, new_files: Sequence[DataFile], old_files: Sequence[DataFile] = ()
) -> bool:
    """Try once to commit a snapshot. Return False if the table has another snapshot than when it was refreshed.

    The snapshot adds the new files and removes the old ones. The snapshot and the table tell `progress`, which is None
    if they tell none, as after a snapshot of another program. RetriableError: the catalogue says that it has committed,
    and answers with a table that lacks the snapshot.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table import Table, TableProperties

    # The library's own retries are switched off: they would commit these rows after another writer's snapshot, and set
    # back its offsets.
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
