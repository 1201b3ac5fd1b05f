"""Name the tables that stand beside a deduplicated table, and the columns of its log. Values only."""

from __future__ import annotations

from typing import Final

LOG_BATCH: Final = "_dedup_batch"
"""It is the column of logs with the load job that a row came by, whose rows are seen all at once or not at all."""
LOG_BOUND: Final = "_dedup_bound"
"""Column of logs: SQL of the least partition that is searched for the row; NULL: all are."""
MODE_LABEL: Final = "kafka-connect-dedup-mode"
"""The label of a table that says which mode dedup.mode=auto has chosen for it."""
REASON_LABEL: Final = "kafka-connect-dedup-reason"
"""Why the mode was chosen, as a code: a label takes no sentence."""
KEYS_LABEL: Final = "kafka-connect-dedup-keys"
"""The label of a table that says, as a hash, which columns tell its rows apart, and of which fields they are."""


def merges_table(target: str) -> str:
    """Return the name of the empty table whose label notes how far the line of a table is."""
    return f"_{target}_merges"


def deletes_table(target: str) -> str:
    """Return the name of the table that remembers the hard deletes of a table."""
    return f"_{target}_deletes"


def cleared_table(target: str) -> str:
    """Return the name of the table that remembers up to which offset tombstones without an order cleared a key."""
    return f"_{target}_cleared"


def log_table(target: str) -> str:
    """Return the name of the table that has what was not merged into a table yet, with dedup.mode=compact."""
    return f"_{target}_log"
