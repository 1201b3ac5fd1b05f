"""Checks that a table can be written by change data capture: its primary key has to be the dedup fields. Pure."""

from __future__ import annotations

from connect.api.errors import ConfigError
from connectors.bigquery.dedup.rules import DedupColumns
from connectors.bigquery.rows.table_schema import Columns, by_name
from connectors.bigquery.tables.capturing import ORDERED
from connectors.bigquery.warehouse.table_facts import TableFacts


def check_captured(table: str, columns: Columns, dedup: DedupColumns) -> None:
    """ConfigError where a new table with these columns cannot be written by change data capture."""
    nested = [placed.column for placed in dedup.keys if "." in placed.column]
    if nested:
        raise ConfigError(
            f"Table {table} cannot have the primary key {', '.join(nested)}: members of a record are none.",
            key="dedup.fields",
            fix="Leave kafkaKeyFieldName out, name fields of the value, or set dedup.mode=merge.",
        )
    order = by_name(columns)[dedup.order[0].column.lower()]
    if order.type not in ORDERED:
        raise ConfigError(
            f"Table {table}: column {order.name}, which dedup.order.by names, is a {order.type}, and dedup.mode=cdc "
            "orders by whole numbers and times.",
            key="dedup.order.by",
            fix="Name such a field, or set dedup.mode=merge.",
        )


def check_primary_key(table: str, facts: TableFacts, dedup: DedupColumns) -> None:
    """ConfigError where an existing table cannot be written by change data capture."""
    wanted = [placed.column for placed in dedup.keys]
    if {name.lower() for name in facts.primary_key} != {name.lower() for name in wanted}:
        has = f"the primary key {', '.join(facts.primary_key)}" if facts.primary_key else "no primary key"
        raise ConfigError(
            f"Table {table} has {has}, and dedup.mode=cdc needs {', '.join(wanted)}, the dedup.fields.",
            key="dedup.fields",
            fix=f"ALTER TABLE `{table}` ADD PRIMARY KEY ({', '.join(wanted)}) NOT ENFORCED, or set dedup.mode=merge.",
        )
