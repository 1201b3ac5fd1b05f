"""Gives the names of a deduplicated table's helper tables, its labels, and the columns of its log. Values only."""

from __future__ import annotations

from typing import Final

LOG_BATCH: Final = "_dedup_batch"
"""This column of a log holds the load job of a row. The rows of a job are seen all at once or not at all."""
LOG_BOUND: Final = "_dedup_bound"
"""This column of a log holds SQL of the first partition that is searched for the row's key; NULL: all are."""
MODE_LABEL: Final = "kafka-connect-dedup-mode"
"""The label of a table that says which mode dedup.mode=auto has chosen for it."""
REASON_LABEL: Final = "kafka-connect-dedup-reason"
"""The label of a table that says why its mode was chosen, as a code, as labels take no sentence."""
KEYS_LABEL: Final = "kafka-connect-dedup-keys"
"""The label of a table that says, as a hash, which columns tell its rows apart, and of which fields they are."""


def merges_table(target: str) -> str:
    """Return the name of the empty table whose label holds how far the line of merges into a table is."""
    return f"_{target}_merges"


def deletes_table(target: str) -> str:
    """Return the name of the table that remembers the hard deletes of a table."""
    return f"_{target}_deletes"


def cleared_table(target: str) -> str:
    """Return the name of the table with the offset up to which tombstones without an order have removed a key."""
    return f"_{target}_cleared"


def log_table(target: str) -> str:
    """Return the name of the log of a table, which with dedup.mode=compact has the rows that are not merged yet."""
    return f"_{target}_log"
