"""What comes of asking a PostgreSQL that starts on a machine with more to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect.tools.services import postgres
from connect.tools.services.sql import SqlEndpoint


def test_a_question_that_gets_no_turn_is_no_answer_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = tmp_path / "pg_isready"
    stuck.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(postgres, "_binary", lambda name: stuck)
    service = postgres.PostgresService()
    assert service._answers(SqlEndpoint(1, "connect", "", database="postgres"), 0.1) is False
