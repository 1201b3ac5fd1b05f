"""Translates Debezium's settings to those of the reader of mode=log, and the reader's problems as Debezium's. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.settings.config import JdbcTaskConfig

_SNAPSHOT_MODES: Final = {"never": "no_data", "schema_only": "no_data", "exported": "initial"}
_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "connection.url": "database.hostname", "connection.user": "database.user", "mode": "database.hostname",
        "connection.password": "database.password", "table.whitelist": "table.include.list",
        "table.exclude.list": "table.exclude.list",
    }
)  # fmt: skip
_EVERY_TABLE: Final = "(?s:.*)"


def reader_config(config: DebeziumPostgresConfig, tables: str = "") -> JdbcTaskConfig:
    """Return the reader's settings. ConfigError tells its problems by Debezium's keys."""
    given = {
        "connection.url": f"jdbc:postgresql://{_servers(config)}/{quote(config.dbname, safe='')}",
        "connection.user": config.user, "connection.password": config.password.get_secret_value(),
        **{f"connection.{name}": value for name, value in _encryption(config).items() if value},
        "mode": "log", "topic.prefix": config.prefix,
        "table.include.list": ",".join(_included(config)), "table.exclude.list": ",".join(_excluded(config)),
        "slot.name": config.slot_name, "slot.failover": str(config.slot_failover).lower(),
        "slot.drop.on.stop": str(config.slot_drop_on_stop).lower(), "publication.name": config.publication_name,
        "publication.autocreate.mode": config.publication_autocreate,
        "snapshot.mode": _SNAPSHOT_MODES.get(config.snapshot_mode, config.snapshot_mode),
        "heartbeat.interval.ms": str(config.heartbeat_interval_ms),
        "topic.heartbeat.prefix": config.heartbeat_topics_prefix or config.heartbeat_topic_prefix,
        "tombstones.on.delete": str(config.tombstones_on_delete).lower(),
        "skipped.operations": ",".join(config.skipped_operations),
        "unavailable.value.placeholder": config.toasted_placeholder or config.placeholder,
        "max.batch.size": str(config.max_batch_size),
        "status.update.interval.ms": str(config.status_update_interval_ms),
        "tables": tables, ALLOWED_PATHS: ",".join(config.allowed.paths),
    }  # fmt: skip
    with by_own_keys():
        return JdbcTaskConfig.parse(given)


def columns_left_out(config: DebeziumPostgresConfig) -> Callable[[str], bool]:
    """Return what tells by a column's full name that no record holds it."""
    wanted, unwanted = (
        [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
        for patterns in (
            config.column_include or config.column_whitelist, config.column_exclude or config.column_blacklist,
        )
    )  # fmt: skip

    def left_out(name: str) -> bool:
        is_wanted = not wanted or any(pattern.fullmatch(name) for pattern in wanted)
        return not is_wanted or any(pattern.fullmatch(name) for pattern in unwanted)

    return left_out


@contextmanager
def by_own_keys() -> Iterator[None]:
    """Tell by Debezium's keys what the reader refuses."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(_own(problem) for problem in error.problems) from error
    except ConnectError as error:
        if error.key is not None and error.key in _KEYS:
            error.key = _KEYS[error.key]
        raise


def _own(problem: ConfigProblem) -> ConfigProblem:
    text = problem.message
    for name, own in _KEYS.items():
        if "." in name:
            text = text.replace(name, own)
    return ConfigProblem(_KEYS.get(problem.key, problem.key), text.replace("mode=log", "this connector"))


def _servers(config: DebeziumPostgresConfig) -> str:
    hosts = [host.strip() for host in config.hostname.split(",")]
    return ",".join(f"[{host}]:{config.port}" if ":" in host else f"{host}:{config.port}" for host in hosts)


def _encryption(config: DebeziumPostgresConfig) -> dict[str, str]:
    return {
        "sslmode": config.sslmode.lower(), "sslrootcert": config.sslrootcert, "sslcert": config.sslcert,
        "sslkey": config.sslkey, "sslpassword": config.sslpassword.get_secret_value(),
    }  # fmt: skip


def _included(config: DebeziumPostgresConfig) -> Sequence[str]:
    """Return patterns of whole names. A table must be in a chosen schema, too; Debezium's patterns are of any case."""
    schemas = config.schema_include or config.schema_whitelist
    tables = config.table_include or config.table_whitelist
    of_schema = rf"(?=(?i:{'|'.join(schemas)})\.[^.]*$)" if schemas else ""
    return [f"{of_schema}(?i:{pattern})" for pattern in tables or (_EVERY_TABLE,)]


def _excluded(config: DebeziumPostgresConfig) -> Sequence[str]:
    tables = config.table_exclude or config.table_blacklist
    schemas = config.schema_exclude or config.schema_blacklist
    return [*(f"(?i:{pattern})" for pattern in tables), *(rf"(?i:{pattern})\.[^.]*" for pattern in schemas)]
