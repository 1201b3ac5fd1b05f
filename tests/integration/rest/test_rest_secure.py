"""Runs two real workers behind https with client certificates and passwords: they reach each other, nobody else gets
in.
"""

import pytest
import requests
import trustme
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services.process.ports import free_ports

USER = ("ada", "love:lace")
SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t", "file": "/tmp/no-such-file"}


class SecureWorker(WorkerProcess):
    """Answers https only, and only to USER with a certificate."""

    def __init__(self, folder, bootstrap_servers, name, ca, store, users):
        port, admin = free_ports(2)
        self.verify, self.cert = str(ca), str(store)
        self.admin_url = f"http://127.0.0.1:{admin}"
        super().__init__(
            folder, bootstrap_servers, name,
            **{
                "listeners": f"https://127.0.0.1:{port}", "listeners.https.ssl.keystore.type": "PEM",
                "listeners.https.ssl.keystore.location": str(store), "listeners.https.ssl.truststore.type": "PEM",
                "listeners.https.ssl.truststore.location": str(ca), "listeners.https.ssl.client.auth": "required",
                "admin.listeners": self.admin_url, "rest.basic.auth.file": str(users),
                "rest.extension.classes":
                    "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension",
                "access.control.allow.origin": "https://console.example",
                "response.http.headers.config": "set X-Frame-Options: deny",
            },
        )  # fmt: skip
        self.url = f"https://127.0.0.1:{port}"

    def healthy(self):
        try:
            return self.ask("GET", "/health").status_code == 200
        except requests.RequestException:
            return False

    def ask(self, method, path, body=None, auth=USER):
        given = {"verify": self.verify, "cert": self.cert, "auth": auth, "timeout": 60}
        return requests.request(method, self.url + path, json=body, **given)


@pytest.fixture(scope="module")
def workers(kafka, tmp_path_factory):
    folder = tmp_path_factory.mktemp("secure")
    authority = trustme.CA()
    ca, store, users = folder / "ca.pem", folder / "store.pem", folder / "users.properties"
    authority.cert_pem.write_to_path(str(ca))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(store))
    users.write_text(f"{USER[0]}={USER[1]}\n")
    keys = (ca, store, users)
    pair = [SecureWorker(folder / f"w{n}", kafka.bootstrap_servers, folder.name, *keys) for n in (1, 2)]
    try:
        for worker in pair:
            worker.start()
        yield pair
    finally:
        for worker in pair:
            worker.stop()


def test_a_connector_lives_through_either_worker(workers):
    for n, (one, other) in enumerate((workers, workers[::-1])):
        name, path = f"c{n}", f"/connectors/c{n}"
        created = one.ask("POST", "/connectors", {"name": name, "config": SOURCE})
        assert (created.status_code, created.headers["Location"]) == (201, f"{one.url}{path}")
        assert created.headers["X-Frame-Options"] == "deny"

        def state(worker=other, path=path):
            return worker.ask("GET", f"{path}/status").json().get("connector", {}).get("state")

        wait_for(lambda state=state: state() == "RUNNING", 30, "the connector runs")
        tasks = wait_for(lambda path=path, other=other: other.ask("GET", path).json()["tasks"], 30, "its task")
        assert tasks == [{"connector": name, "task": 0}]
        assert other.ask("PUT", f"{path}/config", {**SOURCE, "x": "1"}).status_code == 200
        for worker in workers:
            assert worker.ask("POST", f"{path}/tasks/0/restart").status_code == 204
        assert one.ask("DELETE", path).status_code == 204


def test_who_lacks_a_certificate_or_a_password_gets_nothing(workers):
    worker = workers[0]
    for auth in (None, ("ada", "wrong"), ("eve", "love:lace")):
        answer = worker.ask("GET", "/connectors", auth=auth)
        assert (answer.status_code, answer.json()["error_code"]) == (401, 401)
    with pytest.raises(requests.ConnectionError):
        requests.get(worker.url, verify=worker.verify, auth=USER, timeout=10)
    with pytest.raises(requests.ConnectionError):
        requests.get(worker.url.replace("https", "http"), auth=USER, timeout=10)


def test_admin_paths_are_on_their_own_listener_only(workers):
    worker = workers[0]
    assert worker.ask("GET", "/admin/loggers").status_code == 404
    assert requests.get(f"{worker.admin_url}/admin/loggers", timeout=10).status_code == 401
    assert "root" in requests.get(f"{worker.admin_url}/admin/loggers", auth=USER, timeout=10).json()
    assert requests.get(f"{worker.admin_url}/connectors", auth=USER, timeout=10).status_code == 404
    changed = requests.put(
        f"{worker.admin_url}/admin/loggers/x.y?scope=cluster", json={"level": "DEBUG"}, auth=USER, timeout=10
    )
    assert changed.status_code == 204
    other = workers[1]

    def level():
        found = requests.get(f"{other.admin_url}/admin/loggers/x.y", auth=USER, timeout=10)
        return found.json().get("level") == "DEBUG"

    wait_for(level, 30, "the level reaches the other worker")


def test_no_password_and_no_key_is_in_a_log(workers):
    for worker in workers:
        text = worker.log_path.read_text()
        assert USER[1] not in text
        assert "PRIVATE KEY" not in text
