"""Checks which tables are told as ones that the user may not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from connect.api.errors import ConfigError, RetriableError
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.errors import MissingRightError, TableGoneError
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source.read_rights import missing_read_rights, require_some_right

NO_RIGHT = MissingRightError("user reader may not read table ks.closed", "GRANT SELECT ON ks.closed TO reader;")


class Answers:
    """A cluster that refuses some tables. Implements Queries."""

    def __init__(self, refusals: dict[str, Exception]) -> None:
        self._refusals = refusals

    def rows(self, query: str, parameters: Sequence[object] = (), *, doing: str) -> list[tuple[Any, ...]]:
        for name, error in self._refusals.items():
            if f".{name} " in query.replace('"', ""):
                raise error
        return []


def table(name: str) -> Table:
    return Table(UUID(int=1), "ks", name, [TableColumn("k", CqlType("int"))])


def test_only_tables_without_the_right_are_told_and_each_table_is_asked():
    tables = [table(name) for name in ("gone", "away", "closed", "open")]
    database = Answers({"gone": TableGoneError("gone"), "away": RetriableError("no node answers"), "closed": NO_RIGHT})
    assert list(missing_read_rights(database, tables, Deadline.after(60))) == [NO_RIGHT]


def test_a_user_who_may_read_no_table_is_refused_and_one_without_tables_is_not():
    with pytest.raises(ConfigError, match=r"ks\.closed"):
        require_some_right([table("closed")], [NO_RIGHT])
    assert require_some_right([table("closed"), table("open")], [NO_RIGHT])[0].endswith("The other tables are read.")
    # A named table whose schema cannot be read is left aside, so that no table may be left to ask for.
    assert require_some_right([], []) == []
