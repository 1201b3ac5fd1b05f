"""Translates Debezium's settings of PostgreSQL to those of the reader of mode=log. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from connect.api.allowed_paths import ALLOWED_PATHS
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.debezium.shared.translation import by_own_keys, excluded_tables, included_tables
from connectors.jdbc.settings.config import JdbcTaskConfig

_SNAPSHOT_MODES: Final = {"never": "no_data", "schema_only": "no_data", "exported": "initial"}


def reader_config(config: DebeziumPostgresConfig, tables: str = "") -> JdbcTaskConfig:
    """Return the reader's settings. ConfigError tells its problems by Debezium's keys."""
    given = {
        "connection.url": f"jdbc:postgresql://{_servers(config)}/{quote(config.dbname, safe='')}",
        "connection.user": config.user, "connection.password": config.password.get_secret_value(),
        **{f"connection.{name}": value for name, value in _encryption(config).items() if value},
        "mode": "log", "topic.prefix": config.prefix,
        "table.include.list": ",".join(included_tables(config, config.schema_include or config.schema_whitelist)),
        "table.exclude.list": ",".join(excluded_tables(config, config.schema_exclude or config.schema_blacklist)),
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


def _servers(config: DebeziumPostgresConfig) -> str:
    hosts = [host.strip() for host in config.hostname.split(",")]
    return ",".join(f"[{host}]:{config.port}" if ":" in host else f"{host}:{config.port}" for host in hosts)


def _encryption(config: DebeziumPostgresConfig) -> dict[str, str]:
    return {
        "sslmode": config.sslmode.lower(), "sslrootcert": config.sslrootcert, "sslcert": config.sslcert,
        "sslkey": config.sslkey, "sslpassword": config.sslpassword.get_secret_value(),
    }  # fmt: skip
