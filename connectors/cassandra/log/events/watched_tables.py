"""Knows the tables whose changes are sent, and decodes their mutations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from connect.api.errors import ConnectError, RetriableError
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.decode import Decoded, MutationDecoder
from connectors.cassandra.log.events.event_columns import EventShape
from connectors.cassandra.log.events.event_schema import event_schema, partition_key_schema
from connectors.cassandra.log.events.mutation import PartitionUpdate
from connectors.cassandra.log.events.native_events import Plan
from connectors.cassandra.log.events.table_history import TableHistory

log = logging.getLogger(__name__)
_SCHEMA_KEYSPACE: Final = "system_schema"
"""This keyspace has the schema. Its mutations are in the commit log like those of any table."""


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """Holds a table whose changes are sent, and their topic."""

    topic: str
    shape: EventShape


class Watched:
    """Knows the tables as the schema had them when it was read last. One thread owns it."""

    def __init__(
        self,
        read: Callable[[], Schemas],
        names: Iterable[str],
        topic_prefix: str,
        stored_history: Callable[[str], Mapping[str, Any] | None] = lambda _: None,
    ) -> None:
        """Read the schema. `names` are keyspace.table or keyspace.*; without them each table with cdc=true is watched.

        `stored_history` returns the stored entry of a keyspace's tables (`TableHistory`).
        """
        self._read = read
        self._stored_history = stored_history
        self._keyspaces: set[str] = set()
        self.history = TableHistory()
        self._names = frozenset(names)
        self._prefix = topic_prefix
        self._said: set[str] = set()
        self._left_out: set[UUID] = set()
        self._known_gone: set[bytes] = set()
        self.tables: dict[UUID, WatchedTable] = {}
        self.unknown_mutations = 0
        """How many mutations were left out, in whole or in part, as a table or one of its types is unknown."""
        self.refresh()

    def refresh(self) -> None:
        """Read the schema again. RetriableError: the node does not answer."""
        schemas = self._read()
        self._tables = schemas.tables | schemas.views
        self._decoders: dict[int, MutationDecoder] = {}
        before = self.tables
        self.tables = {table.id: self._watch(table) for table in schemas.tables.values() if self._is_wanted(table)}
        for number in before.keys() & schemas.tables.keys() - self.tables.keys():
            self._say(
                f"Table {before[number].shape.table.title} has no cdc = true any more: what was not read of its "
                "changes by now is not sent."
            )
        self._learn()
        self._schema_tables = {t.id.bytes for t in schemas.tables.values() if t.keyspace == _SCHEMA_KEYSPACE}
        others = [table_id for table_id in self._tables.keys() - self.tables if not self._is_schema(table_id.bytes)]
        self._others = {table_id.bytes for table_id in others}
        self.plan = Plan.of((watched.shape.table for watched in self.tables.values()), others)
        # Their errors are said here. A type that was not known may be by now.
        self._left_out = (self._left_out - self._tables.keys()) | schemas.broken_ids
        self._known_gone = {number.bytes for number in self._left_out}
        for name, why in schemas.broken.items():
            self._say(f"Changes of table {name} cannot be read: {why}")
        found = {name for t in self.tables.values() for name in _names_of(t.shape.table)}
        for name in sorted(self._names - found):
            self._say(f"No changes of {name} are sent, which `tables` names: no such table has cdc = true.")

    def tells_of_schema(self, body: bytes) -> bool:
        """Return True if a mutation changes the schema, which then has to be read again for later mutations."""
        return self._is_schema(_first_table(body))

    def updates(self, body: bytes, version: int, place: str = "") -> list[PartitionUpdate]:
        """Return a mutation's updates of watched tables. The schema is read again if the mutation needs a newer one.

        `place` says in messages where the mutation is. ConnectError, ValueError: even then it cannot be read.
        """
        # Most mutations of a node are of one table: those of the others are left out at their first bytes.
        table_id = _only_table(body)
        if table_id in self._others or self.tells_of_schema(body):
            return []
        if table_id is not None and table_id in self._known_gone:
            self.unknown_mutations += 1
            return []
        try:
            decoded = self._decoded(body, version)
        except RetriableError:
            raise
        except (ConnectError, ValueError, IndexError):
            decoded = None
        if decoded is None or not self._left_out.issuperset(decoded.left_out):
            self.refresh()
            decoded = self._decoded(body, version)
        if decoded.left_out:
            self.unknown_mutations += 1
            for number in decoded.left_out:
                self._leave_out(number, place)
        return [update for update in decoded.updates if update.table.id in self.tables]

    def leave_out(self, number: UUID, mutations: int, place: str) -> None:
        """Count and report mutations that are left out, as their table was dropped after they were decoded."""
        self.unknown_mutations += mutations
        self._leave_out(number, place)

    def named(self, body: bytes) -> str:
        """Return the name of the first table of a mutation, as far as the bytes can be read."""
        found = {table.id.bytes: table.title for table in self._tables.values()}
        return found.get(_first_table(body), "a table that is not known")

    def _decoded(self, body: bytes, version: int) -> Decoded:
        decoder = self._decoders.get(version)
        if decoder is None:
            decoder = self._decoders[version] = MutationDecoder(self._tables, version, self.history.gone)
        return decoder.decode(body)

    def _leave_out(self, number: UUID, place: str) -> None:
        """Say once of a table that its changes are left out. Ids are never used again."""
        if number in self._left_out:
            return
        self._left_out.add(number)
        self._known_gone.add(number.bytes)
        gone = self.history.gone.get(number)
        what = f"Table {number} is not known" if gone is None else f"Table {gone.title} ({number}) is gone"
        self._say(f"{what}: it was dropped. Its changes are left out, those of {place or 'a mutation'} first.")

    def _learn(self) -> None:
        """Remember the tables of all keyspaces that have, or had, a watched one."""
        for keyspace in {watched.shape.table.keyspace for watched in self.tables.values()} - self._keyspaces:
            self._keyspaces.add(keyspace)
            stored = self._stored_history(keyspace)
            if stored is not None:
                self.history.load(keyspace, stored)
        self.history.learn(self._tables.values(), self._keyspaces)

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
        if not table.is_logged:
            self._say(
                f"Changes of table {table.title} are not sent: its keyspace has durable_writes = false, so that nodes "
                f"write none of them to their commit logs. ALTER KEYSPACE {table.keyspace} WITH durable_writes = true "
                "brings those from then on."
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
    """Return the names by which `tables` may name a table."""
    return {table.title, f"{table.keyspace}.*"}


def _first_table(body: bytes) -> bytes:
    """Return the id of a mutation's first table, which stands behind the number of its updates."""
    begin = 1 + 8 - (body[0] ^ 0xFF).bit_length() if body else 0
    return body[begin : begin + 16]


def _only_table(body: bytes) -> bytes | None:
    """Return the id of a mutation's table; None where it has updates of several."""
    return body[1:17] if body[:1] == b"\1" else None
