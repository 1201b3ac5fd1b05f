"""What must hold between the settings of Debezium's connector, and what a person should know of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connectors.jdbc.debezium.unused_keys import HARMLESS, REFUSED, REFUSED_PREFIXES, WITHOUT_EFFECT

if TYPE_CHECKING:
    from connectors.jdbc.debezium.config import DebeziumPostgresConfig

_PATTERNS = (
    "table.include.list", "table.exclude.list", "schema.include.list", "schema.exclude.list", "column.exclude.list",
    "column.include.list", "column.whitelist",
    "table.whitelist", "table.blacklist", "schema.whitelist", "schema.blacklist", "column.blacklist",
)  # fmt: skip
_EITHER = (
    ("table.include.list", "table.exclude.list"), ("schema.include.list", "schema.exclude.list"),
    ("column.include.list", "column.exclude.list"),
    ("table.whitelist", "table.blacklist"), ("schema.whitelist", "schema.blacklist"),
)  # fmt: skip
_HOSTS = re.compile(r"[\w.:-]+(?: *, *[\w.:-]+)*")
_NOT_IN_AVRO = re.compile(r"[^a-zA-Z0-9_.]")


def problems(config: DebeziumPostgresConfig) -> Iterator[ConfigProblem]:
    """Yield every broken rule, each on the key to change."""
    if not config.prefix:
        yield ConfigProblem("topic.prefix", "topic.prefix names topics, schemas and offsets: give it.")
    elif re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", config.prefix) is None:
        yield ConfigProblem("topic.prefix", "topic.prefix must be letters, digits, '.', '_' and '-'.")
    elif config.schema_name_adjustment != "none" and _NOT_IN_AVRO.search(config.prefix):
        yield ConfigProblem(
            "topic.prefix",
            "Avro's names have no '-', and schema.name.adjustment.mode does not change names here: use a topic.prefix "
            "without it, or schema.name.adjustment.mode=none.",
        )
    if _HOSTS.fullmatch(config.hostname) is None:
        yield ConfigProblem("database.hostname", "database.hostname must be the name or address of a server.")
    if re.fullmatch(r"[a-z0-9_]{1,63}", config.slot_name) is None:
        yield ConfigProblem("slot.name", "slot.name must be 1 to 63 characters of a-z, 0-9 and '_'.")
    if config.snapshot_mode == "always":
        yield ConfigProblem(
            "snapshot.mode", "snapshot.mode=always is not known here: use initial, and reset the offsets to read anew."
        )
    if config.publication_autocreate == "no_tables":
        yield ConfigProblem(
            "publication.autocreate.mode",
            "publication.autocreate.mode=no_tables is not known here: make the publication, and use disabled.",
        )
    for name in ("snapshot.delay.ms", "streaming.delay.ms"):
        if config.originals.get(name, "0").strip() != "0":
            yield ConfigProblem(name, f"{name} is not known here: create the connector later.")
    yield from _lists(config)
    yield from _refused(config)


def notes(config: DebeziumPostgresConfig) -> Iterator[ConfigProblem]:
    """Yield the keys that are taken and change nothing, each with why."""
    for name in config.originals:
        why = WITHOUT_EFFECT.get(name.lower())
        if why is not None:
            yield ConfigProblem(name, f"{name} changes nothing here: {why}.")
    if config.plugin != "pgoutput" and "plugin.name" in config.originals:
        yield ConfigProblem("plugin.name", f"pgoutput reads the log, not {config.plugin}: the records are the same.")


def _lists(config: DebeziumPostgresConfig) -> Iterator[ConfigProblem]:
    given = config.originals
    for one, other in _EITHER:
        if given.get(one) and given.get(other):
            for name in (one, other):
                yield ConfigProblem(name, f"{one} and {other} are exclusive: give one of them.")
    for name in _PATTERNS:
        for pattern in given.get(name, "").split(","):
            try:
                re.compile(pattern.strip())
            except (re.error, OverflowError, RecursionError) as error:
                yield ConfigProblem(
                    name, f"Invalid value {pattern} for configuration {name}: not a regular expression: {error}"
                )


def _refused(config: DebeziumPostgresConfig) -> Iterator[ConfigProblem]:
    for name, value in config.originals.items():
        found = REFUSED.get(name) or next((w for p, w in REFUSED_PREFIXES.items() if name.startswith(p)), None)
        if found is not None and value.strip() and value.strip() not in HARMLESS.get(name, ()):
            yield ConfigProblem(name, f"{name} is not known here: {found}.")
