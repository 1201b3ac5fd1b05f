"""Makes warnings about tables whose rows may come again if their first read is broken off."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.jdbc.settings.table_choice import TableName


def of_key(table: TableName, key: Sequence[str], page_rows: int) -> str | None:
    """Return the warning about a table of PostgreSQL, or None if each row comes once. `page_rows` is max.batch.size."""
    return None if key else of_likes(table, "it has no key", page_rows)


def of_likes(table: TableName, why: str, page_rows: int) -> str:
    """Return the warning that rows which are alike may come again, because `why`. `page_rows` is max.batch.size."""
    return (
        f"Where the first read of table {table.full} is broken off among more than max.batch.size={page_rows} rows "
        f"that are alike, they come again, as {why}: add a primary key, or raise max.batch.size. Wherever it is broken "
        "off, an update made until it goes on may come as a delete and a create apart from each other, and an older "
        "version of a row behind a newer one, with its delete behind that: taken together the events are right."
    )
