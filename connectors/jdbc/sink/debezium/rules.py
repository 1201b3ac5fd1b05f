"""Checks the rules between the settings of Debezium's JDBC sink, and yields notes for a person. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connectors.jdbc.dialects.known import dialect_of, dialects, family
from connectors.jdbc.settings.connection_rules import address_problems, connection_notes
from connectors.jdbc.sink.debezium.unused_keys import HIBERNATE, WITHOUT_EFFECT

if TYPE_CHECKING:
    from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig


def problems(config: DebeziumSinkConfig) -> Iterator[ConfigProblem]:
    """Yield every broken rule, each on the key to change."""
    found = list(address_problems(config))
    yield from found
    if not found and dialect_of(config.connection_url).sink is None:
        written, named = [dialect.name for dialect in dialects() if dialect.sink], family(config.connection_url)
        yield ConfigProblem(
            "connection.url", f"connection.url: the sink writes to {', '.join(written)}, and not to {named}."
        )
    if config.delete_enabled and config.key_mode != "record_key":
        yield ConfigProblem(
            "delete.enabled", "When 'delete.enabled' is set to 'true', the 'primary.key.mode' option must be set to "
            "'record_key'.",
        )  # fmt: skip
    if config.insert_mode == "upsert" and config.key_mode == "none":
        yield ConfigProblem(
            "insert.mode", f"insert.mode={config.insert_mode} finds rows by their key: set primary.key.mode to "
            "record_key, record_value, record_header or kafka.",
        )  # fmt: skip
    if config.field_include and config.field_exclude:
        yield ConfigProblem("field.exclude.list", "field.include.list and field.exclude.list exclude each other.")


def notes(config: DebeziumSinkConfig) -> Iterator[ConfigProblem]:
    """Yield what a person should know of settings that work."""
    yield from connection_notes(config)
    if config.changes_all:
        yield ConfigProblem(
            "primary.key.mode", "insert.mode=update without a key changes each row of the table by every record, as in "
            "Debezium. Set primary.key.mode=record_key to change the row of the record's key alone.",
        )  # fmt: skip
    if config.insert_mode == "insert":
        yield ConfigProblem(
            "insert.mode",
            "After a crash some records are written again: rows of a table without a unique key are then there twice. "
            "insert.mode=upsert with primary.key.mode keeps one row of each key.",
        )
    for name in sorted(config.originals):
        if name in WITHOUT_EFFECT:
            yield ConfigProblem(name, f"{name} changes nothing here: {WITHOUT_EFFECT[name]}.")
        elif name.startswith(HIBERNATE):
            yield ConfigProblem(name, f"{name} changes nothing here: it is a setting of Hibernate, which does not run.")
