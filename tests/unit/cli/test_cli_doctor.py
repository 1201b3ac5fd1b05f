"""What `connect doctor` prints."""

import pytest
from click.testing import CliRunner

from connect.cli.doctor import doctor

pytestmark = pytest.mark.quick


def test_names_that_steer_a_terminal_are_printed_as_escapes(monkeypatch):
    finding = {"severity": "error", "subject": "connector \x1b]0;x\x07", "evidence": "\x1b[2J", "why": "w", "fix": "\r"}
    monkeypatch.setattr("connect.cli.doctor._examined", lambda *_: [finding])

    shown = CliRunner().invoke(doctor, []).output

    assert r"connector \x1b]0;x\x07" in shown
    assert not {"\x1b", "\x07", "\r"} & set(shown)
