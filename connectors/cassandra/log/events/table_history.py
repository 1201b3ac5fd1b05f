"""Remembers the layouts of tables by id, dropped ones among them, so that their changes in the log can be passed over.

The memory is kept with the agent's offsets, in an entry for each keyspace, as a mutation is of one keyspace. No I/O.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.layout import Layout

log = logging.getLogger(__name__)

MOST_GONE: Final = 200
"""So many dropped tables of a keyspace are remembered: those that were dropped last."""
MOST_BYTES: Final = 800_000
"""An entry has so many bytes at most: a record in Kafka has at most 1 MiB unless its topic takes more."""


class TableHistory:
    """Holds the layouts of the tables that some keyspaces have or had, by id. One thread owns it."""

    def __init__(self) -> None:
        self._keyspaces: dict[str, dict[UUID, Layout]] = {}
        self._living: dict[str, set[UUID]] = {}
        self._changed: set[str] = set()

    @property
    def gone(self) -> dict[UUID, Layout]:
        """Return the layouts of the tables that were dropped, by id."""
        return {
            number: layout
            for keyspace, layouts in self._keyspaces.items()
            for number, layout in layouts.items()
            if number not in self._living.get(keyspace, ())
        }

    def load(self, keyspace: str, stored: Mapping[str, Any]) -> None:
        """Take the entry that `take_changes` returned for a keyspace in an earlier run; called before `learn`."""
        tables = json.loads(stored["tables"])
        self._keyspaces[keyspace] = {UUID(one["id"]): Layout.of_stored(one) for one in tables}

    def learn(self, tables: Iterable[Table], keyspaces: Iterable[str]) -> None:
        """Take the tables that exist now in these keyspaces; all others there count as dropped."""
        now: dict[str, dict[UUID, Layout]] = {keyspace: {} for keyspace in keyspaces}
        for table in tables:
            if table.keyspace in now:
                now[table.keyspace][table.id] = Layout.of(table)
        for keyspace, living in now.items():
            known = self._keyspaces.get(keyspace, {})
            gone = [number for number in known if number not in living]
            kept = {number: known[number] for number in gone[-MOST_GONE:]} | living
            self._living[keyspace] = set(living)
            self._keyspaces[keyspace] = kept
            if kept != known:
                self._changed.add(keyspace)

    def take_changes(self) -> dict[str, Mapping[str, object]]:
        """Return the entries to store of the keyspaces that have changed since the last call."""
        changed, self._changed = self._changed, set()
        entries: dict[str, Mapping[str, object]] = {}
        for keyspace in sorted(changed):
            # A list, as the order tells which of them went last.
            tables = json.dumps([{"id": str(one), **of.stored} for one, of in self._keyspaces[keyspace].items()])
            if len(tables) <= MOST_BYTES:
                entries[keyspace] = {"tables": tables}
            else:
                log.warning(
                    "Keyspace %s has too many tables to remember them once they are dropped: a mutation of a dropped "
                    "and a living one may then be read by what its bytes look like alone.", keyspace
                )  # fmt: skip
        return entries
