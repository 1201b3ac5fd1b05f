"""Checks which drivers and parameters of theirs a connector may name: none that loads code or reads files of the
worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connectors.jdbc.connection.engine import engine_of, url_of
from connectors.jdbc.dialects.known import dialect_of, dialects, family
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.drivers import parameters_of
from connectors.jdbc.settings.url import OTHER_SERVERS, parse

BASE = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": "t"}
OF_LIBPQ = sorted({
    name for dialect in dialects() for name, known in dialect.url.drivers.items() if "sslkey" in known.names
})  # fmt: skip
"""The drivers to which a URL may give parameters of PostgreSQL's library."""


def said(
    url: str, drivers: str = "", paths: str = "/", worker: Mapping[str, str] = MappingProxyType({}), **more: str
) -> str:
    leave = {"jdbc.sqlalchemy.drivers": drivers, "allowed.paths": paths, **worker}
    properties = JdbcSourceConfig.with_leave({**BASE, "connection.url": url, **more}, leave)
    values = JdbcSourceConfig.validate_keys(properties)
    assert {value.name for value in values if value.errors} <= {"connection.url", *more}
    return " ".join(error for value in values for error in value.errors)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:sqlite:/data/shop.db", "sqlite:////data/shop.db", "jdbc:postgresql://db/shop", "postgresql://db/shop",
        "postgresql+psycopg://db/shop", "mysql+pymysql://db/shop", "jdbc:mysql://db/shop", "jdbc:mariadb://db/shop",
        "jdbc:postgresql://db/shop?sslkey=/etc/key.pem", "sqlite://",
        "postgresql+psycopg://u:p%3F%40x@db/shop?sslmode=verify-full&sslrootcert=system&options=-csearch_path%3Da",
        "postgresql+psycopg:///shop?host=a:1&host=b:2&target_session_attrs=primary",
        "mysql+pymysql://u:p@db/shop?charset=utf8mb4&ssl_ca=/ca.pem&ssl_mode=verify_ca&init_command=SET%20x%3D1",
        "sqlite:///file:/data/shop.db?mode=ro&uri=true", "sqlite:///:memory:", "jdbc:sqlite:file:///data/shop.db",
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
        "MySQL+PyMySQL://db/shop",
        "oracle+cx_oracle://db/shop",
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


@pytest.mark.parametrize("bounds", [{"allowed.hosts": "db"}, {"allowed.hosts": "*.x,db", "security.profile": "strict"}])
def test_where_hosts_are_bounded_an_allowed_driver_takes_no_parameter_that_may_name_one(bounds: dict[str, str]) -> None:
    for url in ("odd+driver://db/shop?failover=evil", "mysql+pymysql://db/shop?gateway=evil"):
        driver = url.partition("://")[0]
        parameter = url.rpartition("?")[2].partition("=")[0]
        refused = said(url, driver, worker=bounds)
        assert f"the parameter {parameter} of {driver} may name a host" in refused
        assert "evil" not in refused
        assert parameter in said(url.partition("?")[0], driver, worker=bounds, **{f"connection.{parameter}": "evil"})
        assert said(url.partition("?")[0], driver, worker=bounds) == ""
        assert said(url, driver, worker=bounds | {"allowed.hosts": "*"}) == ""
        assert said(url, driver) == ""
    assert said("mysql+pymysql://db/shop?charset=utf8mb4", "mysql+pymysql", worker=bounds) == ""


@pytest.mark.parametrize(
    "parameter", ["plugin", "local_infile", "read_default_file", "client_flag", "auth_plugin_map", "ssl_capath"]
)
def test_parameters_that_load_or_read_are_refused(parameter: str) -> None:
    assert parameter in said(f"mysql+pymysql://db/shop?{parameter}=x")
    assert parameter in said("mysql+pymysql://db/shop", **{f"connection.{parameter}": "x"})
    assert said(f"mysql+pymysql://db/shop?{parameter}=x", "mysql+pymysql") == ""


@pytest.mark.parametrize(
    ("url", "parameter"),
    [
        ("mysql+pymysql://u:a?@evil/db?local_infile=1", "local_infile"),
        ("mysql+pymysql://u:a?charset=x@evil/db?read_default_file=/etc/my.cnf", "read_default_file"),
        ("mysql+pymysql://evil/db?%6cocal_infile=1", "local_infile"),
        ("mysql+pymysql://evil/db#?local_infile=1", "local_infile"),
        ("mysql+pymysql://evil/db?charset=utf8&local_infile=1", "local_infile"),
        ("postgresql+psycopg://u:a?@evil/db?sslkey=/tmp/evil.so:k", "sslkey"),
        ("postgresql+psycopg://evil/db?sslkey=a&sslkey=/tmp/evil.so:k", "sslkey"),
        ("postgresql+psycopg://evil/db?service=x", "service"),
        ("postgresql+psycopg://evil/db?sslkeylogfile=/tmp/x", "sslkeylogfile"),
        ("postgresql+psycopg://evil/db?passfile=/tmp/x", "passfile"),
        ("sqlite:////data/a.db?vfs=unix-none", "vfs"),
        ("sqlite:///file:/data/a.db%3Fvfs=unix-none?uri=true", "file:"),
        ("sqlite:///file://evil/data/a.db?uri=true", "file:"),
        ("sqlite://u:p@evil/data/a.db", "sqlite:////folder/file.db"),
    ],
)
def test_a_url_is_judged_as_it_is_connected_by(url: str, parameter: str) -> None:
    assert parameter in said(url)


def test_a_key_of_postgresql_is_a_file_and_no_library() -> None:
    for url in ("jdbc:postgresql://db/shop?sslkey=engine:/tmp/e", "postgresql+psycopg://db/shop?sslkey=engine:/tmp/e"):
        assert "sslkey names a library" in said(url)
        assert "sslkey names a library" in said(url, "postgresql+psycopg")
    assert "sslkey" in said("jdbc:postgresql://db/shop", **{"connection.sslkey": "engine:/tmp/e"})


def test_libpq_loads_no_library_and_reaches_no_socket_whatever_database_its_driver_is_for() -> None:
    assert OF_LIBPQ == ["cockroachdb+psycopg", "postgresql", "postgresql+psycopg"]
    for driver in OF_LIBPQ:
        assert "sslkey names a library" in said(f"{driver}://db/shop?sslkey=/data/evil.so:k", paths="/data")
        for rest in (
            "/shop?host=/run/pg", "/shop?host=@pg", "/shop", "db,/shop", "/shop?host=db,",
            "/shop?hostaddr=10.0.0.1,&host=db,",
        ):  # fmt: skip
            url = f"{driver}://{rest}"
            assert "this worker lets no configuration name that file" in said(url, paths="/data")
        assert "connect_timeout must be a whole number" in said(f"{driver}://db/shop?connect_timeout=x")
        assert said(f"{driver}://db/shop?sslkey=/data/k.pem", paths="/data") == ""


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:sqlite:/etc/passwd", "sqlite:////data/../etc/passwd", "sqlite:///file:/etc/passwd?uri=true",
        "sqlite:///file:///etc/passwd", "sqlite:///file://localhost/etc/passwd?uri=true", "duckdb:////etc/passwd",
        "jdbc:sqlite:file:/etc/passwd", "sqlite+pysqlite:////etc/passwd", "sqlite:////%65tc/passwd",
        "jdbc:postgresql://db/shop?sslcert=/etc/passwd", "postgresql+psycopg://db/shop?sslrootcert=/etc/passwd",
        "jdbc:mysql://db/shop?serverSslCert=/etc/passwd", "mysql+pymysql://db/shop?ssl_key=/etc/passwd",
        "postgresql+psycopg://db/shop?sslcrldir=/etc", "jdbc:mariadb://db/shop?keyStore=/etc/passwd",
    ],
)  # fmt: skip
def test_files_are_those_that_the_worker_lists(url: str) -> None:
    assert "add to the worker's own file: allowed.paths=…," in said(url, "duckdb", paths="/data")
    assert said(url, "duckdb", paths="/etc") == ""


def test_a_file_that_a_driver_property_names_is_told_by_its_key() -> None:
    given = {**BASE, "connection.url": "jdbc:postgresql://db/shop", "connection.sslkey": "/etc/key.pem"}
    with pytest.raises(ConfigError) as refused:
        JdbcSourceConfig.parse(given)
    assert [problem.key for problem in refused.value.problems] == ["connection.sslkey"]


def test_a_link_that_leads_elsewhere_later_is_not_followed(tmp_path) -> None:
    inside, outside = tmp_path / "allowed", tmp_path / "secret.db"
    inside.mkdir()
    (inside / "a.db").touch()
    outside.touch()
    config = JdbcSourceConfig.parse(
        {**BASE, "connection.url": f"jdbc:sqlite:{inside}/a.db", "allowed.paths": str(inside)}
    )
    assert url_of(config).database == f"file:{inside}/a.db"
    (inside / "a.db").unlink()
    (inside / "a.db").symlink_to(outside)
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        url_of(config)


def test_every_parameter_that_a_jdbc_url_is_translated_to_is_known() -> None:
    forms = [dialect.url for dialect in dialects() if dialect.url.driver]
    assert {form.driver for form in forms} == {
        "postgresql+psycopg", "mysql+pymysql", "mariadb+pymysql", "sqlite", "oracle+oracledb", "mssql+pymssql",
        "db2+ibm_db", "firebird+firebird", "duckdb", "redshift+redshift_connector", "snowflake", "hana+hdbcli",
        "clickhousedb+connect",
    }  # fmt: skip
    for form in forms:
        assert {target for target, _ in form.renamed.values()} - form.drivers[form.driver].names == set()


PIECES = st.sampled_from([
    "u", ":", "a?", "@", "evil", "/", "db", "?", "&", ";", "#", "=", ",", "[", "%3F", "%26", "%23", "%40", " ", "\t",
    "local_infile=1", "%6cocal_infile=1", "read_default_file=/etc/passwd", "plugin=x", "sslkey=engine:x", "service=a",
    "servicefile=/x", "host=a", "ssl_ca=/x", "charset=utf8", "sslmode=require", "file:", "uri=true", "vfs=x", "mode=ro",
    "client_flag=128", "passfile=/x", "other_servers=a 1", "user=x", "connect_timeout=3", "\\", "'", "//", "..",
])  # fmt: skip
PREFIXES = st.sampled_from([
    "sqlite:///", "sqlite+pysqlite://", "postgresql+psycopg://", "postgresql://", "mysql+pymysql://",
    "mariadb+pymysql://", "jdbc:postgresql:", "jdbc:mysql:", "jdbc:mariadb://", "jdbc:sqlite:",
    "cockroachdb+psycopg://",
])  # fmt: skip


@pytest.mark.parametrize(("url", "what"), [
    ("mysql+pymysql://a/d?connect_timeout=3u", "connect_timeout must be a whole number"),
    ("sqlite:////x.db?timeout=x", "timeout must be a number"),
    ("sqlite:////x.db?uri=maybe", "uri must be true or false"),
    ("mysql+pymysql://a/d?other_servers=x", "other_servers lists hosts and ports"),
])  # fmt: skip
def test_a_parameter_of_another_form_is_named(url: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        JdbcSourceConfig.parse({**EVERYWHERE, **BASE, "connection.url": url})


@settings(max_examples=400, deadline=None)
@example("mysql+pymysql://", ["a?", "connect_timeout=3", "u"])
@given(PREFIXES, st.lists(PIECES, max_size=9))
def test_what_is_accepted_connects_by_listed_arguments_alone(prefix: str, pieces: list[str]) -> None:
    url = prefix + "".join(pieces)
    try:
        config = JdbcSourceConfig.parse({**EVERYWHERE, **BASE, "connection.url": url})
    except ConfigError:
        return
    made = url_of(config)
    known = parameters_of(made.drivername)
    assert known is not None
    try:
        positional, arguments = made.get_dialect()().create_connect_args(made)
    except ValueError:
        # Nothing connects by a number that is none.
        with pytest.raises(ConfigError, match="has a value that is none"):
            engine_of(dialect_of(url), made, (), {})
        return
    wanted = {"host", "port", "user", "password", "passwd", "db", "dbname", "database", OTHER_SERVERS, "factory"}
    assert set(arguments) - known.names - wanted == set()
    assert ":" not in str(arguments.get("sslkey", ""))
    for name in positional:
        path, _, query = str(name).partition("?")
        assert {key for key, _ in parse_qsl(query, keep_blank_values=True)} <= known.names
        if path not in {":memory:", ""}:
            assert unquote(path.removeprefix("file:")).startswith("/")
    assert family(url) in {"sqlite", "postgresql", "mysql", "mariadb", "cockroachdb"}
    assert parse(url, {}).drivername == made.drivername


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///shop?host=/run/pg", "postgresql+psycopg:///shop?host=db&host=/run/pg", "postgresql:///shop",
        "postgresql:///shop?host=db,/run/pg", "postgresql:///shop?host=@pg", "jdbc:mysql://db/shop?unix_socket=/run/my",
        "mysql+pymysql://db/shop?unix_socket=/run/my", "jdbc:mariadb://db/shop?localSocket=/run/my",
    ],
)  # fmt: skip
def test_a_socket_of_this_machine_is_a_file_of_it(url: str) -> None:
    assert "this worker lets no configuration name that file" in said(url, paths="/elsewhere")
    assert said(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db/shop",
        "postgresql:///shop?hostaddr=10.0.0.1",
        "mysql+pymysql:///s",
        "postgresql:///shop?hostaddr=10.0.0.1,10.0.0.2&host=a,b",
    ],
)
def test_a_server_elsewhere_is_none(url: str) -> None:
    assert said(url, paths="/elsewhere") == ""
