"""Checks the rules between the settings of Debezium's PostgreSQL connector, and yields notes for a person. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connectors.jdbc.debezium.shared.rules import exclusive_problems, list_problems, name_problems
from connectors.jdbc.debezium.unused_keys import ANSWERS

if TYPE_CHECKING:
    from connectors.jdbc.debezium.config import DebeziumPostgresConfig

_HOSTS = re.compile(r"[\w.:-]+(?: *, *[\w.:-]+)*")


def problems(config: DebeziumPostgresConfig) -> Iterator[ConfigProblem]:
    """Yield every broken rule, each on the key to change."""
    yield from name_problems(config)
    if _HOSTS.fullmatch(config.hostname) is None:
        yield ConfigProblem("database.hostname", "database.hostname must be the name or address of a server.")
    if re.fullmatch(r"[a-z0-9_]{1,63}", config.slot_name) is None:
        yield ConfigProblem("slot.name", "slot.name must be 1 to 63 characters of a-z, 0-9 and '_'.")
    if config.publication_autocreate == "no_tables":
        yield ConfigProblem(
            "publication.autocreate.mode",
            "publication.autocreate.mode=no_tables is not known here: make the publication, and use disabled.",
        )
    yield from list_problems(config.originals, "schema")
    yield from exclusive_problems(config.originals, "message.prefix.include.list", "message.prefix.exclude.list")
    yield from ANSWERS.problems(config.originals)


def notes(config: DebeziumPostgresConfig) -> Iterator[ConfigProblem]:
    """Yield what a person should know of settings that work."""
    if config.plugin != "pgoutput" and "plugin.name" in config.originals:
        yield ConfigProblem("plugin.name", f"pgoutput reads the log, not {config.plugin}: the records are the same.")
