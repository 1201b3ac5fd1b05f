"""Checks that a database without TLS, or with a poor way to sign in, hears no password where the URL demands more."""

from __future__ import annotations

import hostile_mysql as mysql
import hostile_postgres as postgres
import pytest
from beside import Beside
from database_server import PASSWORD
from test_checks_of_databases import config


def given(kind: str, port: int, parameters: str = "") -> dict[str, str]:
    """Return a configuration of a source whose database is there."""
    found = config(kind, port)
    return {**found, "connection.url": found["connection.url"] + parameters}


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_server_of_mysql_without_tls_hears_nothing_where_tls_is_demanded(beside: Beside, kind: str) -> None:
    with mysql.hostile_mysql(mysql.switch(b"mysql_clear_password")) as (port, heard):
        said = "\n".join(beside.validate(given(kind, port, "?sslMode=REQUIRED")))
    assert heard == b""
    assert said


ASKS_IN_THE_CLEAR = postgres.before_sign_in(lambda client: (client.message(b"R", b"\0\0\0\3"), client.asked())[0])


@pytest.mark.parametrize("parameters", ["?sslmode=require", "?sslmode=verify-full", "?require_auth=scram-sha-256"])
def test_a_server_of_postgres_hears_no_password_where_more_is_demanded(beside: Beside, parameters: str) -> None:
    with postgres.hostile_postgres(ASKS_IN_THE_CLEAR) as (port, heard):
        said = "\n".join(beside.validate(given("postgresql", port, parameters)))
    assert PASSWORD.encode() not in heard
    assert said


def test_the_hostile_postgres_would_hear_a_password(beside: Beside) -> None:
    with postgres.hostile_postgres(ASKS_IN_THE_CLEAR) as (port, heard):
        beside.validate(given("postgresql", port))
    assert PASSWORD.encode() in heard, "as Java's driver and libpq do: the tests beside this one prove nothing"
