"""Translates the settings of stream-reactor's Cassandra source into ours. Pure.

A KCQL text there names the tables and topics. Source: the documentation and CassandraConfigSource of
lensesio/stream-reactor 9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.errors import ConfigError

PREFIX: Final = "connect.cassandra."
KCQL: Final = f"{PREFIX}kcql"
# fetch.size is the former name of our batch.max.rows, so it counts only if batch.max.rows is not given.
_NAMES: Final[Mapping[str, str]] = {
    "contact.points": "contact.points", "port": "port", "key.space": "keyspace", "username": "username",
    "password": "password", "consistency.level": "consistency.level", "fetch.size": "fetch.size",
    "connect.timeout.ms": "connect.timeout.ms", "read.timeout.ms": "read.timeout.ms",
    "import.poll.interval": "poll.interval.ms", "slice.delay.ms": "settle.time.ms", "initial.offset": "initial.offset",
}  # fmt: skip
_DEFAULTS: Final[Mapping[str, str]] = {"poll.interval.ms": "1000", "consistency.level": "LOCAL_ONE"}
"""Holds those defaults of stream-reactor that differ from ours."""
_MODES: Final[Mapping[str, str]] = {
    "": "bulk", "NONE": "bulk", "TIMESTAMP": "timestamp", "TIMEUUID": "timeuuid", "TOKEN": "snapshot",
}  # fmt: skip
_STATEMENT: Final = re.compile(
    r"INSERT\s+INTO\s+(?P<topic>\S+)\s+SELECT\s+(?P<columns>.+?)\s+FROM\s+(?P<table>\S+)"
    r"(?:\s+PK\s+(?P<key>[^\s,]+))?(?:\s+INCREMENTALMODE\s*=\s*(?P<mode>\w+))?"
    r"(?:\s+WITHKEY\s*\([^)]*\))?",
    re.IGNORECASE | re.DOTALL,
)
_FORM: Final = "INSERT INTO topic SELECT columns FROM table [PK column] [INCREMENTALMODE=mode] [WITHKEY(columns)]"


@dataclass(frozen=True, slots=True)
class Route:
    """Holds a KCQL statement that was parsed.

    `columns` is empty if all columns are selected. `mode` is the mode in our words. `column` is the column by which new
    rows are found, or empty.
    """

    table: str
    topic: str
    columns: tuple[str, ...]
    mode: str
    column: str


def translated(given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the settings with stream-reactor's translated into ours; a setting that is given by our name wins.

    ConfigError: the KCQL cannot be parsed, or asks for something that is not supported here.
    """
    if not any(name.startswith(PREFIX) for name in given):
        return dict(given)
    made: dict[str, str | None] = dict(_DEFAULTS)
    for name, value in given.items():
        ours = _NAMES.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
        if ours is not None:
            made[ours] = value
    kcql = given.get(KCQL)
    if kcql:
        made |= _settings(parse(kcql))
    return {**made, **given}


def parse(kcql: str) -> list[Route]:
    """Return the statements of a KCQL text, which semicolons separate. ConfigError: one of them is not supported."""
    routes = []
    for text in filter(None, (part.strip() for part in kcql.split(";"))):
        found = _STATEMENT.fullmatch(text)
        if found is None:
            raise ConfigError(
                f"KCQL {text!r} is not of the form {_FORM}.",
                key=KCQL,
            )
        word = (found["mode"] or "").upper()
        if word not in _MODES:
            raise ConfigError(
                f"KCQL {text!r} has INCREMENTALMODE={word}; read here are NONE, TIMESTAMP, TIMEUUID and TOKEN.",
                key=KCQL,
                fix="Any table can be read by its own timestamp column, or whole: mode=timestamp, timeuuid or bulk.",
            )
        names = () if found["columns"].strip() == "*" else tuple(map(_name, found["columns"].split(",")))
        key = _name(found["key"] or "")
        if _MODES[word] in {"timestamp", "timeuuid"} and not key:
            raise ConfigError(f"KCQL {text!r} names no column: write PK and the {word.lower()} column.", key=KCQL)
        routes.append(Route(_name(found["table"]), _name(found["topic"]), names, _MODES[word], key))
    if not routes:
        raise ConfigError("There is no KCQL statement.", key=KCQL)
    return routes


def _settings(routes: Sequence[Route]) -> dict[str, str | None]:
    modes = sorted({route.mode for route in routes})
    if len(modes) > 1:
        raise ConfigError(
            f"The KCQL statements ask for several modes, {', '.join(modes)}; a connector here has one.",
            key=KCQL,
            fix="Make a connector for each.",
        )
    settings: dict[str, str | None] = {
        "mode": modes[0],
        "tables": ",".join(route.table for route in routes),
        "table.topics": ",".join(f"{route.table}:{route.topic}" for route in routes),
        "table.columns": ",".join(f"{r.table}:{'|'.join(r.columns)}" for r in routes if r.columns),
    }
    if modes[0] in {"timestamp", "timeuuid"}:
        settings["incremental.columns"] = ",".join(f"{route.table}:{route.column}" for route in routes)
    return settings


def _name(text: str) -> str:
    return text.strip().strip('`"')
