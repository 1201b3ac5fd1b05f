"""Checks what a person reads of a keyspace that is not there."""

from __future__ import annotations

from uuid import UUID

import pytest

from connect.api.errors import ConfigError
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.table_choice import chosen_tables

SYSTEM = ("system", "system_schema", "system_auth")


def problem(keyspace: str, present: tuple[str, ...], **settings: str) -> tuple[str, str]:
    """The key and the text of the error, in a cluster whose keyspaces have a table each."""
    tables = [Table(UUID(int=number), name, "orders", ()) for number, name in enumerate(present)]
    config = CassandraSourceConfig.parse({"contact.points": "127.0.0.1", "keyspace": keyspace, **settings})
    with pytest.raises(ConfigError) as error:
        chosen_tables(Schemas(tables, {}), config)
    (found,) = error.value.problems
    return found.key, found.message


@pytest.mark.parametrize("settings", [{}, {"tables": "orders"}])
def test_a_misspelt_keyspace_is_told_with_the_one_meant_and_the_others(settings: dict[str, str]) -> None:
    key, text = problem("shopp", ("audit", "shop", *SYSTEM), **settings)
    assert key == "keyspace"
    assert text == (
        "There is no keyspace shopp with tables that can be read. Is shop meant? Set keyspace to one that has tables "
        "(shop, audit), or create a table in shopp."
    )


def test_of_many_keyspaces_some_are_named() -> None:
    _, text = problem("other", tuple(f"k{number}" for number in range(10, 40)))
    assert "(k10, k11, k12, k13, k14, k15, k16, k17, k18, k19 and 20 more)" in text


def test_a_cluster_without_tables_of_its_own_is_told_so() -> None:
    _, text = problem("shop", SYSTEM)
    assert text.endswith("No other keyspace of the cluster has one: check contact.points, or create a table in shop.")
