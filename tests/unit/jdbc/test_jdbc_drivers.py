"""Which drivers and parameters of theirs a connector may name: none that loads code or reads files of the worker."""

from __future__ import annotations

import pytest

from connectors.jdbc.config import JdbcSourceConfig

BASE = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": "t"}


def said(url: str, drivers: str = "", **more: str) -> str:
    given = {**BASE, "connection.url": url, **more}
    worker = {"jdbc.sqlalchemy.drivers": drivers} if drivers else {}
    values = JdbcSourceConfig.validate_keys(JdbcSourceConfig.with_leave(given, worker))
    assert {value.name for value in values if value.errors} <= {"connection.url"}
    return " ".join(error for value in values for error in value.errors)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:sqlite:/data/shop.db", "sqlite:////data/shop.db", "jdbc:postgresql://db/shop", "postgresql://db/shop",
        "postgresql+psycopg://db/shop", "mysql+pymysql://db/shop", "jdbc:mysql://db/shop", "jdbc:mariadb://db/shop",
        "jdbc:postgresql://db/shop?sslkey=/etc/key.pem",
    ],
)  # fmt: skip
def test_databases_of_java_configurations_need_no_leave(url: str) -> None:
    assert said(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "duckdb:////data/shop.duckdb?allow_unsigned_extensions=true",
        "mssql+pyodbc:///?odbc_connect=DRIVER=/tmp/evil.so",
        "mysql+mysqldb://db/shop?plugin_dir=/tmp&default_auth=evil",
        "mysql://db/shop?plugin_dir=/tmp",
        "oracle+oracledb://db/shop",
    ],
)
def test_other_drivers_are_the_workers_to_allow(url: str) -> None:
    driver = url.partition("://")[0]
    refused = said(url)
    assert driver in refused
    assert "jdbc.sqlalchemy.drivers" in refused
    assert "/tmp" not in refused
    assert said(url, f"sqlite, {driver}") == ""
    assert said(url, **{"jdbc.sqlalchemy.drivers": driver}) == refused


@pytest.mark.parametrize("parameter", ["plugin", "local_infile", "read_default_file"])
def test_parameters_that_load_or_read_are_refused(parameter: str) -> None:
    assert parameter in said(f"mysql+pymysql://db/shop?{parameter}=x")
    assert parameter in said("mysql+pymysql://db/shop", **{f"connection.{parameter}": "x"})
    assert said(f"mysql+pymysql://db/shop?{parameter}=x", "mysql+pymysql") == ""


def test_a_key_of_postgresql_is_a_file_and_no_library() -> None:
    for url in ("jdbc:postgresql://db/shop?sslkey=engine:/tmp/e", "postgresql+psycopg://db/shop?sslkey=engine:/tmp/e"):
        assert "sslkey" in said(url)
    assert "sslkey" in said("jdbc:postgresql://db/shop", **{"connection.sslkey": "engine:/tmp/e"})
