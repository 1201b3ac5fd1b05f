"""Translates Debezium's settings of MySQL and MariaDB to those of the reader of mode=log. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connect.lib.javatext.regex import compile_pattern
from connectors.jdbc.debezium.binlog.config import DebeziumBinlogConfig
from connectors.jdbc.debezium.shared.translation import (
    by_own_keys,
    excluded_tables,
    included_tables,
    shared_settings,
    snapshot_mode,
)
from connectors.jdbc.settings.config import JdbcTaskConfig

_BUILT_IN: Final = r"(?i:mysql|information_schema|performance_schema|sys)\..*"


def reader_config(config: DebeziumBinlogConfig, tables: str = "") -> JdbcTaskConfig:
    """Return the reader's settings. ConfigError tells its problems by Debezium's keys."""
    host = f"[{config.hostname}]" if ":" in config.hostname else config.hostname
    given = {
        **shared_settings(config, tables),
        # Some statements need a current database. It is one that every user can see; tables of all databases can be
        # read from there.
        "connection.url": f"jdbc:{config.connector}://{host}:{config.port}/information_schema", "catalog.pattern": "%",
        **{f"connection.{name}": value for name, value in _encryption(config).items() if value},
        "table.include.list": ",".join(included_tables(config, config.database_include or config.database_whitelist)),
        "table.exclude.list": ",".join(
            [*excluded_tables(config, config.database_exclude or config.database_blacklist), _BUILT_IN]
        ),
        "snapshot.mode": snapshot_mode(config, config.snapshot_mode),
        # In this form the reader's values have lost nothing when they are converted to Debezium's form.
        "zero.date.handling": "null", "bigint.unsigned.handling.mode": "precise",
        "time.precision.mode": "microseconds",
    }  # fmt: skip
    with by_own_keys():
        return JdbcTaskConfig.parse(given)


def chosen_databases(config: DebeziumBinlogConfig) -> Callable[[str], bool]:
    """Return a function that tells by a database's name if its tables are read."""
    wanted, unwanted = (
        [compile_pattern(f"(?i){pattern}") for pattern in patterns]
        for patterns in (
            config.database_include or config.database_whitelist, config.database_exclude or config.database_blacklist,
        )
    )  # fmt: skip

    def is_chosen(name: str) -> bool:
        is_wanted = not wanted or any(pattern.fullmatch(name) for pattern in wanted)
        return is_wanted and not any(pattern.fullmatch(name) for pattern in unwanted)

    return is_chosen


def _encryption(config: DebeziumBinlogConfig) -> dict[str, str]:
    return {
        "allowPublicKeyRetrieval": "true" if config.any_public_key else "",
        "sslMode": config.ssl, "serverSslCert": config.truststore, "keyStore": config.keystore,
        "ssl_key": config.keystore, "ssl_key_password": config.keystore_password.get_secret_value(),
    }  # fmt: skip
