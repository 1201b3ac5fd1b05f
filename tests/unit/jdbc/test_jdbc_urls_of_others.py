"""Checks that JDBC URLs of Oracle, SQL Server and Db2 connect where Java's drivers connect, and nowhere else.

No server of theirs is here: what is seen are the parts that their Python drivers get.
"""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api.errors import ConfigError
from connectors.jdbc.connection.engine import CONNECT_S, engine_of, url_of
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.url import DatabaseUrl, parse, translate

ORACLE, MSSQL, DB2 = "oracle+oracledb", "mssql+pymssql", "db2+ibm_db"
BASE = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": "t"}
DSN = re.compile(
    r"\(DESCRIPTION=\(ADDRESS=\(PROTOCOL=TCPS?\)\(HOST=[\w.:-]+\)\(PORT=\d+\)\)"
    r"\(CONNECT_DATA=\((SERVICE_NAME|SID)=[^;()=\s]*\)\)\)"
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:oracle:thin:@db/shop", DatabaseUrl(ORACLE, "db", 1521, query={"service_name": "shop"})),
        ("jdbc:oracle:thin:@//db:1522/a.b", DatabaseUrl(ORACLE, "db", 1522, query={"service_name": "a.b"})),
        ("jdbc:oracle:thin:@db:1521:XE", DatabaseUrl(ORACLE, "db", 1521, "XE")),
        ("jdbc:oracle:thin:u/p@db:1521/s", DatabaseUrl(ORACLE, "db", 1521, None, "u", "p", {"service_name": "s"})),
        (
            "jdbc:oracle:thin:@tcps://db:2484/s",
            DatabaseUrl(ORACLE, "db", 2484, query={"service_name": "s", "protocol": "tcps"}),
        ),
        (
            "jdbc:oracle:thin:@( DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=4))(CONNECT_DATA=(SERVICE_NAME=s)))",
            DatabaseUrl(ORACLE, "db", 4, query={"service_name": "s", "protocol": "tcp"}),
        ),
        ("jdbc:oracle:thin:@shop?TNS_ADMIN=/etc/o", DatabaseUrl(ORACLE, "shop", query={"config_dir": "/etc/o"})),
        ("jdbc:sqlserver://db", DatabaseUrl(MSSQL, "db", 1433)),
        (
            "jdbc:sqlserver://db:1450;DatabaseName=shop;user=u;password={a;}}b};encrypt=true;trustServerCertificate=true",
            DatabaseUrl(MSSQL, "db", 1450, "shop", "u", "a;}b", {"encryption": "require"}),
        ),
        ("jdbc:sqlserver://;serverName=db;portNumber=7;database=x;", DatabaseUrl(MSSQL, "db", 7, "x")),
        (r"jdbc:sqlserver://db\ONE:1499;userName=u", DatabaseUrl(MSSQL, "db", 1499, None, "u")),
        (
            "jdbc:jtds:sqlserver://db:1433/shop;ssl=request",
            DatabaseUrl(MSSQL, "db", 1433, "shop", query={"encryption": "request"}),
        ),
        (
            "jdbc:sqlserver://db;applicationIntent=ReadOnly;loginTimeout=9",
            DatabaseUrl(MSSQL, "db", 1433, query={"read_only": "true", "login_timeout": "9"}),
        ),
        ("jdbc:db2://db:50001/SHOP", DatabaseUrl(DB2, "db", 50001, "SHOP")),
        (
            "jdbc:db2://db:50002/s:sslConnection=true;currentSchema=A;user=u;",
            DatabaseUrl(DB2, "db", 50002, "s", "u", query={"Security": "SSL", "CurrentSchema": "A"}),
        ),
    ],
)  # fmt: skip
def test_a_jdbc_url_has_the_parts_that_java_reads_in_it(url: str, expected: DatabaseUrl) -> None:
    assert translate(url) == expected


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("jdbc:oracle:thin:@shop", "TNS_ADMIN"),
        ("jdbc:oracle:kprb:@shop", "jdbc:oracle:thin"),
        ("jdbc:oracle:thin:@config-file:///etc/passwd", "unknown form"),
        ("jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=a))(SECURITY=(MY_WALLET_DIRECTORY=/x)))", "my_wallet"),
        ("jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=a)(PORT=1))(ADDRESS=(HOST=b)(PORT=1)))", "one HOST"),
        ("oracle+oracledb://db", "neither a service nor a SID"),
        ("oracle+oracledb://db/?service_name=a)(SECURITY=x", "service_name"),
        ("oracle+oracledb:///s", "server is none"),
        ("oracle+oracledb://db/?service_name=s&events=1", "events"),
        (r"jdbc:sqlserver://db\ONE;databaseName=x", "must have its port"),
        ("jdbc:sqlserver://db;authentication=ActiveDirectoryPassword", "authentication"),
        ("jdbc:sqlserver://db;encrypt=strict", "TDS 8"),
        ("mssql+pymssql://db/x?conn_properties=DROP", "conn_properties"),
        ("jdbc:db2://db:50000/s:sslKeyStoreLocation=/a.jks;", "sslKeyStoreLocation"),
        ("jdbc:db2://db:50000/s:sslTrustStoreLocation=/etc/a.jks;", "allowed.paths"),
        ("jdbc:db2://db:50000/s;x", "name=value"),
        ("db2+ibm_db://db/s%3BTraceFileName=/etc/x", "semicolon"),
        ("db2+ibm_db://db/s?CurrentSchema=A%3BTraceFileName=/etc/x", "CurrentSchema"),
        ("jdbc:db2://db:50000/s:sslCertLocation=/etc/passwd;", "allowed.paths"),
        ("jdbc:oracle:thin:@shop?TNS_ADMIN=/etc/o", "allowed.paths"),
    ],
)  # fmt: skip
def test_what_java_reads_otherwise_is_refused_by_name(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        JdbcSourceConfig.parse({**BASE, "connection.url": url, "allowed.paths": "/data"})


def connected(url: str, **more: str) -> dict[str, object]:
    """Return the arguments that the Python driver gets."""
    config = JdbcSourceConfig.parse({**BASE, "connection.url": url, "allowed.paths": "/", **more})
    dialect = dialect_of(url)
    made, secured = dialect.connecting.take_tls(url_of(config, connect_timeout_s=CONNECT_S))
    engine = engine_of(dialect, made, (), secured)
    arguments = engine.dialect.create_connect_args(made)[1]
    return {**arguments, **secured}


def test_oracle_gets_a_descriptor_of_one_server() -> None:
    pytest.importorskip("oracledb", reason="pip install 'connect-for-kafka[jdbc-oracle]'")
    plain = connected("jdbc:oracle:thin:@db:1522/shop", **{"connection.user": "u", "connection.password": "p"})
    assert plain == {
        "dsn": "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1522))(CONNECT_DATA=(SERVICE_NAME=shop)))",
        "user": "u", "password": "p", "tcp_connect_timeout": 4.0,
    }  # fmt: skip
    secure = connected("jdbc:oracle:thin:@tcps://db:2484/shop?oracle.net.CONNECT_TIMEOUT=9000")
    assert (
        secure["dsn"] == "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCPS)(HOST=db)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=shop)))"
    )
    assert secure["tcp_connect_timeout"] == 9.0
    named = connected("jdbc:oracle:thin:@shop?TNS_ADMIN=/etc")
    assert (named["dsn"], named["config_dir"]) == ("shop", "/etc")


def test_sql_server_gets_its_server_and_numbers() -> None:
    pytest.importorskip("pymssql", reason="pip install 'connect-for-kafka[jdbc-mssql]'")
    made = connected("jdbc:sqlserver://db;databaseName=shop;encrypt=true;applicationIntent=ReadOnly")
    assert made == {
        "host": "db:1433",
        "database": "shop",
        "encryption": "require",
        "read_only": True,
        "login_timeout": 4,
    }


@pytest.mark.parametrize(
    ("url", "extra"), [("jdbc:oracle:thin:@db/s", "jdbc-oracle"), ("jdbc:sqlserver://db", "jdbc-mssql")]
)
def test_a_driver_that_is_missing_is_named_with_its_extra(
    url: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("oracledb", "pymssql"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ConfigError, match=re.escape(f"pip install 'connect-for-kafka[{extra}]'")):
        connected(url)


def test_a_password_of_db2_says_no_further_setting() -> None:
    config = JdbcSourceConfig.parse({
        **BASE, "connection.url": "jdbc:db2://db:50000/s", "connection.password": "x;TraceFileName=/etc/s3cret",
    })  # fmt: skip
    with pytest.raises(ConfigError, match="semicolon") as refused:
        url_of(config)
    assert "s3cret" not in str(refused.value)


PIECES = st.sampled_from([
    "db", ":", "1521", "/", "s", "@", "?", "&", ";", "(", ")", "=", "//", "SECURITY=", "MY_WALLET_DIRECTORY=/x",
    "(DESCRIPTION=", "(ADDRESS=", "HOST=a", "PORT=1", "SID=s", "service_name=", "config-file:", "%28", "%29", "[", "]",
    "wallet_location=/x", "https_proxy=evil", " ", "\n", "\\", "user=u", "databaseName=", "tcps", ",",
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["jdbc:oracle:thin:@", "oracle+oracledb://", "oracle+oracledb://db/"]), st.lists(PIECES, max_size=9)
)
def test_oracle_is_told_of_one_server_whatever_is_written(prefix: str, pieces: list[str]) -> None:
    try:
        made = connected(prefix + "".join(pieces))
    except ConfigError:
        return
    assert set(made) <= {"dsn", "user", "password", "tcp_connect_timeout", "config_dir", "wallet_location"}
    assert DSN.fullmatch(str(made["dsn"])) or ("config_dir" in made and re.fullmatch(r"[\w.:-]+", str(made["dsn"])))


@pytest.mark.parametrize(
    ("url", "page", "clock"),
    [
        ("jdbc:oracle:thin:@db/s", "FETCH FIRST 10 ROWS ONLY", "sys_extract_utc(SYSTIMESTAMP)"),
        ("jdbc:sqlserver://db", "TOP 10", "sysutcdatetime()"),
        ("jdbc:db2://db:1/s", "LIMIT 10", "CURRENT_TIMESTAMP"),
        ("jdbc:redshift://db/s", "LIMIT 10", "getdate()"),
        ("jdbc:clickhouse://db/s", "LIMIT 10", "now64(6, 'UTC')"),
        ("cockroachdb+psycopg://db/s", "LIMIT 10", "CURRENT_TIMESTAMP"),
    ],
)
def test_statements_are_in_the_words_of_the_database(url: str, page: str, clock: str) -> None:
    dialect = sa.make_url(f"{parse(url, {}).drivername}://").get_dialect()()
    rows = sa.table("orders", sa.column("id"))
    query = sa.select(rows.c.id).where(rows.c.id > 5).order_by(rows.c.id).limit(10)
    assert page in str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    assert str(sa.select(dialect_of(url).cursors.clock).compile(dialect=dialect)).startswith(f"SELECT {clock}")
