"""Checks which errors of a database may pass by themselves."""

from __future__ import annotations

import sys

import pytest
import sqlalchemy as sa
from pymysql.err import InternalError, OperationalError, ProgrammingError

from connect.api.errors import ConfigError, ConnectError
from connectors.jdbc.connection.engine import engine_of
from connectors.jdbc.connection.errors import ErrorTranslator, passes
from connectors.jdbc.dialects.known import dialect_named


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (1205, "HY000"),
        (1213, "40001"),
        (1969, "70100"),
        (3024, "HY000"),
        (1927, "70100"),
        (2013, None),
        (1040, "08004"),
    ],
)
def test_numbers_of_mariadb_and_mysql_count_although_their_state_says_nothing(number: int, state: str | None):
    assert passes(OperationalError(number, "…", sqlstate=state))


@pytest.mark.parametrize(
    ("error", "number", "state"),
    [(ProgrammingError, 1146, "42S02"), (OperationalError, 1142, "42000"), (InternalError, 1364, "HY000")],
)
def test_what_a_person_must_mend_does_not_pass(error: type[Exception], number: int, state: str):
    assert not passes(error(number, "…", sqlstate=state))


def test_the_lines_of_a_drivers_error_become_sentences():
    refused = OSError("port 5499 failed: Connection refused\n\tIs the server running on that host?\n")
    said = ErrorTranslator("postgresql database db:5499/shop", ()).failed("connecting", refused)
    assert said == (
        "postgresql database db:5499/shop: connecting failed: port 5499 failed: Connection refused. "
        "Is the server running on that host?"
    )
    marked = OSError('column "x" does not exist\nLINE 1: SELECT x\n               ^')
    assert ErrorTranslator("db", ()).failed("reading", marked) == (
        'db: reading failed: column "x" does not exist. LINE 1: SELECT x ^.'
    )


def test_an_answer_that_no_driver_understands_is_told_as_the_servers():
    refused = pytest.raises(ConnectError, match="db: connecting failed: the server's answer cannot be understood")
    with refused as told, ErrorTranslator("db", ()).translated("connecting"):
        b"\xff".decode("ascii")
    assert "UnicodeDecodeError" in told.value.message
    assert isinstance(told.value.__cause__, UnicodeDecodeError)


def test_a_message_of_megabytes_is_cut_behind_its_secrets():
    said = ErrorTranslator("db", (), ("canary-9Qz",)).failed("reading", OSError("canary-9Qz " + "x" * 1_000_000))
    assert len(said) < 5000
    assert "canary" not in said


def test_a_driver_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(ConfigError, match=r"the driver of mysql\+pymysql cannot be used: .*pymysql.* Run: pip install"):
        engine_of(dialect_named("mysql"), sa.make_url("mysql+pymysql://me:canary@db/shop"), (), {})
