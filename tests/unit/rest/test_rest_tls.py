"""Checks https listeners with PEM in files and in values, client certificates, and workers that call each other by
https.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import requests
import trustme
from memory_cluster import Cluster, MemoryOperations
from rest_client import ServerMaker
from sample_plugins import FILE_SOURCE, worker_config

from connect.api.errors import ConfigError
from connect.rest.server.listeners import bind

P = "listeners.https."
CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}
HTTPS = {"listeners": "https://127.0.0.1:0"}


class Certificates:
    """An authority, and a certificate of it for `names`, or else for 127.0.0.1."""

    def __init__(self, folder: Path, *names: str) -> None:
        authority = trustme.CA()
        issued = authority.issue_cert(*(names or ("127.0.0.1", "localhost")))
        self.ca, self.store = folder / "ca.pem", folder / "store.pem"
        authority.cert_pem.write_to_path(str(self.ca))
        issued.private_key_and_cert_chain_pem.write_to_path(str(self.store))
        self.key = issued.private_key_pem.bytes().decode()
        self.chain = "".join(pem.bytes().decode() for pem in issued.cert_chain_pems)

    def files(self, prefix: str = P) -> dict[str, str]:
        return {
            f"{prefix}ssl.keystore.location": str(self.store),
            f"{prefix}ssl.keystore.type": "PEM",
            f"{prefix}ssl.truststore.location": str(self.ca),
            f"{prefix}ssl.truststore.type": "PEM",
        }


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def test_https_is_served_with_certificates_of_files(serve: ServerMaker, certificates: Certificates) -> None:
    rest = serve(worker=HTTPS | certificates.files())
    assert rest.url.startswith("https://127.0.0.1:")
    created = rest("PUT", "/connectors/a/config", CONFIG, verify=str(certificates.ca))
    assert (created.status_code, created.headers["Location"]) == (201, f"{rest.url}/connectors/a")
    with pytest.raises(requests.exceptions.SSLError):
        rest("GET", "/")


def test_https_with_pem_in_the_values(serve: ServerMaker, certificates: Certificates) -> None:
    values = {
        f"{P}ssl.keystore.key": certificates.key.replace("\n", "\\n"),
        f"{P}ssl.keystore.certificate.chain": certificates.chain,
        f"{P}ssl.keystore.type": "PEM",
    }
    assert serve(worker=HTTPS | values)("GET", "/", verify=str(certificates.ca)).status_code == 200


def test_without_keys_of_their_own_listeners_use_the_workers(serve: ServerMaker, certificates: Certificates) -> None:
    rest = serve(worker=HTTPS | certificates.files(""))
    assert rest("GET", "/", verify=str(certificates.ca)).status_code == 200


def test_a_client_may_have_to_show_a_certificate(serve: ServerMaker, certificates: Certificates) -> None:
    rest = serve(worker=HTTPS | certificates.files() | {f"{P}ssl.client.auth": "required"})
    with pytest.raises((requests.exceptions.SSLError, requests.exceptions.ConnectionError)):
        rest("GET", "/", verify=str(certificates.ca))
    assert rest("GET", "/", verify=str(certificates.ca), cert=str(certificates.store)).status_code == 200


def test_workers_call_each_other_by_https(serve: ServerMaker, certificates: Certificates) -> None:
    keys = HTTPS | certificates.files() | {f"{P}ssl.client.auth": "required"}
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster), worker=keys)
    follower = serve(MemoryOperations(cluster, leads=False), worker=keys)
    cluster.leader_url = leader.url
    shown = {"verify": str(certificates.ca), "cert": str(certificates.store)}
    created = follower("PUT", "/connectors/a/config", CONFIG, **shown)
    assert (created.status_code, created.headers["Location"]) == (201, f"{follower.url}/connectors/a")
    assert leader("GET", "/connectors", **shown).json() == ["a"]


@pytest.mark.parametrize(("name", "status"), [("shop-connect", 201), ("other", 500), ("", 500)])
def test_workers_behind_one_name_show_a_certificate_for_it(
    serve: ServerMaker, tmp_path: Path, name: str, status: int
) -> None:
    """Pods of Kubernetes reach each other by addresses that no certificate has; theirs is for their Service."""
    own = Certificates(tmp_path, "shop-connect")
    keys = HTTPS | own.files() | {"rest.advertised.certificate.name": name}
    cluster = Cluster()
    cluster.leader_url = serve(MemoryOperations(cluster), worker=keys).url
    follower = serve(MemoryOperations(cluster, leads=False), worker=keys)
    answer = follower("PUT", "/connectors/a/config", CONFIG, verify=False)
    assert answer.status_code == status
    assert status == 201 or "certificate verify failed" in answer.json()["message"]


@pytest.mark.parametrize("is_trusted_by_the_system", [False, True])
def test_a_leader_that_cannot_be_trusted_is_not_called(
    serve: ServerMaker,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_trusted_by_the_system: bool,
) -> None:
    """The workers' trust store stands in place of the system's authorities, as in Java."""
    cluster, other = Cluster(), Certificates(tmp_path)
    if is_trusted_by_the_system:
        monkeypatch.setenv("SSL_CERT_FILE", str(other.ca))
    leader = serve(MemoryOperations(cluster), worker=HTTPS | other.files())
    follower = serve(MemoryOperations(cluster, leads=False), worker=HTTPS | certificates.files())
    cluster.leader_url = leader.url
    answer = follower("PUT", "/connectors/a/config", CONFIG, verify=str(certificates.ca))
    assert (answer.status_code, answer.json()["error_code"]) == (500, 500)
    assert "certificate verify failed" in answer.json()["message"]


@pytest.mark.parametrize(
    ("settings", "advertised"),
    [
        ({}, "http"),
        ({"rest.advertised.listener": "HTTPS"}, "https"),
        ({"rest.advertised.listener": "http"}, "http"),
    ],
)
def test_of_both_protocols_http_is_advertised_unless_told(
    certificates: Certificates, settings: dict[str, str], advertised: str
) -> None:
    listeners = {"listeners": "https://127.0.0.1:0,HTTP://127.0.0.1:0"}
    bound = bind(worker_config(**listeners, **certificates.files(), **settings))
    ports = {listener.scheme: listener.port for listener in bound.main}
    bound.close()
    assert bound.url == f"{advertised}://127.0.0.1:{ports[advertised]}"


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ({"ssl.keystore.location": ""}, "ssl.keystore.location", "needs a certificate"),
        ({"ssl.keystore.location": "/no/such.pem"}, "ssl.keystore.location", "does not exist"),
        ({"ssl.keystore.type": "JKS"}, "ssl.keystore.type", "reads PEM"),
        ({"ssl.keystore.type": "", "ssl.keystore.location": "/x.p12"}, "ssl.keystore.type", "reads PEM"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth", "must be one of"),
        ({"ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols", "none of TLSv1.2, TLSv1.3"),
    ],
)
def test_keys_that_cannot_be_used(certificates: Certificates, change: dict[str, str], key: str, text: str) -> None:
    keys = certificates.files() | {f"{P}{name}": value for name, value in change.items()}
    with pytest.raises(ConfigError, match=text) as caught:
        bind(worker_config(**HTTPS, **keys))
    assert caught.value.key == f"{P}{key}"


def test_a_key_that_is_none_is_not_shown(tmp_path: Path) -> None:
    store = tmp_path / "s.pem"
    store.write_text("-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n")
    keys = {f"{P}ssl.keystore.location": str(store), f"{P}ssl.keystore.type": "PEM"}
    with pytest.raises(ConfigError) as caught:
        bind(worker_config(**HTTPS, **keys))
    assert "hunter2" not in str(caught.value)
    assert str(store) in str(caught.value)


def test_old_protocols_are_refused(serve: ServerMaker, certificates: Certificates) -> None:
    rest = serve(worker=HTTPS | certificates.files() | {f"{P}ssl.enabled.protocols": "TLSv1.3"})
    context = ssl.create_default_context(cafile=str(certificates.ca))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    session = requests.Session()
    session.mount("https://", _Adapter(context))
    with pytest.raises((requests.exceptions.SSLError, requests.exceptions.ConnectionError)):
        session.get(rest.url, timeout=10)


class _Adapter(requests.adapters.HTTPAdapter):
    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *arguments: object, **more: object) -> None:
        super().init_poolmanager(*arguments, ssl_context=self._context, **more)  # type: ignore[arg-type]
