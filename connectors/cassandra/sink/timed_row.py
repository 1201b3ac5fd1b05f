"""Makes a statement for each time at which values of a row were written, so that its copy has the same times. Pure.

Nulls are not written, as nothing tells when they were. The server does not tell the time of the mark that an INSERT
leaves either, so the mark gets the time of the row's newest value. A list that is not frozen is written at the moment
of sending: a second writing with the same time would leave its elements twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.sink.write_statement import Write
from connectors.cassandra.source.write_times import FOR_EVER_S, Written

_USING: Final = "USING TIMESTAMP ? AND TTL ?"
Groups = Mapping[Written, Mapping[str, Any]]


class TimedRow:
    """Makes the statements for one row."""

    def __init__(self, table: Table, found: Mapping[str, Any], told: Mapping[str, Written], untold: Written) -> None:
        """Take the bound value of each column, and the times of writing; other values count as new as the newest.

        A row that tells no time at all, and the mark of a chunk, are as new as `untold`.
        """
        self._table = table
        self._name = f"{quoted(table.keyspace)}.{quoted(table.name)}"
        self._found = found
        self._told = told
        statics = {column.name for column in table.static}
        times = [time for name, time in told.items() if name not in statics and time.writetime_us is not None]
        ttls_s = [time.ttl_s for time in times]
        self._ttl_s = FOR_EVER_S if FOR_EVER_S in ttls_s else max(ttls_s, default=FOR_EVER_S)
        self._newest = Written(max(t.writetime_us or 0 for t in times), self._ttl_s) if times else untold
        self._mark = Written(untold.writetime_us, self._ttl_s)

    def writes(self, chunk: Mapping[str, str]) -> list[Write]:
        """Return the statements for the row and for its partition's static values.

        `chunk` maps the chunk column to the chunk's name; it is empty if there is no such column.
        """
        regular = [column for column in self._table.regular if column.name not in self._table.appended_lists]
        groups = self._groups(regular) or {self._newest: {}}
        own = [self._insert(values, time, is_row=not i) for i, (time, values) in enumerate(groups.items())]
        # The chunk's name is as new as the copy, and lives as long as the longest-lived value.
        marks = [self._update(self._table.primary_key, chunk, self._mark)] if chunk else []
        lists = [column for column in self._table.regular if column.name in self._table.appended_lists]
        return [*own, *self._updates(self._table.primary_key, lists), *self.static_writes(), *marks]

    def static_writes(self) -> list[Write]:
        """Return the statements for the static values of the partition, which make no row."""
        return self._updates(self._table.partition_key, self._table.static)

    def _updates(self, key: Sequence[TableColumn], columns: Sequence[TableColumn]) -> list[Write]:
        return [self._update(key, values, time) for time, values in self._groups(columns).items()]

    def _groups(self, columns: Sequence[TableColumn]) -> Groups:
        groups: dict[Written, dict[str, Any]] = {}
        for column in columns:
            value = self._found.get(column.name)
            if value is not None:
                time = self._told.get(column.name, self._newest)
                if column.name in self._table.appended_lists:
                    time = Written(None, time.ttl_s)
                groups.setdefault(time, {})[column.name] = value
        return groups

    def _insert(self, values: Mapping[str, Any], time: Written, *, is_row: bool) -> Write:
        all_values = {**self._keys(self._table.primary_key), **values}
        names, marks = ", ".join(map(quoted, all_values)), ", ".join("?" * len(all_values))
        text = f"INSERT INTO {self._name} ({names}) VALUES ({marks}) {_USING}"  # noqa: S608 - names are quoted
        return Write(text, [*all_values.values(), time.ttl_s], len(all_values), is_row, time.writetime_us)

    def _update(self, key: Sequence[TableColumn], values: Mapping[str, Any], time: Written) -> Write:
        keys = self._keys(key)
        changes = ", ".join(f"{quoted(name)} = ?" for name in values)
        conditions = " AND ".join(f"{quoted(name)} = ?" for name in keys)
        text = f"UPDATE {self._name} {_USING} SET {changes} WHERE {conditions}"  # noqa: S608 - names are quoted
        bound = [time.ttl_s, *values.values(), *keys.values()]
        is_repeatable = not self._table.appended_lists.intersection(values)
        return Write(text, bound, 0, is_row=False, writetime_us=time.writetime_us, is_repeatable=is_repeatable)

    def _keys(self, columns: Sequence[TableColumn]) -> dict[str, Any]:
        return {column.name: self._found[column.name] for column in columns}
