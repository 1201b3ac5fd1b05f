"""Checks what `connect doctor` prints."""

import io
from contextlib import redirect_stdout

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


class Terminal(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(monkeypatch, where):
    evidence = " ".join(["The brokers did not tell where the groups stand: https://example.com/a-long-address"] * 4)
    finding = {"severity": "note", "subject": "doctor", "evidence": evidence, "why": "w", "fix": "one " * 40}
    monkeypatch.setattr("connect.cli.doctor._examined", lambda *_: [finding])
    monkeypatch.setenv("COLUMNS", "60")
    with redirect_stdout(where), pytest.raises(SystemExit):
        doctor.main([])
    return where.getvalue().splitlines(), evidence, finding["fix"]


def test_a_terminal_gets_lines_of_its_width_and_what_is_pasted_whole(monkeypatch):
    lines, evidence, fix = printed(monkeypatch, Terminal())

    told = [line for line in lines if line.startswith("  ") and not line.startswith("    ")]
    assert max(map(len, told)) <= 60
    assert " ".join(line.strip() for line in told) == f"{evidence} w"
    assert f"    {fix}" in lines


def test_a_pipe_gets_each_text_as_one_line(monkeypatch):
    lines, evidence, _ = printed(monkeypatch, io.StringIO())

    assert f"  {evidence}" in lines
