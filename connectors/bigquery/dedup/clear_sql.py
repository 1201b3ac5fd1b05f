"""Makes the SQL for tombstones without a value for dedup.order.by: one removes the older rows of its key and partition.

Offsets tell which rows are older, so rows of another partition, or of a topic that was made anew, stay. A row without
an offset, as one from before dedup, is older than all tombstones; a row without a topic id counts as one of the topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connectors.bigquery.dedup.rules import (
    CLEARS,
    DELETED_AT,
    IS_APPEND,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_TOPIC,
    KAFKA_TOPIC_ID,
    flat,
)
from connectors.bigquery.rows.quoting import Quote, backticks

_LOG: Final = (KAFKA_TOPIC, KAFKA_TOPIC_ID, KAFKA_PARTITION)
"""These columns together tell which topic partition a row is from."""
_CLEARED_TO: Final = "_dedup_cleared_to"
_OF_ANY_PLACE: Final = "_dedup_of_any_place"
_OF_ANY_ID: Final = "_dedup_of_any_id"


@dataclass(frozen=True, slots=True)
class Clears:
    """Makes the statements for such tombstones in some staged tables (quoted).

    `keys` are names of columns, or paths such as `key.id` of a record's member.
    """

    staged: tuple[str, ...]
    keys: tuple[str, ...]
    quote: Quote = backticks

    def remember(self, cleared: str, now: str) -> str:
        """Return the MERGE that writes each key's last tombstone into the table `cleared`. `now`: SQL of this time."""
        names = [self.quote(name) for name in dict.fromkeys((*map(flat, self.keys), *_LOG, KAFKA_OFFSET))]
        offset, at = self.quote(KAFKA_OFFSET), self.quote(DELETED_AT)
        return "\n".join([
            f"MERGE INTO {cleared} AS T",
            f"USING (\n{self._last()}\n) AS S",
            f"ON {self._same_keys('S', 'T')} AND {same_log('S', 'T', self.quote)}",
            f"WHEN MATCHED AND S.{offset} > T.{offset} THEN UPDATE SET {offset} = S.{offset}, {at} = {now}",
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}, {at})",
            f"VALUES ({', '.join(f'S.{name}' for name in names)}, {now})",
        ])  # fmt: skip

    def take_out(self, table: str, then: str, *, nested: bool, searched: str = "") -> str:
        """Return the MERGE whose action `then` is done to the rows of a table that the tombstones remove.

        With `nested` the table has a record's members in the record, else each as a column of its own. `searched` is a
        condition that bounds the partitions to search.
        """
        return "\n".join([
            f"MERGE INTO {table} AS T",
            f"USING (\n{self._last()}\n) AS S",
            f"ON {self._same_keys('S', 'T', nested=nested)} AND {self._reached()}{searched}",
            f"WHEN MATCHED THEN {then}",
        ])  # fmt: skip

    def left(self, table: str, *, nested: bool, searched: str = "") -> str:
        """Return SQL that selects the rows of a table that the tombstones do not remove. `take_out` tells the rest."""
        rows = self.with_last(table, nested=nested, searched=searched)
        return f"SELECT T.* FROM {rows} WHERE S.{self.quote(KAFKA_OFFSET)} IS NULL"  # noqa: S608 - names

    def with_last(self, table: str, *, nested: bool, searched: str = "") -> str:
        """Return SQL that joins each row of a table (T) with the tombstone that removes it (S), or with nulls."""
        on = f"{self._same_keys('S', 'T', nested=nested)} AND {self._reached()}{searched}"
        return f"{table} AS T LEFT JOIN (\n{self._last()}\n) AS S ON {on}"

    def _reached(self) -> str:
        """Return SQL that is true for one tombstone at most of those that remove a row, as MERGE takes one alone."""
        topic, topic_id, partition, offset = (
            self.quote(n) for n in (KAFKA_TOPIC, KAFKA_TOPIC_ID, KAFKA_PARTITION, KAFKA_OFFSET)
        )
        of_any_id = f"T.{topic_id} IS NULL AND S.{self.quote(_OF_ANY_ID)}"
        return (
            f"((T.{offset} IS NULL AND S.{self.quote(_OF_ANY_PLACE)}) OR (T.{topic} = S.{topic} "
            f"AND T.{partition} = S.{partition} AND T.{offset} < S.{offset} "
            f"AND (T.{topic_id} = S.{topic_id} OR ({of_any_id}))))"
        )

    def _last(self) -> str:
        """Return SQL that selects of each key and partition the last tombstone."""
        keys = {flat(key): _path("R", key, self.quote) for key in self.keys}
        names = {**keys, **{name: f"R.{self.quote(name)}" for name in _LOG}}
        selected = ", ".join(f"{path} AS {self.quote(name)}" for name, path in names.items())
        columns = ", ".join(
            map(self.quote, dict.fromkeys((*(k.split(".")[0] for k in self.keys), *_LOG, KAFKA_OFFSET)))
        )
        mark, offset = self.quote(CLEARS), self.quote(KAFKA_OFFSET)
        rows = "\n    UNION ALL\n".join(
            f"    SELECT {columns} FROM {table} WHERE {mark} AND NOT {self.quote(IS_APPEND)}"  # noqa: S608 - names alone
            for table in self.staged
        )
        by_key = ", ".join(map(self.quote, keys))
        by_number = ", ".join(map(self.quote, dict.fromkeys((*keys, KAFKA_TOPIC, KAFKA_PARTITION))))
        return "\n".join([
            "  SELECT *,",
            f"    ROW_NUMBER() OVER (PARTITION BY {by_key} ORDER BY {offset} DESC) = 1 AS {self.quote(_OF_ANY_PLACE)},",
            f"    ROW_NUMBER() OVER (PARTITION BY {by_number} ORDER BY {offset} DESC) = 1 AS {self.quote(_OF_ANY_ID)}",
            f"  FROM (SELECT {selected}, MAX(R.{offset}) AS {offset} FROM (",  # noqa: S608 - names alone
            rows,
            f"  ) AS R GROUP BY {', '.join(names.values())}) AS L",
        ])  # fmt: skip

    def _same_keys(self, one: str, other: str, *, nested: bool = False) -> str:
        pairs = ((f"{one}.{self.quote(flat(key))}", key if nested else flat(key)) for key in self.keys)
        return " AND ".join(f"{a} = {_path(other, b, self.quote)}" for a, b in pairs)


def same_log(one: str, other: str, quote: Quote) -> str:
    """Return SQL that is true if the rows of two aliases are from the same topic partition."""
    topic, topic_id, partition = map(quote, _LOG)
    return (
        f"{one}.{topic} = {other}.{topic} AND {one}.{partition} = {other}.{partition} "
        f"AND COALESCE({one}.{topic_id}, '') = COALESCE({other}.{topic_id}, '')"
    )


def not_cleared(rows: str, keys: Sequence[str], quote: Quote, *, columns: str = "*") -> str:
    """Return SQL that selects, of rows with a column CLEARS, those behind the last such tombstone of their key."""
    by = ", ".join([*(_path("R", key, quote) for key in keys), *(f"R.{quote(name)}" for name in _LOG)])
    offset, to = quote(KAFKA_OFFSET), quote(_CLEARED_TO)
    return "\n".join([
        f"  SELECT {columns} FROM (",  # noqa: S608 - names alone
        f"  SELECT *, MAX(CASE WHEN {quote(CLEARS)} THEN {offset} END) OVER (PARTITION BY {by}) AS {to}",
        "  FROM (",
        rows,
        f"  ) AS R) AS M WHERE {to} IS NULL OR {offset} > {to}",
    ])  # fmt: skip


def _path(alias: str, name: str, quote: Quote) -> str:
    return ".".join((alias, *map(quote, name.split("."))))
