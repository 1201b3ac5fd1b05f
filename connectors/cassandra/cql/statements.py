"""Builds the CQL that reads tables, with parameters in the bytes that Cassandra stores. Pure.

A row's place in a table is given by its partition's token, its partition key and its clustering columns, in this order.
The rows behind a place in its partition are read by at most one statement per clustering column. Then the partitions
behind are read. A comparison of tuples was rejected, as CQL has none where some columns run backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.cassandra.cql.owners import NO_NODES, Nodes
from connectors.cassandra.cql.splits import Split, SplitProgress
from connectors.cassandra.cql.tables import Table


@dataclass(frozen=True, slots=True)
class Query:
    """Holds a statement and its parameters, each as Cassandra stores it. Its result has the token before the columns.

    `owners` are nodes that have all of its rows, as far as the session knows; empty if none are known.
    """

    text: str
    parameters: Sequence[bytes]
    owners: Nodes = NO_NODES


def range_query(split: Split, after: int, more: str = "") -> Query:
    """Return the query for the rows of a split whose tokens are above `after`.

    `more` is CQL text that is selected behind the table's columns.
    """
    token = _token(split.table)
    text = f"{_select(split.table, more)} WHERE {token} > ? AND {token} <= ?"
    return Query(text, [as_long(after), as_long(split.upto)])


def count_query(split: Split) -> Query:
    """Return a query that selects little but the tokens of a split's rows: as many rows as `range_query` selects."""
    token = _token(split.table)
    # Without a static column in the selection the server leaves out partitions that have static values alone.
    static = f", {quoted(split.table.static[0].name)}" if split.table.static else ""
    text = f"SELECT {token}{static} FROM {_name(split.table)} WHERE {token} > ? AND {token} <= ?"  # noqa: S608 - it joins quoted names, no values of rows
    return Query(text, [as_long(split.after), as_long(split.upto)])


def rest_of_partition(table: Table, progress: SplitProgress, more: str = "") -> list[Query]:
    """Return queries for the rows behind a row in its partition; the first share most clustering columns with it.

    `more` is CQL text that is selected behind the table's columns.
    """
    if progress.partition_key is None or progress.clustering is None:
        return []
    keys = [f"{quoted(column.name)} = ?" for column in table.partition_key]
    queries = []
    for depth in range(len(table.clustering), 0, -1):
        *same, last = table.clustering[:depth]
        sign = "<" if last.descending else ">"
        conditions = [*keys, *(f"{quoted(column.name)} = ?" for column in same), f"{quoted(last.name)} {sign} ?"]
        parameters = [*progress.partition_key, *progress.clustering[:depth]]
        queries.append(Query(f"{_select(table, more)} WHERE {' AND '.join(conditions)}", parameters))
    return queries


def keys_of_token(table: Table, token: int) -> Query:
    """Return the query for the partition keys of a token, of which there is nearly always one."""
    keys = ", ".join(quoted(column.name) for column in table.partition_key)
    text = f"SELECT DISTINCT {_token(table)}, {keys} FROM {_name(table)} WHERE {_token(table)} = ?"  # noqa: S608 - it joins quoted names, no values of rows
    return Query(text, [as_long(token)])


def partition_query(table: Table, key: Sequence[bytes], more: str = "") -> Query:
    """Return the query for the rows of a partition. `more` is CQL text that is selected behind the table's columns."""
    return Query(row_text(table, [column.name for column in table.partition_key], more), list(key))


def row_text(table: Table, names: Sequence[str], more: str = "") -> str:
    """Return the CQL that selects the rows with given values, as parameters, in the columns of `names`."""
    return f"{_select(table, more)} WHERE {' AND '.join(f'{quoted(name)} = ?' for name in names)}"


def quoted(name: str) -> str:
    """Return an identifier in CQL's double quotes."""
    return '"' + name.replace('"', '""') + '"'


def as_long(value: int) -> bytes:
    """Return a bigint as Cassandra stores it."""
    return value.to_bytes(8, "big", signed=True)


def _select(table: Table, more: str) -> str:
    # Identifiers are quoted, values are bound.
    columns = ", ".join(quoted(column.name) for column in table.columns)
    return f"SELECT {_token(table)}, {columns}{more} FROM {_name(table)}"  # noqa: S608 - it joins quoted names, no values of rows


def _token(table: Table) -> str:
    return f"token({', '.join(quoted(column.name) for column in table.partition_key)})"


def _name(table: Table) -> str:
    return f"{quoted(table.keyspace)}.{quoted(table.name)}"
