"""Checks that the text of another party's error steers no terminal: neither in logs nor in a task's trace and
reason.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from connect.lib.printable import printable
from connect.runtime.host.state_reports import StateReports
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId
from connect.telemetry.secret_texts import SECRET_TEXTS

HOSTILE = "\x1b[31mred\x1b]0;pwn\x07 \x9b1m \u202ecod.exe \ud800\r\u2028."
SHOWN = r"\x1b[31mred\x1b]0;pwn\x07 \u009b1m \u202ecod.exe \ud800\x0d\u2028."
LINES = """
import logging
from connect.telemetry.logs import set_up_logs
set_up_logs({format!r}, "DEBUG")
logging.getLogger("x").warning("it says %s", {text!r})
try:
    raise ValueError({text!r})
except ValueError:
    logging.getLogger("z").exception("it failed")
"""


def test_steering_characters_become_escapes() -> None:
    assert printable(HOSTILE) == SHOWN
    assert printable("äöü 漢字 🎉\ta\nb") == "äöü 漢字 🎉\ta\nb"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_log_line_has_them(log_format: str) -> None:
    code = LINES.format(format=log_format, text=HOSTILE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    said = done.stderr.decode()
    assert said.count("red") >= 2
    assert "pwn" in said
    assert not any(code in said for code in ("\x1b", "\x07", "\x9b", "\u202e", "\r"))


def test_no_trace_and_no_reason_has_them() -> None:
    reports: list[Any] = []
    StateReports(TaskId("c", 0), 1, reports.append).say_state(State.FAILED, ValueError(HOSTILE))
    assert SHOWN in reports[0].trace
    assert "\\x1b[31mred" in reports[0].reason
    assert "\x1b" not in reports[0].reason
    assert SECRET_TEXTS.hide(HOSTILE) == HOSTILE  # an offset is written back as it was shown
