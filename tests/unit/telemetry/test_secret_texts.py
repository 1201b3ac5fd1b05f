"""What a process has read as secret is in none of its log lines, traces and letters; other words stay as they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from connect.plugins.catalog import Catalog
from connect.runtime.records.dead_letter import context
from connect.runtime.records.tolerance import BadRow, Stage
from connect.runtime.settings.config_secrets import secret_texts
from connect.runtime.task.task_id import TaskId
from connect.telemetry.secret_texts import SECRET_TEXTS, SecretTexts

LINES = """
import logging
import structlog
from connect.telemetry.logs import set_up_logs
from connect.telemetry.secret_texts import SECRET_TEXTS
set_up_logs({format!r}, "DEBUG")
SECRET = 's3cr3t "c4n4ry"'  # named, as Python 3.13 shows the lines of a traceback of code given by -c
SECRET_TEXTS.add([SECRET, "a", "latest"])
logging.getLogger("x").debug("login with %s", SECRET)
structlog.get_logger("y").info("a latest test of latest.yaml", password="latest", n=1)
try:
    raise ValueError(SECRET)
except ValueError:
    logging.getLogger("z").exception("it failed")
"""


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_log_line_has_a_secret(log_format: str) -> None:
    code = LINES.format(format=log_format)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "c4n4ry" not in done.stderr
    assert done.stderr.count("[hidden]") == 3
    assert "a latest test of latest.yaml" in done.stderr
    assert "it failed" in done.stderr


def test_a_secret_is_hidden_as_json_urls_and_repr_write_it() -> None:
    texts = SecretTexts()
    texts.add(['p@ss/wörd\\n"x'])
    for form in ('p@ss/wörd\\n"x', "p%40ss%2Fw%C3%B6rd%5Cn%22x", r"p@ss/w\u00f6rd\\n\"x"):
        assert texts.hide(f"<{form}>") == "<[hidden]>"
    assert texts.hide("pass") == "pass"


def test_the_secrets_inside_of_settings_are_found() -> None:
    found = secret_texts(
        Catalog.installed(),
        {
            "connector.class": "JdbcSource", "connection.url": "postgresql://u:p%40ss-in-url@h/d",
            "connection.password": "whole-1", "tables": "no-secret", "my.user.info": "me:behind-me",
            "producer.override.sasl.jaas.config": 'X required username="u" password="in-jaas";',
        },
    )  # fmt: skip
    assert found >= {"p%40ss-in-url", "p@ss-in-url", "whole-1", "behind-me", "in-jaas"}
    assert "no-secret" not in found


def test_a_server_that_echoes_headers_shows_no_part_of_a_secret_list_of_them() -> None:
    given = {"connector.class": "io.confluent.connect.http.HttpSinkConnector", "http.api.url": "http://api.example"}
    headers = "X-Shop: Kx7-of-the-shop|Cookie: session=Kx7-of-a-session; x=Kx7-of-x|Content-Type: application/json"
    texts = SecretTexts()
    texts.add(secret_texts(Catalog.installed(), {**given, "headers": headers}))
    echo = texts.shown('{"x-shop":"Kx7-of-the-shop","cookie":["session=Kx7-of-a-session","x=Kx7-of-x"]}')
    assert "Kx7" not in echo
    assert texts.shown("It is no application/json.") == "It is no application/json."


def test_a_letter_has_no_secret() -> None:
    SECRET_TEXTS.add(["letters-c4n4ry-s3cr3t"])
    error = ValueError("login with letters-c4n4ry-s3cr3t failed")
    headers = context(TaskId("c", 0), BadRow(Stage.TRANSFORMATION, "x", error, "t", 0, 1))
    said = b"".join(value or b"" for _, value in headers)
    assert b"login with [hidden] failed" in said
    assert b"c4n4ry" not in said


def test_a_secret_is_hidden_without_the_newline_that_its_file_ends_with() -> None:
    texts = SecretTexts()
    texts.add(["of-a-file-1\n"])
    assert texts.hide("login with of-a-file-1 failed") == "login with [hidden] failed"


def test_a_long_secret_is_not_decoded_as_one_of_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    monkeypatch.setattr("connect.runtime.settings.config_secrets.unquote", lambda text: decoded.append(text) or text)
    found = secret_texts(Catalog.installed(), {"x.token": "%" * 250_000, "y.token": "p%40ss"})
    assert {"%" * 250_000, "p@ss"} <= found
    assert decoded == ["p%40ss"]
