"""The CQL that reads tables. Pure."""

from __future__ import annotations

from connectors.cassandra.tables import Table


def quoted(name: str) -> str:
    """An identifier as CQL takes it whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def token_of(table: Table) -> str:
    """The token of a row's partition."""
    return f"token({', '.join(quoted(column.name) for column in table.partition_key)})"


def select_range(table: Table) -> str:
    """The token, then all columns, of the rows above one token and up to another."""
    columns = ", ".join(quoted(column.name) for column in table.columns)
    token = token_of(table)
    # Identifiers are quoted, values are bound.
    source = f"{quoted(table.keyspace)}.{quoted(table.name)}"
    return f"SELECT {token}, {columns} FROM {source} WHERE {token} > ? AND {token} <= ?"  # noqa: S608
