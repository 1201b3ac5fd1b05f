"""Renews the certificates of listeners that are served, whole, half written and of another authority."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
import trustme
from cryptography import x509
from memory_cluster import Cluster, MemoryOperations
from rest_client import FILE_SOURCE, Rest, ServerMaker

from connect.rest.tls import renewal

P = "listeners.https."
CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "LOOK_S", 0.02)


class Store:
    """The PEM files of a worker, which are replaced as cert-manager and Kubernetes replace them."""

    def __init__(self, folder: Path) -> None:
        self.file, self.trust = folder / "store.pem", folder / "ca.pem"
        self.authorities = [trustme.CA()]
        self.issue()
        self.write_trust()

    def issue(self) -> int:
        """Replace the certificate by another one of the newest authority; return its serial number."""
        issued = self.authorities[-1].issue_cert("127.0.0.1")
        self.replace(issued.private_key_and_cert_chain_pem.bytes())
        return x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes()).serial_number

    def replace(self, data: bytes) -> None:
        whole = self.file.with_suffix(".new")
        whole.write_bytes(data)
        whole.replace(self.file)

    def write_trust(self) -> None:
        self.trust.write_bytes(b"".join(one.cert_pem.bytes() for one in self.authorities))

    def keys(self) -> dict[str, str]:
        return {
            "listeners": "https://127.0.0.1:0",
            f"{P}ssl.keystore.location": str(self.file), f"{P}ssl.keystore.type": "PEM",
            f"{P}ssl.truststore.location": str(self.trust), f"{P}ssl.truststore.type": "PEM",
        }  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def shown(rest: Rest) -> int:
    """The serial number of the certificate that the listener shows."""
    port = int(rest.url.rpartition(":")[2])
    return x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", port)).encode()).serial_number


def until(holds: Callable[[], bool], said: str) -> None:
    end_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end_s, said


def test_a_renewed_certificate_is_shown_without_a_restart(serve: ServerMaker, store: Store) -> None:
    rest = serve(worker=store.keys())
    before = shown(rest)
    with requests.Session() as open_before:
        open_before.get(rest.url, verify=str(store.trust), timeout=30)
        for _ in range(3):
            new = store.issue()
            until(lambda: shown(rest) == new, "the certificate is not renewed")  # noqa: B023 - called at once
        assert before != new
        assert open_before.get(rest.url, verify=str(store.trust), timeout=30).status_code == 200
    assert rest("GET", "/", verify=str(store.trust)).status_code == 200


@pytest.mark.parametrize("broken", [b"", b"no PEM", b"\xff\xfe", "half", "other key", None])
def test_a_broken_file_leaves_the_certificate_as_it_was(
    serve: ServerMaker, store: Store, caplog: pytest.LogCaptureFixture, broken: bytes | str | None
) -> None:
    caplog.set_level(logging.INFO)
    rest = serve(worker=store.keys())
    before, whole = shown(rest), store.file.read_bytes()
    if broken is None:
        store.file.unlink()
    else:
        key_of_another = trustme.CA().issue_cert("127.0.0.1").private_key_pem.bytes()
        forms = {"half": whole[:-300], "other key": key_of_another + whole[whole.index(b"-----BEGIN CERT") :]}
        store.replace(broken if isinstance(broken, bytes) else forms[broken])
    until(lambda: "stays as it was" in caplog.text, "nothing is said")
    assert shown(rest) == before
    assert "PRIVATE KEY" not in caplog.text
    new = store.issue()
    until(lambda: shown(rest) == new, "the certificate is not renewed after a broken one")


def test_a_renewal_that_fails_for_now_is_tried_again_and_told_once(
    serve: ServerMaker, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rest, load, failed = serve(worker=store.keys()), renewal.renew, []

    def at_last(context: ssl.SSLContext, *more: object) -> None:
        failed.append(context)
        if failed.count(context) < 4:
            raise OSError(24, "Too many open files")
        load(context, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(renewal, "renew", at_last)
    new = store.issue()
    # The listener has a context, and so have calls of other workers.
    until(lambda: len(failed) == 8, "it is not tried again")
    until(lambda: shown(rest) == new, "the certificate is not renewed")
    assert (len(set(failed)), caplog.text.count("stays as it was")) == (2, 2)


def test_workers_call_each_other_after_another_authority_has_taken_over(serve: ServerMaker, store: Store) -> None:
    keys = store.keys() | {f"{P}ssl.client.auth": "required"}
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster), worker=keys)
    follower = serve(MemoryOperations(cluster, leads=False), worker=keys)
    cluster.leader_url = leader.url
    store.authorities.append(trustme.CA())
    store.write_trust()
    store.issue()

    def is_answered() -> bool:
        shows = {"verify": str(store.trust), "cert": str(store.file)}
        try:
            return follower("PUT", "/connectors/a/config", CONFIG, **shows).status_code in {200, 201}
        except requests.exceptions.RequestException:  # The follower does not know the new authority yet.
            return False

    until(is_answered, "workers do not trust the new authority")
