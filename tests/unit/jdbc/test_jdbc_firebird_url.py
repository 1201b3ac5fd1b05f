"""JDBC URLs of Firebird lead where Jaybird goes, and their parameters load nothing."""

from __future__ import annotations

import re

import pytest

from connect.api.errors import ConfigError
from connectors.jdbc.connection.engine import url_of
from connectors.jdbc.dialects.firebird.url import DRIVER
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.url import DatabaseUrl, translate

BASE = {"mode": "bulk", "table.whitelist": "A", "topic.prefix": "t"}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("//db:3051/shop", DatabaseUrl(DRIVER, "db", 3051, "shop")),
        ("//db//data/shop.fdb", DatabaseUrl(DRIVER, "db", 3050, "/data/shop.fdb")),
        ("//[::1]:3051/C:/db/shop.fdb", DatabaseUrl(DRIVER, "::1", 3051, "C:/db/shop.fdb")),
        ("db/3051:/data/shop.fdb", DatabaseUrl(DRIVER, "db", 3051, "/data/shop.fdb")),
        ("db:C:/my data/shop.fdb", DatabaseUrl(DRIVER, "db", 3050, "C:/my data/shop.fdb")),
        ("/data/shop.fdb", DatabaseUrl(DRIVER, "localhost", 3050, "/data/shop.fdb")),
        ("C:/db/shop.fdb", DatabaseUrl(DRIVER, "localhost", 3050, "C:/db/shop.fdb")),
        ("shop", DatabaseUrl(DRIVER, "localhost", 3050, "shop")),
        ("java://db/shop", DatabaseUrl(DRIVER, "db", 3050, "shop")),
        ("native:inet://db/shop", DatabaseUrl(DRIVER, "db", 3050, "shop")),
        (
            "//db/shop?charSet=Cp1252&roleName=R&user=u;password=p&sqlDialect=3&wireCrypt=DISABLED",
            DatabaseUrl(
                DRIVER, "db", 3050, "shop", "u", "p", {"charset": "WIN1252", "role": "R", "wire_crypt": "Disabled"}
            ),
        ),
        ("//db/s?charSet=utf-8&encoding=win1251", DatabaseUrl(DRIVER, "db", 3050, "s", query={"charset": "WIN1251"})),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["firebirdsql", "firebird"])
def test_a_url_leads_where_jaybird_goes(url: str, expected: DatabaseUrl, name: str) -> None:
    assert translate(f"jdbc:{name}:{url}") == expected


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("jdbc:firebirdsql:embedded:/data/shop.fdb", "Name the server"),
        ("jdbc:firebirdsql:local:/data/shop.fdb", "Name the server"),
        ("jdbc:firebirdsql://db", "host:port/database"),
        ("jdbc:firebirdsql:xnet://shop", "host:port/database"),
        ("jdbc:firebirdsql://db/shop?sqlDialect=1", "must be 3"),
        ("jdbc:firebirdsql://db/shop?wireCrypt=MAYBE", "DEFAULT, ENABLED, REQUIRED, DISABLED"),
        ("jdbc:firebirdsql://db/shop?charSet=x-Johab", "encoding"),
        ("jdbc:firebirdsql://db/shop?fb_client_library=/tmp/x.so", "fb_client_library"),
        ("firebird+firebird:///other.example:/data/shop.fdb", "no server"),
        ("firebird+firebird://db/shop?fb_client_library=/tmp/x.so", "fb_client_library"),
    ],
)
def test_what_opens_a_file_here_or_means_something_else_is_refused(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        JdbcSourceConfig.parse({**BASE, "connection.url": url})


def test_only_allowed_hosts_are_reached() -> None:
    given = {**BASE, "connection.url": "jdbc:firebirdsql:db.example/3050:shop"}
    assert list(JdbcSourceConfig.parse(given).named_hosts()) == [("connection.url", "db.example:3050")]


def test_a_connection_is_in_utf_8_unless_it_says_another() -> None:
    said = {"jdbc:firebirdsql://db/shop": "UTF8", "jdbc:firebirdsql://db/shop?encoding=NONE": "NONE"}
    made = {url: url_of(JdbcSourceConfig.parse({**BASE, "connection.url": url})).query["charset"] for url in said}
    assert made == said
