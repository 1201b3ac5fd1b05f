"""Translates the settings of Debezium's JDBC sink to those of the sink's engine, and its errors back. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, TypeVar

from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.errors import ConfigError, ConfigProblem, ConnectError, RejectedRowsError
from connectors.jdbc.settings.drivers import KEY
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.names import named_tables
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

E = TypeVar("E", bound=Exception)
_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "connection.user": "connection.username", "pk.mode": "primary.key.mode", "pk.fields": "primary.key.fields",
        "auto.create": "schema.evolution", "auto.evolve": "schema.evolution", "fields.whitelist": "field.include.list",
        "table.name.format": "collection.name.format", "quote.sql.identifiers": "quote.identifiers",
        "max.retries": "flush.max.retries", "retry.backoff.ms": "flush.retry.delay.ms",
        "db.timezone": "use.time.zone",
    }
)  # fmt: skip
_TEXTS: Final = {**dict.fromkeys(("auto.create=true", "auto.evolve=true"), "schema.evolution=basic"), **_KEYS}
_NAMES: Final = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, _TEXTS))})(?![\w.]*\w)")


def engine_config(config: DebeziumSinkConfig) -> JdbcSinkConfig:
    """Return the engine's settings. Its topics are names of tables, and keys of rows are keys of its records.

    ConfigError tells its problems by Debezium's keys.
    """
    evolves = str(config.schema_evolution == "basic").lower()
    given = {
        "connection.url": str(config.connection_url), "insert.mode": config.insert_mode,
        "pk.mode": "none" if config.key_mode == "none" and not config.changes_all else "record_key",
        "delete.enabled": str(config.delete_enabled).lower(), "auto.create": evolves, "auto.evolve": evolves,
        "quote.sql.identifiers": "ALWAYS" if config.quote_identifiers else "NEVER", "table.types": "TABLE,VIEW",
        "replace.null.with.default": "false", "batch.size": str(config.batch_size),
        "max.retries": str(config.max_retries), "retry.backoff.ms": str(config.retry_delay_ms),
        "date.timezone": "UTC", "topics": ",".join(named_tables(config)),
        ALLOWED_PATHS: ",".join(config.allowed.paths), KEY: ",".join(config.sqlalchemy_drivers),
    }  # fmt: skip
    if config.username:
        given["connection.user"] = config.username
    if password := config.password.get_secret_value():
        given["connection.password"] = password
    with by_own_keys():
        return JdbcSinkConfig.parse(given)


@contextmanager
def by_own_keys() -> Iterator[None]:
    """Raise the engine's errors that are found inside the block on Debezium's keys instead of the engine's."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            ConfigProblem(_KEYS.get(problem.key, problem.key), _own_text(problem.message)) for problem in error.problems
        ) from error
    except RejectedRowsError as error:
        raise RejectedRowsError({row: own_error(why) for row, why in error.rows.items()}) from error
    except ConnectError as error:
        raise own_error(error) from error.__cause__


def own_error(error: E) -> E:
    """Return an error of the engine with Debezium's keys in its texts."""
    if isinstance(error, ConnectError):
        error.key = _KEYS.get(error.key, error.key) if error.key else None
        error.message, error.fix = _own_text(error.message), error.fix and _own_text(error.fix)
        error.args = tuple(_own_text(text) if isinstance(text, str) else text for text in error.args)
    return error


def _own_text(text: str) -> str:
    return _NAMES.sub(lambda found: _TEXTS[found[0]], text)
