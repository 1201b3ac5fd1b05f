"""Closes a connection on one thread while another breaks off its statement."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from connect.api.allowed_paths import EVERYWHERE
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig


def test_a_connection_closed_at_the_moment_it_is_interrupted_is_no_error(tmp_path: Path, monkeypatch):
    path = tmp_path / "a.db"
    path.touch()
    given = {"connection.url": f"jdbc:sqlite:{path}", "mode": "bulk", "table.whitelist": "t"}
    database = Database(JdbcSourceConfig.parse({**given, **EVERYWHERE}))
    connection = database.connection
    closed_s = iter([False])

    def look(_self: sa.Connection) -> bool:
        return next(closed_s, True)

    connection.close()
    monkeypatch.setattr(sa.Connection, "closed", property(look))
    database.interrupt()
    monkeypatch.undo()
    with pytest.raises(sa.exc.ResourceClosedError):
        _ = connection.connection
