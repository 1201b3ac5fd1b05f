"""Checks how PyMySQL is let in: what it costs to try TLS, and what is asked of a certificate."""

from __future__ import annotations

import ssl

import pytest
import sqlalchemy as sa
from pymysql.err import OperationalError

from connect.api.errors import ConfigError
from connectors.jdbc.dialects.mysql.tls import connect, take_tls

NOBODY = {"host": "127.0.0.1", "port": 1, "user": "u"}


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The times that all authorities of the system were loaded: 40 to 240 ms each."""
    found: list[str] = []
    load = ssl.SSLContext.load_default_certs

    def noted(context: ssl.SSLContext, purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH) -> None:
        found.append(str(purpose))
        load(context, purpose)

    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", noted)
    return found


def test_a_connection_that_checks_no_certificate_loads_none(loads: list[str]):
    with pytest.raises(OperationalError, match="Can't connect"):
        connect(**NOBODY)
    assert loads == []
    _, arguments = take_tls(sa.make_url("mariadb+pymysql://u@h/d?ssl_mode=required"))
    assert loads == []
    assert arguments["ssl"].verify_mode is ssl.CERT_NONE
    assert not arguments["ssl"].check_hostname


def test_a_connection_that_checks_certificates_knows_the_systems(loads: list[str]):
    _, arguments = take_tls(sa.make_url("mariadb+pymysql://u@h/d?ssl_mode=verify_identity"))
    assert len(loads) == 1
    assert arguments["ssl"].verify_mode is ssl.CERT_REQUIRED
    assert arguments["ssl"].check_hostname


def test_tls_stays_preferred_and_anonymous_where_nothing_is_said():
    connection = connect(**NOBODY, defer_connect=True)
    assert connection.ssl
    assert not connection._ssl_required
    assert connection.ctx.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize("name", ["../../x", "utf8mb5", "\0", "__class__"])
def test_a_character_set_that_is_none_is_named_before_a_server_is_asked(name):
    with pytest.raises(ConfigError, match="the parameter charset names no character set of MySQL"):
        connect(host="127.0.0.1", port=1, user="u", password="p", charset=name)
