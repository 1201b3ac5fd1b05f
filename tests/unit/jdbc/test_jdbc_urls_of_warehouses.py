"""Checks that JDBC URLs of Redshift, Snowflake, SAP HANA, ClickHouse and CockroachDB lead where Java's drivers go.

No server of theirs is here: what is seen are the parts that their Python drivers get.
"""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa

from connect.api.errors import ConfigError
from connectors.jdbc.connection.engine import engine_of, url_of
from connectors.jdbc.dialects.known import dialect_of, dialects
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.url import DatabaseUrl, translate

REDSHIFT, HANA, CLICKHOUSE = "redshift+redshift_connector", "hana+hdbcli", "clickhousedb+connect"
BASE = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": "t"}
SNOWFLAKE = "jdbc:snowflake://ab12.eu-central-1.snowflakecomputing.com"
ACCOUNT = "ab12.eu-central-1.snowflakecomputing.com"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "jdbc:redshift://db:5440/shop?user=u&password=p&ssl=false",
            DatabaseUrl(REDSHIFT, "db", 5440, "shop", "u", "p", {"ssl": "false"}),
        ),
        (
            "jdbc:redshift://db/shop;sslMode=verify-full;loginTimeout=9;tcpKeepAlive=true",
            DatabaseUrl(REDSHIFT, "db", 5439, "shop", query={"sslmode": "verify-full", "timeout": "9"}),
        ),
        (
            f"{SNOWFLAKE}/?db=SHOP&schema=PUBLIC&warehouse=WH&role=R&CLIENT_SESSION_KEEP_ALIVE=true",
            DatabaseUrl("snowflake", ACCOUNT, None, "SHOP/PUBLIC", query={"warehouse": "WH", "role": "R"}),
        ),
        (
            f"{SNOWFLAKE}:443/?db=SHOP&user=u&authenticator=SNOWFLAKE_JWT&private_key_file=/k.p8",
            DatabaseUrl(
                "snowflake", ACCOUNT, None, "SHOP", "u", query={"authenticator": "snowflake_jwt",
                "private_key_file": "/k.p8"}
            ),
        ),
        (
            "jdbc:sap://db:30015/?databaseName=SHOP&encrypt=true&validateCertificate=false&reconnect=true",
            DatabaseUrl(
                HANA, "db", 30015, query={"databaseName": "SHOP", "encrypt": "true", "sslValidateCertificate": "false"}
            ),
        ),
        ("jdbc:clickhouse://db:8124/shop", DatabaseUrl(CLICKHOUSE, "db", 8124, "shop")),
        ("jdbc:ch:https://db/shop", DatabaseUrl(CLICKHOUSE, "db", 8443, "shop", query={"secure": "true"})),
        (
            "jdbc:clickhouse://db?ssl=true&sslmode=none&connection_timeout=1500",
            DatabaseUrl(
                CLICKHOUSE, "db", 8443, "default", query={"secure": "true", "verify": "false", "connect_timeout": "2"}
            ),
        ),
    ],
)  # fmt: skip
def test_a_jdbc_url_has_the_parts_that_java_reads_in_it(url: str, expected: DatabaseUrl) -> None:
    assert translate(url) == expected


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("jdbc:redshift:iam://db/shop", "user and password"),
        ("jdbc:redshift://db", "host:port/database"),
        ("jdbc:redshift://db/shop?sslrootcert=/etc/passwd", "sslrootcert"),
        ("redshift+redshift_connector://db/shop?credentials_provider=Evil", "credentials_provider"),
        ("jdbc:snowflake://evil.example/?db=S", "an account's"),
        (f"{SNOWFLAKE}/", "database is missing"),
        (f"{SNOWFLAKE}/?db=S&authenticator=externalbrowser", "snowflake_jwt"),
        (f"{SNOWFLAKE}/?db=S&private_key_file=/etc/passwd", "allowed.paths"),
        ("snowflake://ab12/S/P?host=evil.example", "the parameter host"),
        ("jdbc:sap://a:1;b:2/", "host:port"),
        ("jdbc:sap://db:1/?key=STORE", "key"),
        ("jdbc:clickhouse://a,b/s", "host:port"),
        ("jdbc:clickhouse:grpc://a/s", "host:port"),
        ("jdbc:clickhouse://a/s?custom_http_headers=x", "custom_http_headers"),
        ("cockroachdb+psycopg://db/s?service=x", "service"),
    ],
)
def test_what_is_not_known_is_refused_by_name(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        JdbcSourceConfig.parse({**BASE, "connection.url": url, "allowed.paths": "/data"})


@pytest.mark.parametrize("url", ["jdbc:redshift://db/shop", f"{SNOWFLAKE}/?db=S", "jdbc:sap://db:1"])
def test_only_allowed_hosts_are_reached_and_the_driver_is_named_with_its_command(url: str) -> None:
    given = JdbcSourceConfig.parse({**BASE, "connection.url": url})
    [(key, host)] = given.named_hosts()
    assert (key, host.partition(":")[0]) == ("connection.url", ACCOUNT if "snow" in url else "db")
    made, secured = dialect_of(url).connecting.take_tls(url_of(given))
    command = dialect_of(url).connecting.installed_by[made.drivername]
    with pytest.raises(ConfigError) as refused:
        engine_of(dialect_of(url), made, (), secured)
    assert command.startswith("pip install")
    assert command in str(refused.value)


def test_redshift_gets_its_switches_as_what_they_are() -> None:
    taken = dialect_of("jdbc:redshift:").connecting.take_tls
    plain = sa.URL.create(REDSHIFT, host="db", query={"ssl": "false", "timeout": "9"})
    assert taken(plain)[1] == {"ssl": False, "sslmode": "verify-ca", "timeout": 9}
    assert taken(sa.URL.create(REDSHIFT, host="db"))[1] == {"ssl": True, "sslmode": "verify-ca"}


def test_every_dialect_that_was_not_seen_says_so() -> None:
    unseen = {"redshift", "snowflake", "sap", "clickhouse", "cockroachdb", "db2", "oracle", "sqlserver"}
    assert {dialect.name for dialect in dialects() if "Compare what arrives" in dialect.caution} >= unseen
