"""Knows the tables whose changes are sent, and decodes their mutations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from connect.api.errors import SchemaError
from connectors.cassandra.log.decode import MutationDecoder, UnknownTableError
from connectors.cassandra.log.event_columns import EventShape
from connectors.cassandra.log.event_schema import event_schema, partition_key_schema
from connectors.cassandra.log.mutation import PartitionUpdate
from connectors.cassandra.log.native_events import Plan
from connectors.cassandra.schema_reader import Schemas
from connectors.cassandra.tables import Table

log = logging.getLogger(__name__)
_SCHEMA_KEYSPACE: Final = "system_schema"
"""The keyspace of the schema, whose mutations are in the commit log as those of any table."""


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """A table whose changes are sent."""

    topic: str
    shape: EventShape


class Watched:
    """The tables, as of when the schema was read last. Owned by one thread."""

    def __init__(self, read: Callable[[], Schemas], names: Iterable[str], topic_prefix: str) -> None:
        """`names` are keyspace.table or keyspace.*; without names every table with cdc=true is watched."""
        self._read = read
        self._names = frozenset(names)
        self._prefix = topic_prefix
        self._said: set[str] = set()
        self._unknown: set[bytes] = set()
        self.unknown_mutations = 0
        """The number of mutations that were skipped, as their table or one of its types is unknown."""
        self.refresh()

    def refresh(self) -> None:
        """Read the schema again. RetriableError: the node does not answer."""
        schemas = self._read()
        self._tables = schemas.tables
        self._decoders: dict[int, MutationDecoder] = {}
        self.tables = {table.id: self._watch(table) for table in schemas.tables.values() if self._is_wanted(table)}
        self._schema_tables = {t.id.bytes for t in schemas.tables.values() if t.keyspace == _SCHEMA_KEYSPACE}
        others = [table_id for table_id in schemas.tables.keys() - self.tables if not self._is_schema(table_id.bytes)]
        self._others = {table_id.bytes for table_id in others}
        self.plan = Plan.of((watched.shape.table for watched in self.tables.values()), others)
        self._broken = {table_id.bytes for table_id in schemas.broken_ids}
        for name, why in schemas.broken.items():
            self._say(f"Changes of table {name} cannot be read: {why}")
        found = {name for t in self.tables.values() for name in _names_of(t.shape.table)}
        for name in sorted(self._names - found):
            self._say(f"No changes of {name} are sent, which `tables` names: no such table has cdc = true.")

    def tells_of_schema(self, body: bytes) -> bool:
        """Whether a mutation changes the schema, so that the schema has to be read again for what is behind it."""
        return self._is_schema(body[1:17])

    def updates(self, body: bytes, version: int) -> list[PartitionUpdate]:
        """The updates of tables that are watched in a mutation. The schema is read again where it has something new.

        ConnectError, ValueError: even then it cannot be read.
        """
        # Most mutations of a node are of one table: those of the others are left out at their first bytes.
        if self.tells_of_schema(body) or (body[0] == 1 and body[1:17] in self._others):
            return []
        if body[1:17] in self._unknown or body[1:17] in self._broken:
            self.unknown_mutations += 1
            return []
        try:
            return self._updates(body, version)
        except (UnknownTableError, SchemaError, ValueError):
            self.refresh()
        try:
            return self._updates(body, version)
        except UnknownTableError as error:
            self.unknown_mutations += 1
            # Ids are never used again: what is not known now never will be, and need not be looked up each time.
            self._unknown.add(error.table_id.bytes)
            self._say(f"{error} Its changes are left out.")
            return []

    def named(self, body: bytes) -> str:
        """The name of the first table of a mutation, as far as the bytes can be read."""
        found = {table.id.bytes: table.title for table in self._tables.values()}
        return found.get(body[1:17], "a table that is not known")

    def _updates(self, body: bytes, version: int) -> list[PartitionUpdate]:
        decoder = self._decoders.get(version)
        if decoder is None:
            decoder = self._decoders[version] = MutationDecoder(self._tables, version)
        return [update for update in decoder.decode(body) if update.table.id in self.tables]

    def _is_schema(self, table_id: bytes) -> bool:
        return table_id in self._schema_tables

    def _is_wanted(self, table: Table) -> bool:
        if not table.cdc:
            return False
        if self._names and not _names_of(table) & self._names:
            return False
        if any(column.type.name == "counter" for column in table.regular):
            self._say(
                f"Changes of table {table.title} are not sent: it holds counters, of which the commit log has each "
                "replica's own count and no change."
            )
            return False
        return True

    def _watch(self, table: Table) -> WatchedTable:
        shape = EventShape(table, partition_key_schema(table), event_schema(table))
        return WatchedTable(f"{self._prefix}{table.title}", shape)

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            log.error("%s", text)


def _names_of(table: Table) -> set[str]:
    """The names by which `tables` may name a table."""
    return {table.title, f"{table.keyspace}.*"}
