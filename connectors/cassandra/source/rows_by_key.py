"""Reads rows by the primary keys that keys of records hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.cassandra.cql.bound_values import bind_of
from connectors.cassandra.cql.pages import Page, split_columns
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.session import Database, PageAnswer
from connectors.cassandra.cql.splits import cut
from connectors.cassandra.cql.statements import Query, row_text
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.page_rows import page_rows
from connectors.cassandra.source.sweeps import Sweep

_AT_ONCE: Final = 64
_QUORUM_OF: Final = {"ONE": "QUORUM", "TWO": "QUORUM", "LOCAL_ONE": "LOCAL_QUORUM"}


def asking(config: CassandraSourceConfig) -> CassandraSourceConfig:
    """Return the settings by which rows are asked for by their keys: at a quorum, as one replica may lack a row.

    Whoever asks takes a row that is not found for one that is gone.
    """
    quorum = _QUORUM_OF.get(config.consistency_level.upper())
    return config if quorum is None else config.model_copy(update={"consistency_level": quorum})


class RowsByKey:
    """Reads rows of tables by their primary keys. Owned by the thread that owns the connection."""

    def __init__(self, database: Database, config: CassandraSourceConfig, schemas: Schemas) -> None:
        self._database = database
        self._config = config
        self._schemas = schemas

    def find(self, topic: str, keys: Sequence[Any]) -> Iterator[Batch]:
        """Yield a batch for each row that exists among those with these keys.

        SchemaError: no table has this topic, or a key is not the table's.
        """
        table = self._table_of(topic)
        rows, whole = page_rows([table], self._config, self._database)[table], cut(table, 1)[0]
        queries = [self._query(table, key, rows.more) for key in keys]
        asked: deque[tuple[PageAnswer, bool]] = deque()
        for number, (query, of_statics) in enumerate(queries, 1):
            asked.append((self._database.ask(query, 1), of_statics))
            while asked and (len(asked) == _AT_ONCE or number == len(queries)):
                answer, is_of_statics = asked.popleft()
                page = answer.page()
                if page.rows and not (is_of_statics and _has_clustering(table, page)):
                    yield replace(rows.batch(whole, page, Sweep(), is_last=False), position=None)

    def _query(self, table: Table, key: Any, more: str) -> tuple[Query, bool]:
        """Return the query for the row of a key; True if that is the row of a partition with nothing but static values.

        SchemaError: the key is not the table's.
        """
        if not isinstance(key, Mapping):
            raise SchemaError(f"A key of table {table.title} is a {type(key).__name__} instead of its columns.")
        missing = [column.name for column in table.primary_key if column.name not in key]
        if missing:
            raise SchemaError(f"A key of table {table.title} lacks {', '.join(missing)}.")
        values = {c.name: bind_of(c.type, c.name)(key[c.name]) for c in table.primary_key}
        # A partition that only has static values has one row, whose clustering columns are null.
        there = {name: value for name, value in values.items() if value is not None}
        text = row_text(table, list(there), more)
        return Query(text, self._database.stored(text, list(there.values()))), len(there) < len(values)

    def _table_of(self, topic: str) -> Table:
        for table in self._schemas.of_keyspace(self._config.keyspace).values():
            if self._config.topic_of(table) == topic:
                return table
        raise SchemaError(
            f"Keyspace {self._config.keyspace} has no table whose rows go to topic {topic}, so its keys cannot be "
            "looked for.",
            fix="Leave transforms out that change the topic.",
        )


def _has_clustering(table: Table, page: Page) -> bool:
    """Return True if the first row of a page has clustering values: its partition has rows, and no row of its own."""
    _, *cells = split_columns(page)
    return any(found.value(0) is not None for found in cells[len(table.partition_key) : len(table.primary_key)])
