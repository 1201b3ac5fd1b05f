"""The version of a server is read from what it says of itself, `5.5.5-` before a MariaDB left out."""

from __future__ import annotations

import pytest
from sqlalchemy.dialects import registry


@pytest.mark.parametrize(
    ("said", "version", "is_mariadb"),
    [
        ("5.5.5-10.0.38-MariaDB", (10, 0, 38), True),
        ("5.5.5-10.3.39-MariaDB-1:10.3.39+maria~ubu2004", (10, 3, 39), True),
        ("10.11.19-MariaDB-0+deb12u1", (10, 11, 19), True),
        ("8.0.36", (8, 0, 36), False),
    ],
)
def test_an_old_mariadb_is_not_taken_for_mysql_5_5(said: str, version: tuple[int, ...], is_mariadb: bool):
    dialect = registry.load("mysql.pymysql")()
    assert tuple(dialect._parse_server_version(said))[:3] == version
    assert dialect.is_mariadb is is_mariadb
