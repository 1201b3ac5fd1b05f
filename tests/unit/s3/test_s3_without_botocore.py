"""Checks the S3 sink where botocore is not installed: keys that the store's client finds, and what it cannot do."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from s3_http_store import Store, served
from s3_task_runs import batch, written

from connect.api.errors import ConfigError, RetriableError
from connectors.s3.formats.format_specs import JSON_FORMAT
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.stores.store_errors import StoreErrors

pytestmark = pytest.mark.usefixtures("keyless_machine", "_no_botocore")

SDK = "software.amazon.awssdk.auth.credentials."
EXTRA = "Run: pip install 'connect-for-kafka[s3-aws]'."


class Keys(BaseHTTPRequestHandler):
    """Gives the key of a container to who has its token."""

    def do_GET(self) -> None:
        assert self.headers["Authorization"] == "pod-token"
        ends = "2099-01-01T00:00:00Z"
        keys = {"AccessKeyId": "POD", "SecretAccessKey": "s", "Token": "t", "Expiration": ends}
        body = json.dumps(keys).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def _no_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["botocore", *(name for name in sys.modules if name.startswith("botocore."))]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def container() -> Iterator[str]:
    with served(ThreadingHTTPServer(("127.0.0.1", 0), Keys)) as server:
        yield f"http://127.0.0.1:{server.server_port}/keys"


def signers(store: Store, **settings: str) -> set[str]:
    given = {"aws_access_key_id": "", "aws_secret_access_key": "", **settings}
    (body,) = written(store, batch([{"n": 1}]), format_class=JSON_FORMAT, **given).values()
    assert body == b'{"n":1}\n'
    return store.signers


def test_keys_of_the_environment(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert signers(store) == {"ENV"}


def test_keys_of_a_container(store: Store, container: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "token").write_text("pod-token")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", container)
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    assert signers(store) == {"POD"}


def test_keys_of_the_configuration(store: Store):
    assert signers(store, aws_access_key_id="id", aws_secret_access_key="secret") == {"id"}


def test_anonymous_requests_are_not_signed(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert signers(store, s3_credentials_provider_class=f"{SDK}AnonymousCredentialsProvider") == set()


def test_keys_that_are_nowhere_are_asked_for_in_words(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"no access keys were found on this worker.*\[s3-aws\]"):
        signers(store)


def test_a_machine_that_gives_no_keys_for_a_while_is_waited_for():
    errors = StoreErrors("Bucket b", ("aws.access.key.id",), None)
    outage = OSError("error sending request for url (http://169.254.169.254/latest/api/token)")
    assert isinstance(errors.translated(outage), ConfigError)
    errors.answered()
    assert isinstance(errors.translated(outage), RetriableError)


def test_keys_of_the_environment_that_have_expired_are_told():
    errors = StoreErrors("Bucket b", ("aws.access.key.id",), None)
    told = errors.translated(OSError("status code: 400 Bad Request, body: <Code>ExpiredToken</Code>"))
    assert isinstance(told, RetriableError)
    assert "says that the access keys have expired (400 Bad Request ExpiredToken)" in told.message
    assert "restart the worker" in str(told.fix)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("s3.credentials.provider.class", f"{SDK}ProfileCredentialsProvider"),
        ("s3.credentials.provider.class", "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"),
        ("s3.acl.canned", "private"),
    ],
)
def test_what_needs_botocore_is_refused_with_its_extra(name: str, value: str):
    role = {f"s3.credentials.provider.sts.role.{key}": "r" for key in ("arn", "session.name")}
    given = {"s3.bucket.name": "b", "format.class": JSON_FORMAT, "flush.size": "1", **role, name: value}
    told = f"{name} needs the package botocore, which is not installed. {EXTRA}"
    with pytest.raises(ConfigError, match=re.escape(told)):
        S3SinkConfig.parse(given)
    (wrong,) = (one for one in S3SinkConfig.validate_keys(given) if one.errors)
    assert (wrong.name, list(wrong.errors)) == (name, [told])
