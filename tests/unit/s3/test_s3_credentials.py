"""Checks where keys come from, seen at a store: which key signs each request; and canned ACLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from s3_http_store import Store, served
from s3_task_runs import batch, written

from connect.api.errors import ConfigError
from connectors.s3.formats.format_specs import JSON_FORMAT
from connectors.s3.settings.config import S3SinkConfig

pytestmark = pytest.mark.usefixtures("keyless_machine")

ROLE = "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"
SDK = "software.amazon.awssdk.auth.credentials."
KEYLESS = {"aws_access_key_id": "", "aws_secret_access_key": ""}
PREFIX = "s3_credentials_provider_"


class Sts(ThreadingHTTPServer):
    """Gives each session keys of its own; `asked` are the parameters of each request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), StsRequests)
        self.asked: list[dict[str, str]] = []
        self.good_for = timedelta(hours=1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class StsRequests(BaseHTTPRequestHandler):
    server: Sts

    def do_POST(self) -> None:
        query = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        signer = re.findall(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
        self.server.asked.append({name: values[0] for name, values in query.items()} | {"signer": "".join(signer)})
        ends = (datetime.now(UTC) + self.server.good_for).strftime("%Y-%m-%dT%H:%M:%SZ")
        action = query["Action"][0]
        body = (
            f"<{action}Response><{action}Result><Credentials><AccessKeyId>ROLE{len(self.server.asked)}</AccessKeyId>"
            f"<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>{ends}</Expiration>"
            f"</Credentials></{action}Result></{action}Response>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def sts() -> Iterator[Sts]:
    with served(Sts()) as server:
        yield server


def signers(store: Store, **settings: str) -> set[str]:
    """The access keys that requests were signed with."""
    (body,) = written(store, batch([{"n": 1}]), format_class=JSON_FORMAT, **settings).values()
    assert body == b'{"n":1}\n'
    return store.signers


def test_a_role_is_assumed_with_the_external_id_by_the_keys_of_the_configuration(store: Store, sts: Sts):
    given = {
        f"{PREFIX}class": ROLE, f"{PREFIX}sts_role_arn": "arn:aws:iam::1:role/lake", f"{PREFIX}sts_endpoint": sts.url,
        f"{PREFIX}sts_role_session_name": "connect", f"{PREFIX}sts_role_external_id": "ext-7",
    }  # fmt: skip
    assert signers(store, **given) == {"ROLE1"}
    (asked,) = sts.asked
    assert {name: asked[name] for name in ("RoleArn", "RoleSessionName", "ExternalId", "signer")} == {
        "RoleArn": "arn:aws:iam::1:role/lake", "RoleSessionName": "connect", "ExternalId": "ext-7", "signer": "id",
    }  # fmt: skip


def test_a_role_without_keys_is_assumed_by_those_that_the_worker_has(store: Store, sts: Sts, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "WORKER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    given = {
        f"{PREFIX}class": ROLE, f"{PREFIX}sts_role_arn": "arn:aws:iam::1:role/lake", f"{PREFIX}sts_endpoint": sts.url,
        f"{PREFIX}sts_role_session_name": "connect", **KEYLESS,
    }  # fmt: skip
    assert signers(store, **given) == {"ROLE1"}
    assert sts.asked[0]["signer"] == "WORKER"


@pytest.mark.parametrize(
    "class_name",
    [
        f"{SDK}EnvironmentVariableCredentialsProvider",
        f"{SDK}DefaultCredentialsProvider",
        "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
    ],
)
def test_keys_of_the_environment(store: Store, monkeypatch, class_name: str):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert signers(store, **{f"{PREFIX}class": class_name}, **KEYLESS) == {"ENV"}


@pytest.mark.parametrize(
    "class_name",
    [
        f"{SDK}ProfileCredentialsProvider",
        "com.amazonaws.auth.profile.ProfileCredentialsProvider",
        "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
    ],
)
def test_keys_of_a_profile(store: Store, tmp_path: Path, class_name: str):
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = PROFILE\naws_secret_access_key = s\n")
    assert signers(store, **{f"{PREFIX}class": class_name}, **KEYLESS) == {"PROFILE"}


def test_a_web_identity_gets_its_keys_from_sts(store: Store, sts: Sts, monkeypatch, tmp_path: Path):
    (tmp_path / "token").write_text("the-token")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/web")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
    name = "com.amazonaws.auth.WebIdentityTokenCredentialsProvider"
    assert signers(store, **{f"{PREFIX}class": name}, **KEYLESS) == {"ROLE1"}
    assert (sts.asked[0]["WebIdentityToken"], sts.asked[0]["RoleArn"]) == ("the-token", "arn:aws:iam::1:role/web")


def test_anonymous_requests_are_not_signed(store: Store):
    assert signers(store, **{f"{PREFIX}class": f"{SDK}AnonymousCredentialsProvider"}, **KEYLESS) == set()


def test_keys_that_are_nowhere_are_asked_for_in_words(store: Store):
    with pytest.raises(ConfigError, match="EnvironmentVariableCredentialsProvider found no access keys on this worker"):
        signers(store, **{f"{PREFIX}class": f"{SDK}EnvironmentVariableCredentialsProvider"}, **KEYLESS)


def test_a_class_of_somebody_else_is_named_with_what_to_use():
    given = {"s3.bucket.name": "b", "format.class": JSON_FORMAT, "flush.size": "1"}
    with pytest.raises(ConfigError, match=r"com\.acme\.Keys .* use AwsAssume|com\.acme\.Keys.*Java classes do not run"):
        S3SinkConfig.parse({**given, "s3.credentials.provider.class": "com.acme.Keys"})
    with pytest.raises(ConfigError, match=r"com\.acme\.Hourly.*in the place of this one use one of"):
        S3SinkConfig.parse({**given, "partitioner.class": "com.acme.Hourly"})
    with pytest.raises(
        ConfigError, match=r"AwsAssumeRoleCredentialsProvider needs s3\.credentials\.provider\.sts\.role\.arn"
    ):
        S3SinkConfig.parse({**given, "s3.credentials.provider.class": ROLE})


def test_a_canned_acl_goes_with_the_conditional_put(store: Store):
    assert signers(store, s3_acl_canned="bucket-owner-full-control") == {"id"}
    assert store.acls == {"bucket-owner-full-control"}


def test_an_object_with_an_acl_that_is_there_is_not_written_again(store: Store):
    for _ in range(2):
        signers(store, s3_acl_canned="private")
    assert len(store.objects) == 1


def test_a_bucket_is_asked_for_with_the_customers_key(store: Store):
    key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    signers(store, s3_sse_customer_key=key)
    assert store.customer_keys == {key}
