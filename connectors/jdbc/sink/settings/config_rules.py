"""Checks what must hold between settings of the sink, and notes what its user should know. Pure; needs no database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConfigProblem
from connectors.jdbc.dialects.known import dialect_of, dialects, family
from connectors.jdbc.settings.connection_rules import connection_notes, connection_problems, dialect_problems

if TYPE_CHECKING:
    from connectors.jdbc.sink.settings.config import JdbcSinkConfig

WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({
    "date.calendar.system": "Dates are of the proleptic Gregorian calendar; others differ before 1582-10-15 alone.",
    "mssql.use.merge.holdlock": "It is for SQL Server alone.",
    "trim.sensitive.log": "No value of a record is in a log or an error.",
})  # fmt: skip
"""Keys of Java's connectors that are accepted and change nothing, each with the reason."""


def problems(config: JdbcSinkConfig) -> Iterator[ConfigProblem]:
    """Yield every broken rule, each on the key to change."""
    found = list(connection_problems(config))
    yield from found
    if not found and dialect_of(config.connection_url).sink is None:
        written, named = [dialect.name for dialect in dialects() if dialect.sink], family(config.connection_url)
        yield ConfigProblem(
            "connection.url", f"connection.url: the sink writes to {', '.join(written)}, and not to {named}."
        )
    yield from dialect_problems(config.dialect_name, config.connection_url)
    yield from _key_rules(config)
    for pair in config.topic_tables:
        if not all(pair.partition(":")):
            yield ConfigProblem(
                "topics.to.tables.mapping",
                f"Invalid value {pair} for configuration topics.to.tables.mapping: write it as topic:table.",
            )


def _key_rules(config: JdbcSinkConfig) -> Iterator[ConfigProblem]:
    if config.delete_enabled and config.pk_mode != "record_key":
        yield ConfigProblem("pk.mode", "Primary key mode must be 'record_key' when delete support is enabled")
    if config.is_keyed and config.pk_mode == "none":
        yield ConfigProblem(
            "pk.mode", f"insert.mode={config.insert_mode} finds rows by their key: set pk.mode to record_key, "
            "record_value or kafka, and pk.fields.",
        )  # fmt: skip
    if config.pk_mode == "kafka" and len(config.key_columns) != 3:
        yield ConfigProblem(
            "pk.fields",
            f"pk.mode=kafka needs three names in pk.fields, for topic, partition and offset, or none; it has "
            f"{len(config.pk_fields)}.",
        )
    if config.delete_enabled and config.handle_tombstone:
        yield ConfigProblem("handle.tombstone", "handle.tombstone leaves out what delete.enabled deletes by: set one.")


def notes(config: JdbcSinkConfig) -> Iterator[ConfigProblem]:
    """Yield where a restart can write a row twice, keys that change nothing, and where Java takes the URL otherwise."""
    yield from connection_notes(config)
    if not config.is_keyed and not config.exactly_once:
        yield ConfigProblem(
            "insert.mode",
            "After a crash some records are written again: rows of a table without a unique key are then there twice, "
            "those of a table with one are refused. exactly.once=true notes offsets in the database, so that each "
            "record is there once; insert.mode=upsert with pk.mode keeps one row of each key.",
        )
    for name, why in WITHOUT_EFFECT.items():
        if name in config.originals:
            yield ConfigProblem(name, f"{name} changes nothing here. {why}")
