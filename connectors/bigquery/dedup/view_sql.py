"""Make the SQL of dedup.mode=view: of all records that were added, the one of each key that stays. Text only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.bigquery.dedup.clear_sql import not_cleared
from connectors.bigquery.dedup.rules import (
    CLEARS,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_TOPIC,
    KAFKA_TOPIC_ID,
    SOFT_DELETED,
    Keep,
)
from connectors.bigquery.rows.quoting import Quote, backticks


@dataclass(frozen=True, slots=True)
class LatestView:
    """A view of a table to which every record is added. table: quoted. columns: those of the table.

    keys, order: as of a MERGE. Records without a key are rows of their own, each once.
    """

    table: str
    columns: Sequence[str]
    keys: Sequence[str]
    order: Sequence[str]
    keep: Keep
    quote: Quote = backticks

    def text(self) -> str:
        """Return the text of the query."""
        quote = self.quote
        shown = ", ".join(quote(name) for name in self.columns if name not in {SOFT_DELETED, CLEARS})
        direction = "DESC NULLS LAST" if self.keep is Keep.LATEST else "ASC NULLS FIRST"
        order = ", ".join(f"{quote(name)} {direction}" for name in self.order)
        keys = [".".join(map(quote, key.split("."))) for key in self.keys]
        topic, partition, offset, topic_id = map(quote, (KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC_ID))
        lacking = " OR ".join(f"{key} IS NULL" for key in keys)
        numbers = ", ' ', ".join(f"CAST({number} AS STRING)" for number in (partition, offset))
        place = f"CONCAT({topic}, ' ', {numbers}, ' ', COALESCE({topic_id}, ''))"
        alive = f" WHERE {quote(SOFT_DELETED)} IS NOT TRUE" if SOFT_DELETED in self.columns else ""
        rows = f"  SELECT * FROM {self.table}"  # noqa: S608 - names alone
        if CLEARS in self.columns:
            rows = "\n".join(["  SELECT * FROM (", not_cleared(rows, self.keys, quote), "  ) AS B"])
        return "\n".join([
            f"SELECT {shown} FROM (",  # noqa: S608 - names alone
            f"{rows} WHERE TRUE",
            f"  QUALIFY ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)}, CASE WHEN {lacking} THEN {place} END",
            f"  ORDER BY {order}) = 1",
            f"){alive}",
        ])  # fmt: skip
