"""Runs two real workers whose users are client certificates: roles go by common name, also where a request is sent
on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests
import trustme
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint
from connect.tools.services.process.ports import free_ports

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t", "file": "/tmp/no-such-file"}
WORKER_NAME = "worker.example"
ROLES = {
    "rest.roles.viewer": "certificate:*",
    "rest.roles.editor": "certificate:*.orders.example on orders-*",
    "rest.roles.admin": "certificate:root",
}


class Worker(WorkerProcess):
    """Answers https only; who shows no certificate is let in by TLS, and refused by REST."""

    def __init__(self, folder: Path, bootstrap_servers: str, name: str, ca: Path, own: Path) -> None:
        (port,) = free_ports(1)
        self.verify, self.own = str(ca), own
        audit = folder / "audit.jsonl"
        self.audit = audit
        super().__init__(
            folder, bootstrap_servers, name,
            **{
                "listeners": f"https://127.0.0.1:{port}", "listeners.https.ssl.keystore.type": "PEM",
                "listeners.https.ssl.keystore.location": str(own), "listeners.https.ssl.truststore.type": "PEM",
                "listeners.https.ssl.truststore.location": str(ca), "listeners.https.ssl.client.auth": "requested",
                "rest.audit.log.file": str(audit), **ROLES,
            },
        )  # fmt: skip
        self.url = f"https://127.0.0.1:{port}"

    def healthy(self) -> bool:
        try:
            return self.ask(self.own, "GET", "/health").status_code == 200
        except requests.RequestException:
            return False

    def ask(self, shown: Path | None, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        given: dict[str, Any] = {"verify": self.verify, "timeout": 60, "headers": headers}
        return requests.request(method, self.url + path, cert=None if shown is None else str(shown), json=body, **given)


class Cluster(NamedTuple):
    """Two workers, and certificates by the common names of their owners."""

    workers: list[Worker]
    people: dict[str, Path]
    authority: Path


@pytest.fixture(scope="module")
def cluster(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = trustme.CA(), trustme.CA()
    ca = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca))

    def certificate(by: trustme.CA, file: str, name: str | None) -> Path:
        path = folder / f"{file}.pem"
        by.issue_cert("127.0.0.1", common_name=name).private_key_and_cert_chain_pem.write_to_path(str(path))
        return path

    people = {name: certificate(authority, name, name) for name in ("root", "ada.orders.example", WORKER_NAME)}
    people |= {"nameless": certificate(authority, "nameless", None), "foreign": certificate(other, "foreign", "root")}
    group = f"certificates-{os.getpid()}"
    pair = [Worker(folder / f"w{n}", kafka.bootstrap_servers, group, ca, people[WORKER_NAME]) for n in (1, 2)]
    try:
        for worker in pair:
            worker.start()
        yield Cluster(pair, people, ca)
    finally:
        for worker in pair:
            worker.stop()


def test_each_does_what_its_common_name_may_through_either_worker(cluster: Cluster) -> None:
    root, ada = cluster.people["root"], cluster.people["ada.orders.example"]
    for number, worker in enumerate(cluster.workers):
        orders, others = {"name": f"orders-{number}", "config": SOURCE}, {"name": f"x-{number}", "config": SOURCE}
        assert worker.ask(ada, "POST", "/connectors", orders).status_code == 201
        refused = worker.ask(ada, "POST", "/connectors", others)
        assert (refused.status_code, refused.json()["message"]) == (
            403, f"certificate:ada.orders.example may not do this to connector x-{number}: it takes the role editor.",
        )  # fmt: skip
        assert worker.ask(root, "POST", "/connectors", others).status_code == 201
        assert worker.ask(ada, "DELETE", f"/connectors/x-{number}").status_code == 403
        assert set(worker.ask(ada, "GET", "/connectors").json()) >= {f"orders-{number}", f"x-{number}"}
    written = [line for worker in cluster.workers for line in worker.audit.read_text().splitlines()]
    assert any('"certificate:ada.orders.example"' in line for line in written)


@pytest.mark.parametrize("who", [None, "nameless"])
def test_nobody_without_a_name_gets_in(cluster: Cluster, who: str | None) -> None:
    shown = None if who is None else cluster.people[who]
    for worker in cluster.workers:
        answer = worker.ask(shown, "POST", "/connectors", {"name": "orders-none", "config": SOURCE})
        assert answer.status_code == 401
        assert worker.ask(shown, "GET", "/health").status_code == 200  # probes have none


def test_a_certificate_of_another_authority_ends_in_tls(cluster: Cluster) -> None:
    with pytest.raises(requests.exceptions.RequestException, match=r"(?i)ssl|reset|eof|closed"):
        cluster.workers[0].ask(cluster.people["foreign"], "GET", "/connectors")


def test_nobody_but_a_worker_says_whose_certificate_it_saw(cluster: Cluster) -> None:
    ada = cluster.people["ada.orders.example"]
    forged = {
        "X-Forwarded-For": "127.0.0.1", "X-Connect-Forwarded-Certificate-User": "certificate%3Aroot",
        "X-Connect-Forwarded-Signature": "0" * 64,
    }  # fmt: skip
    for worker in cluster.workers:
        for shown, status in ((ada, 403), (None, 401)):
            for path in ("/connectors", "/connectors?forward=true", "/connectors?forward=false"):
                answer = worker.ask(shown, "POST", path, {"name": "x-forged", "config": SOURCE}, **forged)
                assert answer.status_code in {status, 409}, answer.text
        names = worker.ask(cluster.people["root"], "GET", "/connectors").json()
        assert "x-forged" not in names


def test_commands_show_a_certificate(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONNECT_CONTEXTS", str(tmp_path / "contexts.yaml"))

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "connect.cli", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    files = ["--ca-file", str(cluster.authority)]
    ada = str(cluster.people["ada.orders.example"])
    assert typed("context", "add", "prod", cluster.workers[0].url, *files, "--cert-file", ada).returncode == 0
    wait_for(lambda: typed("connectors", "list").returncode == 0, 60, "the list")
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    assert typed("context", "add", "prod", cluster.workers[0].url, *files, "--cert-file", str(broken)).returncode == 0
    shown = typed("connectors", "list")
    assert shown.returncode == 1
    assert f"The client certificate in {broken} cannot be used" in shown.stderr
    assert "Traceback" not in shown.stderr
