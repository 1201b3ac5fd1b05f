"""Checks what the session of a log tells a person: what is missing stays, and advice follows the server."""

from __future__ import annotations

import threading

from connectors.jdbc.log.shared.session import LogSession
from connectors.jdbc.settings.config import JdbcTaskConfig


def test_what_is_missing_stays_told_while_advice_follows_the_server():
    given = {"connection.url": "jdbc:mariadb://h/db", "mode": "log", "topic.prefix": "p", "table.whitelist": "a"}
    session = LogSession(JdbcTaskConfig.parse(given), (), threading.Event())
    assert session.note is None
    session.advise("Set it to FULL.")
    session.tell_missing("Events are lost.")
    # The connection broke, and the server is asked again.
    session.advise("Set it to FULL.")
    session.tell_missing("Another server.")
    session.tell_missing("Events are lost.")
    assert session.note == "Another server. Events are lost. Set it to FULL."
    session.advise(None)
    assert session.note == "Another server. Events are lost."
    session.begin_anew()
    assert session.note is None
