"""Checks keys of containers and instances, asked of a stand-in of their endpoints, and keys that expire while a task
runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from s3_http_store import Store, served
from s3_task_runs import TaskRun, batch

from connect.api.errors import RetriableError
from connectors.s3.formats.format_specs import JSON_FORMAT

pytestmark = pytest.mark.usefixtures("keyless_machine")

SDK = "software.amazon.awssdk.auth.credentials."
KEYLESS = {"aws_access_key_id": "", "aws_secret_access_key": "", "format_class": JSON_FORMAT}
ROLE = "/latest/meta-data/iam/security-credentials/"


class Metadata(ThreadingHTTPServer):
    """Gives keys KEY1, KEY2 and so on, one more for each time that keys are asked for, and notes who asked how."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MetadataRequests)
        self.given = 0
        self.asked: list[tuple[str, str | None]] = []
        self.good_for = timedelta(hours=6)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class MetadataRequests(BaseHTTPRequestHandler):
    server: Metadata

    def do_PUT(self) -> None:
        self.answer(b"session-token")

    def do_GET(self) -> None:
        token = self.headers.get("x-aws-ec2-metadata-token") or self.headers.get("Authorization")
        self.server.asked.append((self.path, token))
        if self.path == ROLE:
            self.answer(b"lake-role")
            return
        self.server.given += 1
        ends = (datetime.now(UTC) + self.server.good_for).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys = {"AccessKeyId": f"KEY{self.server.given}", "SecretAccessKey": "s", "Token": "t", "Expiration": ends}
        self.answer(json.dumps({"Code": "Success", **keys}).encode())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    with served(Metadata()) as server:
        yield server


@pytest.fixture(autouse=True)
def _keys_are_asked_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # The store's client would ask again in a minute.
    monkeypatch.setattr("connectors.s3.settings.credentials._GOOD_FOR", timedelta(0))


def container(metadata: Metadata, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/keys")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod-token")
    return "ContainerCredentialsProvider"


def instance(metadata: Metadata, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
    monkeypatch.setenv("AWS_METADATA_SERVICE_TIMEOUT", "60")
    return "InstanceProfileCredentialsProvider"


def profile(folder: Path, key: str) -> None:
    (folder / "credentials").write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = s\n")


def write(run: TaskRun, number: int) -> None:
    run.put(batch([{"n": number}], first=number))
    run.flush()


def test_a_container_is_asked_with_its_token(store: Store, metadata: Metadata, monkeypatch):
    write(TaskRun(store, s3_credentials_provider_class=SDK + container(metadata, monkeypatch), **KEYLESS), 0)
    assert store.signers == {"KEY1"}
    assert set(metadata.asked) == {("/keys", "pod-token")}


def test_an_instance_is_asked_for_the_keys_of_its_role_by_a_session(store: Store, metadata: Metadata, monkeypatch):
    write(TaskRun(store, s3_credentials_provider_class=SDK + instance(metadata, monkeypatch), **KEYLESS), 0)
    assert store.signers == {f"KEY{metadata.given}"}
    assert set(metadata.asked) == {(ROLE, "session-token"), (f"{ROLE}lake-role", "session-token")}


def test_keys_that_are_about_to_expire_are_asked_for_anew(store: Store, metadata: Metadata, monkeypatch):
    metadata.good_for = timedelta(minutes=1)
    run = TaskRun(store, s3_credentials_provider_class=SDK + container(metadata, monkeypatch), **KEYLESS)
    write(run, 0)
    write(run, 1)
    assert len(store.signers) == 2


@pytest.mark.parametrize("where", [container, instance])
def test_keys_that_the_store_calls_expired_are_asked_for_anew(store: Store, metadata: Metadata, monkeypatch, where):
    run = TaskRun(store, s3_credentials_provider_class=SDK + where(metadata, monkeypatch), **KEYLESS)
    write(run, 0)
    store.good_signer = f"KEY{metadata.given + 1}"
    run.put(batch([{"n": 1}], first=1))
    with pytest.raises(RetriableError, match="ExpiredToken"):
        run.flush()
    assert sorted(run.written().values()) == [b'{"n":0}\n', b'{"n":1}\n']


def test_keys_that_expired_and_were_renewed_elsewhere_heal_a_running_task(store: Store, tmp_path: Path):
    profile(tmp_path, "OLD")
    run = TaskRun(store, s3_credentials_provider_class=f"{SDK}ProfileCredentialsProvider", **KEYLESS)
    write(run, 0)
    store.good_signer = "NEW"
    run.put(batch([{"n": 1}], first=1))
    with pytest.raises(RetriableError, match="ExpiredToken"):
        run.flush()
    profile(tmp_path, "NEW")
    run.flush()
    assert sorted(run.written().values()) == [b'{"n":0}\n', b'{"n":1}\n']
