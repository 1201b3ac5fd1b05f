"""Checks the registry client against a small server: retries, credentials, certificates, and what a person reads."""

from __future__ import annotations

import base64
import datetime as dt
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, RetriableError, SchemaError
from connect.convert.protobuf.config import ProtobufConfig
from connect.convert.registry.client import Registered, RegistryClient
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.transport import Transport

Answers = list[tuple[int, Any]]


class Server:
    """Gives the answers in turn, the last one for ever; keeps what it was asked."""

    def __init__(self, answers: Answers, certificate: Path | None = None, client_ca: Path | None = None) -> None:
        self.asked: list[tuple[str, str, str | None]] = []
        self.bodies: list[bytes] = []
        self.answers = answers
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.command, self.path, self.headers.get("Authorization")))
                status, body = answers.pop(0) if len(answers) > 1 else answers[0]
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.do_GET()

            def log_message(self, *args: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            if client_ca is not None:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(client_ca)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
            self.url = self.url.replace("http://", "https://")
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


MakeServer = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[MakeServer]:
    made: list[Server] = []

    def make(answers: Answers, **more: Any) -> Server:
        made.append(Server(answers, **more))
        return made[-1]

    yield make
    for server in made:
        server.http.shutdown()
        server.http.server_close()


def client(url: str, **settings: str) -> RegistryClient:
    quick = {"max.retries": "2", "retries.wait.ms": "1", "retries.max.wait.ms": "2"}
    given = {**EVERYWHERE, "schema.registry.url": url, **quick, **{k.replace("_", "."): v for k, v in settings.items()}}
    return RegistryClient(Transport(RegistryConfig.parse(given)))


SCHEMA = {"schema": '"int"'}


def test_a_registry_that_is_away_for_a_moment_is_asked_again(serve: MakeServer) -> None:
    server = serve([(503, {}), (502, b"<html>"), (200, SCHEMA)])
    assert client(server.url).by_id(1).text == '"int"'
    assert len(server.asked) == 3


def test_a_registry_that_stays_away_is_told_with_address_and_tries(serve: MakeServer) -> None:
    server = serve([(503, {"error_code": 50302, "message": "no leader"})])
    with pytest.raises(RetriableError) as failure:
        client(server.url).by_id(1)
    assert len(server.asked) == 3
    assert f"The schema registry does not answer (3 tries): {server.url}: HTTP 503" in str(failure.value)

    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(RetriableError, match="Connection refused") as failure:
        client(server.url).by_id(1)
    assert failure.value.key == "schema.registry.url"


def test_the_next_address_is_asked_when_one_does_not_answer(serve: MakeServer) -> None:
    down, up = serve([(503, {})]), serve([(200, SCHEMA)])
    assert client(f"{down.url},{up.url}").by_id(1).text == '"int"'
    assert len(down.asked) == 1


def test_a_failure_of_the_registry_itself_is_not_about_rows(serve: MakeServer) -> None:
    server = serve([(500, {"error_code": 50001, "message": "Error in the backend data store"})])
    with pytest.raises(RetriableError, match="Error in the backend data store"):
        client(server.url).by_id(1)


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("http://{host}", {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "me:se:cret"}),
        ("http://me:se%3Acret@{host}", {}),
        ("http://{host}", {"basic_auth_credentials_source": "USER_INFO",
                           "schema_registry_basic_auth_user_info": "me:se:cret"}),
    ],
)  # fmt: skip
def test_user_and_password_are_sent(serve: MakeServer, url: str, settings: dict[str, str]) -> None:
    server = serve([(200, SCHEMA)])
    client(url.format(host=server.url.removeprefix("http://")), **settings).by_id(1)
    assert server.asked == [("GET", "/schemas/ids/1", "Basic " + base64.b64encode(b"me:se:cret").decode())]


def test_a_proxy_is_asked_for_the_registrys_address(serve: MakeServer) -> None:
    proxy = serve([(200, SCHEMA)])
    port = str(proxy.http.server_port)
    assert client("http://registry.invalid:8081", proxy_host="127.0.0.1", proxy_port=port).by_id(1).text == '"int"'
    assert proxy.asked == [("GET", "http://registry.invalid:8081/schemas/ids/1", None)]


def test_keys_that_would_change_nothing_here_are_refused() -> None:
    given = {
        "schema.registry.url": "http://localhost:1", "use.latest.with.metadata": "stage:test", "proxy.host": "me",
        "context.name.strategy": "com.example.Context",
    }  # fmt: skip
    with pytest.raises(ConfigError) as failure:
        RegistryConfig.parse(given)
    assert {problem.key for problem in failure.value.problems} == {"use.latest.with.metadata", "context.name.strategy"}
    assert "Name a version by use.schema.id" in str(failure.value)
    with pytest.raises(ConfigError, match=r"proxy\.host=me needs the proxy's port"):
        RegistryConfig.parse({"schema.registry.url": "http://localhost:1", "proxy.host": "me"})
    usual = {"context.name.strategy": "io.confluent.kafka.serializers.context.NullContextNameStrategy",
             "wrapper.for.raw.primitives": "true", "generate.struct.for.nulls": "false"}  # fmt: skip
    ProtobufConfig.parse({"schema.registry.url": "http://localhost:1", **usual})
    with pytest.raises(ConfigError, match=r"wrapper\.for\.raw\.primitives: only true is supported"):
        ProtobufConfig.parse({"schema.registry.url": "http://localhost:1", "wrapper.for.raw.primitives": "false"})


def test_a_bearer_token_is_sent(serve: MakeServer) -> None:
    server = serve([(200, SCHEMA)])
    client(server.url, bearer_auth_token="abc").by_id(1)
    assert server.asked[0][2] == "Bearer abc"


OAUTH = {
    "bearer_auth_credentials_source": "OAUTHBEARER", "bearer_auth_client_id": "me",
    "bearer_auth_client_secret": "s:cret", "bearer_auth_scope": "all", "bearer_auth_logical_cluster": "lsrc-1",
}  # fmt: skip


def token(name: str, lasts_s: int = 3600) -> tuple[int, Any]:
    return 200, {"access_token": name, "expires_in": lasts_s, "token_type": "Bearer"}


def test_a_token_of_an_oauth_issuer_is_asked_for_once_and_sent(serve: MakeServer) -> None:
    issuer, server = serve([token("t1")]), serve([(200, SCHEMA)])
    asking = client(server.url, bearer_auth_issuer_endpoint_url=f"{issuer.url}/token", **OAUTH)
    asking.by_id(1)
    asking.by_id(2)
    assert [who for _, _, who in server.asked] == ["Bearer t1", "Bearer t1"]
    assert issuer.asked == [("POST", "/token", "Basic " + base64.b64encode(b"me:s%3Acret").decode())]
    assert issuer.bodies == [b"grant_type=client_credentials&scope=all"]


def test_a_token_that_ends_or_is_withdrawn_is_asked_for_anew(serve: MakeServer) -> None:
    issuer, server = serve([token("t1", 0), token("t2"), token("t3")]), serve([(200, SCHEMA)])
    asking = client(server.url, bearer_auth_issuer_endpoint_url=issuer.url, **OAUTH)
    asking.by_id(1)
    asking.by_id(2)
    server.answers[:] = [(401, {"error_code": 401, "message": "expired"}), (200, SCHEMA)]
    asking.by_id(3)
    assert [who for _, _, who in server.asked] == ["Bearer t1", "Bearer t2", "Bearer t2", "Bearer t3"]


def test_an_issuer_that_refuses_is_told_without_the_secret_and_is_not_about_rows(serve: MakeServer) -> None:
    issuer, server = serve([(401, {"error": "invalid_client"})]), serve([(200, SCHEMA)])
    with pytest.raises(RetriableError, match="gives no token: HTTP 401 invalid_client") as failure:
        client(server.url, bearer_auth_issuer_endpoint_url=issuer.url, **OAUTH).by_id(1)
    assert "s:cret" not in str(failure.value)
    assert (len(issuer.asked), server.asked) == (1, [])
    issuer = serve([(503, {}), token("t1")])
    assert client(server.url, bearer_auth_issuer_endpoint_url=issuer.url, **OAUTH).by_id(1)


def test_what_oauth_needs_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as broken:
        RegistryConfig.parse({"schema.registry.url": "http://a", "bearer.auth.credentials.source": "OAUTHBEARER"})
    assert {p.key for p in broken.value.problems} == {
        "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret",
    }  # fmt: skip


def test_a_refused_user_is_told_without_the_password(serve: MakeServer) -> None:
    server = serve([(401, {"error_code": 40101, "message": "Unauthorized"})])
    url = server.url.replace("http://", "http://me:hunter2@")
    with pytest.raises(RetriableError) as failure:
        client(url).by_id(1)
    assert "does not grant who this is (401)" in str(failure.value)
    assert "hunter2" not in str(failure.value)
    assert len(server.asked) == 1
    server = serve([(503, {})])
    with pytest.raises(RetriableError) as away:
        client(server.url.replace("http://", "http://me:hunter2@")).by_id(1)
    assert "hunter2" not in str(away.value)


def test_missing_credentials_and_addresses_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match="needs user:password here"):
        RegistryConfig.parse({"schema.registry.url": "http://a", "basic.auth.credentials.source": "USER_INFO"})
    with pytest.raises(ConfigError) as broken:
        RegistryConfig.parse({"schema.registry.url": "a:80", "value.subject.name.strategy": "Mine"})
    assert {p.key for p in broken.value.problems} == {"schema.registry.url", "value.subject.name.strategy"}
    with pytest.raises(ConfigError, match=r'Missing required configuration "schema.registry.url"'):
        RegistryConfig.parse({})


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>hello"), (404, b"<html>"), (404, {"error": "Not Found"}), (405, {})]
)
def test_something_else_than_a_registry_is_told_and_is_not_about_rows(
    serve: MakeServer, status: int, body: object
) -> None:
    server = serve([(status, body)])
    with pytest.raises(RetriableError, match="is no schema registry"):
        client(server.url).by_id(1)
    assert len(server.asked) == 1


def test_an_unknown_id_is_about_the_rows_that_name_it(serve: MakeServer) -> None:
    server = serve([(404, {"error_code": 40403, "message": "Schema not found"})])
    with pytest.raises(SchemaError, match="has no schema with id 7"):
        client(server.url).by_id(7)


def test_an_invalid_schema_is_refused_in_the_registrys_words(serve: MakeServer) -> None:
    server = serve([(422, {"error_code": 42201, "message": "Invalid schema: no type"})])
    with pytest.raises(SchemaError, match=r"invalid: Invalid schema: no type \(error code 42201\)"):
        client(server.url).register("s-value", Registered("{}"))


def test_a_schema_that_another_one_registers_at_the_same_time_is_no_conflict(serve: MakeServer) -> None:
    refused = (409, {"error_code": 409, "message": "An artifact with ID 's-value' already exists."})
    server = serve([refused, (200, {"id": 7})])
    assert client(server.url).register("s-value", Registered('"int"')) == 7
    with pytest.raises(SchemaError, match="is incompatible"):
        client(serve([refused]).url).register("s-value", Registered('"int"'))


def test_a_registry_with_a_private_certificate_is_trusted_by_its_file_and_not_without(
    serve: MakeServer, tmp_path: Path
) -> None:
    pem = certificate(tmp_path, "localhost")
    server = serve([(200, SCHEMA)], certificate=pem)
    url = server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(RetriableError, match=r"(?i)certificate verify failed"):
        client(url, max_retries="0").by_id(1)
    assert client(url, schema_registry_ssl_truststore_location=str(pem)).by_id(1).text == '"int"'
    with pytest.raises(RetriableError, match=r"(?i)hostname|IP address"):
        client(server.url, schema_registry_ssl_truststore_location=str(pem), max_retries="0").by_id(1)
    unchecked = {"schema_registry_ssl_endpoint_identification_algorithm": ""}
    assert client(server.url, schema_registry_ssl_truststore_location=str(pem), **unchecked).by_id(1)


def test_a_client_certificate_is_shown(serve: MakeServer, tmp_path: Path) -> None:
    pem, mine = certificate(tmp_path, "localhost"), certificate(tmp_path, "me")
    server = serve([(200, SCHEMA)], certificate=pem, client_ca=mine)
    url = server.url.replace("127.0.0.1", "localhost")
    trust = {"schema_registry_ssl_truststore_location": str(pem)}
    with pytest.raises(RetriableError):
        client(url, max_retries="0", **trust).by_id(1)
    assert client(url, schema_registry_ssl_keystore_location=str(mine), **trust).by_id(1)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b"\xce\xce\xce\xce", "JCEKS.*keytool -importkeystore"),
        (b"\xfe\xed\xfe\xed", "cannot be read.*its password"),
        (b"\x30\x82\x01\x02", "cannot be read.*its password"),
    ],
)
def test_a_java_key_store_that_cannot_be_read_is_told(tmp_path: Path, start: bytes, said: str) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(start + b"\x00")
    with pytest.raises(ConfigError, match=said):
        client("https://localhost:1", schema_registry_ssl_truststore_location=str(store))


def certificate(folder: Path, name: str) -> Path:
    """A key and a certificate signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path
