"""Makes the SQL of dedup.mode=view: a view with the record of each key that stays, of all that were added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from connectors.bigquery.dedup.clear_sql import not_cleared
from connectors.bigquery.dedup.rules import (
    CLEARS,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_ROW,
    KAFKA_TOPIC,
    KAFKA_TOPIC_ID,
    SOFT_DELETED,
    Keep,
    flat,
)
from connectors.bigquery.rows.quoting import Quote, backticks
from connectors.bigquery.rows.table_schema import Columns, by_name


def has_memory(columns: Columns, compared: Iterable[str]) -> bool:
    """Return True if a table that remembers deletes has all columns by which rows are compared with them."""
    return by_name(columns).keys() >= {flat(name).lower() for name in compared}


def remembered_order(columns: Columns, keys: Iterable[str], order: Sequence[str]) -> tuple[str, ...] | None:
    """Return the order by which rows are compared with deletes that a table with these columns remembers; None if it
    lacks what is compared. One that was made before rows had numbers lacks these alone, and is asked by the rest.
    """
    known = by_name(columns)
    found = tuple(name for name in order if name != KAFKA_ROW or name.lower() in known)
    return found if has_memory(columns, (*keys, *found)) else None


@dataclass(frozen=True, slots=True)
class Memory:
    """Holds a table (quoted) in which a mode that merges has remembered deletes, and its columns, with members flat.

    `mark` is the column that would mark such a delete in the view's own table.
    """

    table: str
    columns: frozenset[str]
    mark: str


@dataclass(frozen=True, slots=True)
class LatestView:
    """Makes a view of a table (quoted) to which every record is added. `columns` are the table's.

    `keys` and `order` are as in `Merge`. Each row without a key is shown, each record once. `memories` hold deletes
    that were merged before the table got every record; they hide older rows as if they were in the table.
    """

    table: str
    columns: Sequence[str]
    keys: Sequence[str]
    order: Sequence[str]
    keep: Keep
    quote: Quote = backticks
    memories: Sequence[Memory] = ()

    def text(self) -> str:
        """Return the text of the query."""
        quote = self.quote
        shown = ", ".join(quote(name) for name in self.columns if name not in {SOFT_DELETED, CLEARS})
        direction = "DESC NULLS LAST" if self.keep is Keep.LATEST else "ASC NULLS FIRST"
        order = ", ".join(f"{quote(name)} {direction}" for name in self.order)
        keys = [".".join(map(quote, key.split("."))) for key in self._keys]
        topic, partition, offset, topic_id = map(quote, (KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC_ID))
        lacking = " OR ".join(f"{key} IS NULL" for key in keys)
        numbers = ", ' ', ".join(f"CAST({number} AS STRING)" for number in (partition, offset))
        row = f", ' ', CAST(COALESCE({quote(KAFKA_ROW)}, 0) AS STRING)" if KAFKA_ROW in self.columns else ""
        place = f"CONCAT({topic}, ' ', {numbers}, ' ', COALESCE({topic_id}, ''){row})"
        alive = f" WHERE {quote(SOFT_DELETED)} IS NOT TRUE" if SOFT_DELETED in self.columns else ""
        rows = self._rows()
        if CLEARS in self.columns:
            rows = "\n".join(["  SELECT * FROM (", not_cleared(rows, self._keys, quote), "  ) AS B"])
        return "\n".join([
            f"SELECT {shown} FROM (",  # noqa: S608 - it joins quoted names, no values of rows
            f"{rows} WHERE TRUE",
            f"  QUALIFY ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)}, CASE WHEN {lacking} THEN {place} END",
            # Rows that were there before have no place, so nothing tells those without a key apart: each is shown.
            f"  ORDER BY {order}) = 1 OR (({lacking}) AND {offset} IS NULL)",
            f"){alive}",
        ])  # fmt: skip

    @property
    def _members(self) -> Mapping[str, str]:
        """Return a plain name for each key that is a member of a record, where rows of memories stand beside."""
        nested = [key for key in self.keys if "." in key] if self.memories else []
        return {key: f"_dedup_member_{number}" for number, key in enumerate(nested)}

    @property
    def _keys(self) -> Sequence[str]:
        """Return what the keys are called in `_rows`."""
        return [self._members.get(key, key) for key in self.keys]

    def _rows(self) -> str:
        """Return SQL of the table's rows and, as if they were such, of the deletes that are remembered elsewhere."""
        if not self.memories:
            return f"  SELECT * FROM {self.table}"  # noqa: S608 - it joins quoted names, no values of rows
        quote, members = self.quote, self._members
        named = [".".join(map(quote, key.split("."))) + f" AS {quote(name)}" for key, name in members.items()]
        parts = [f"SELECT {', '.join((*map(quote, self.columns), *named))} FROM {self.table}"]  # noqa: S608 - it joins quoted names, no values of rows
        for memory in self.memories:
            values = [
                "TRUE" if name == memory.mark else quote(name) if name.lower() in memory.columns else "NULL"
                for name in (*self.columns, *map(flat, members))
            ]
            parts.append(f"SELECT {', '.join(values)} FROM {memory.table}")  # noqa: S608 - it joins quoted names, no values of rows
        text = "\n    UNION ALL ".join(parts)
        return f"  SELECT * FROM (\n    {text}\n  ) AS A"  # noqa: S608 - it joins quoted names, no values of rows
