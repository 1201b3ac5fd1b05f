"""Uses `connect login` at a real issuer, by a real browser; what it got lets commands in, and is renewed."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from chromium import browser  # noqa: F401 - a fixture
from device_issuer import AUDIENCE, CLIENT_ID, RESOURCE, DeviceIssuer, log_in_by_browser, refuse_by_browser
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint

INVITED = re.compile(r"Open (\S+) in a browser on any machine, and type the code (\S+)")
LASTS_S = 50
"""Shorter than what a token has to be good for: each command renews it."""


@pytest.fixture(scope="module")
def issuer() -> Iterator[DeviceIssuer]:
    with DeviceIssuer(LASTS_S) as issuer:
        yield issuer


@pytest.fixture(scope="module")
def worker(kafka: KafkaEndpoint, issuer: DeviceIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("login")
    keys = {"rest.oidc.issuer": issuer.endpoint, "rest.oidc.audience": AUDIENCE, "rest.roles.viewer": "oidc:ada"}
    made = WorkerProcess(folder, kafka.bootstrap_servers, f"login-{os.getpid()}", **keys)
    made.start()
    yield made.url
    made.stop()


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: str) -> Path:
    file = tmp_path / "contexts.yaml"
    monkeypatch.setenv("CONNECT_CONTEXTS", str(file))
    assert typed("context", "add", "prod", worker).returncode == 0
    file.chmod(0o644)  # as a version before wrote it
    return file


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "connect.cli", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    process = started(*words)
    told, _ = process.communicate(timeout=120)
    return subprocess.CompletedProcess(words, process.returncode, told)


def login(issuer: DeviceIssuer) -> tuple[subprocess.Popen[str], str, str]:
    """Begin to log in; the process, and the address and the code that it shows."""
    process = started(
        "login", "--issuer", issuer.endpoint, "--client-id", CLIENT_ID, "--parameter", f"resource={RESOURCE}"
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    invited = INVITED.search(first)
    assert invited, first + process.communicate(timeout=60)[0]
    return process, invited[1], invited[2]


def test_a_person_logs_in_by_browser_and_commands_renew_the_token(
    issuer: DeviceIssuer,
    contexts: Path,
    browser: Any,  # noqa: F811 - the fixture
) -> None:
    assert typed("status").returncode == 1
    process, url, code = login(issuer)
    log_in_by_browser(browser, url, code, "ada")
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert f"Logged in to prod. The token is kept in {contexts}" in told
    assert stat.S_IMODE(contexts.stat().st_mode) == 0o600
    first = yaml.safe_load(contexts.read_text())["clusters"]["prod"]
    shown = typed("connectors", "list")
    assert shown.returncode == 0, shown.stdout
    second = yaml.safe_load(contexts.read_text())["clusters"]["prod"]
    assert second["token"] != first["token"]
    assert second["refresh_token"] != first["refresh_token"]
    together = [started("connectors", "list") for _ in range(4)]  # the issuer takes a refresh token but once
    assert [(process.communicate(timeout=120)[0], process.returncode)[1] for process in together] == [0] * 4
    assert "was refused" not in typed("connectors", "list").stdout
    secrets = {second["token"], second["refresh_token"]}
    assert not [secret for secret in secrets if secret in typed("context", "list").stdout]
    forgotten = typed("login", "--forget")
    assert forgotten.stdout == "Logged out of prod.\n"
    left = yaml.safe_load(contexts.read_text())["clusters"]["prod"]
    assert left["issuer"] == issuer.endpoint
    assert not {"token", "refresh_token", "token_expires_at"} & left.keys()
    assert typed("connectors", "list").returncode == 1


def test_a_person_who_says_no_is_told_so(
    issuer: DeviceIssuer,
    contexts: Path,
    browser: Any,  # noqa: F811 - the fixture
) -> None:
    process, url, code = login(issuer)
    refuse_by_browser(browser, url, code)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"Error: {issuer.endpoint} refused the login (access_denied)" in told
    assert "token" not in yaml.safe_load(contexts.read_text())["clusters"]["prod"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["login"], "Say --issuer and --client-id at the first login to prod"),
        (["login", "--context", "none"], "There is no context 'none'; known: prod."),
        (["login", "--issuer", "http://127.0.0.1:1", "--client-id", "c"], "http://127.0.0.1:1 does not answer"),
        (["login", "--issuer", "http://evil.example", "--client-id", "c"], "it is not https"),
        (["login", "--parameter", "x"], "--parameter 'x' is not of the form NAME=VALUE"),
    ],
)
def test_what_is_typed_wrong_is_named(contexts: Path, words: list[str], told: str) -> None:
    shown = typed(*words)
    assert shown.returncode in {1, 2}
    assert told in shown.stdout
    assert "Traceback" not in shown.stdout


def test_a_client_that_the_issuer_does_not_know_is_named(issuer: DeviceIssuer, contexts: Path) -> None:
    shown = typed("login", "--issuer", issuer.endpoint, "--client-id", "nobody")
    assert shown.returncode == 1
    assert f"Error: {issuer.endpoint} refused the login (invalid_client)" in shown.stdout
