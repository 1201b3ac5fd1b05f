"""Translates Debezium's settings of PostgreSQL to those of the reader of mode=log. Pure."""

from __future__ import annotations

from urllib.parse import quote

from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.debezium.shared.translation import (
    by_own_keys,
    excluded_tables,
    included_tables,
    shared_settings,
    snapshot_mode,
)
from connectors.jdbc.settings.config import JdbcTaskConfig


def reader_config(config: DebeziumPostgresConfig, tables: str = "") -> JdbcTaskConfig:
    """Return the reader's settings. ConfigError tells its problems by Debezium's keys."""
    given = {
        **shared_settings(config, tables),
        "connection.url": f"jdbc:postgresql://{_servers(config)}/{quote(config.dbname, safe='')}",
        **{f"connection.{name}": value for name, value in _encryption(config).items() if value},
        "table.include.list": ",".join(included_tables(config, config.schema_include or config.schema_whitelist)),
        "table.exclude.list": ",".join(excluded_tables(config, config.schema_exclude or config.schema_blacklist)),
        "slot.name": config.slot_name, "slot.failover": str(config.slot_failover).lower(),
        "slot.drop.on.stop": str(config.slot_drop_on_stop).lower(), "publication.name": config.publication_name,
        "publication.autocreate.mode": config.publication_autocreate,
        "snapshot.mode": snapshot_mode(config, config.snapshot_mode),
        "unavailable.value.placeholder": config.toasted_placeholder or config.placeholder,
        "status.update.interval.ms": str(config.status_update_interval_ms),
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
