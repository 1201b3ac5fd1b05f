"""Asks two workers as users of a file and of a real issuer: what each role may do over REST, commands and pages.

Each request goes to both workers, so that one of them sends it on to the leader.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import pytest
import requests
from e2e_worker import WorkerProcess, wait_for
from oidc_issuer import AUDIENCE, Issuer
from rest_workers import two_workers

from connect.tools.services import KafkaEndpoint

ROLES = ["viewer", "operator", "editor", "admin"]
PASSWORD = "s3cret-of-all"
CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/no-such-file"}
LOGGER, DEBUG = "/admin/loggers/x.y", {"level": "DEBUG"}
TOKEN_FIELD = re.compile(r'name="token" value="([\w-]{43})"')
SEEN_FIELD = re.compile(r'name="seen" value="([^"]*)"')
TARGET_FIELD = re.compile(r'name="target" value="([^"]*)"')


class Cluster(NamedTuple):
    """Two workers, and who gives out tokens for them."""

    workers: list[WorkerProcess]
    issuer: Issuer

    def sessions(self, role: str) -> dict[str, requests.Session]:
        """Return who has a role, logged in by password and by token, by the names that the worker gives them."""
        password, token = requests.Session(), requests.Session()
        password.auth = (role, PASSWORD)
        token.headers["Authorization"] = f"Bearer {self.issuer.token(f'{role}-of-issuer', groups=[f'{role}s'])}"
        return {role: password, f"oidc:{role}-of-issuer": token}


@pytest.fixture(scope="module")
def cluster(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("roles")
    users = folder / "users.properties"
    users.write_text("".join(f"{user}={PASSWORD}\n" for user in ROLES))
    issuer = Issuer(folder)
    issuer.start()
    roles = {f"rest.roles.{role}": f"{role} on orders-*, group:{role}s on orders-*" for role in ROLES}
    roles["rest.roles.admin"] += ", oidc:root"
    keys = {"rest.basic.auth.file": str(users), "rest.oidc.issuer": issuer.url, "rest.oidc.audience": AUDIENCE}
    try:
        with two_workers(kafka, folder, **keys, **roles) as workers:
            root = {"Authorization": f"Bearer {issuer.token('root')}"}
            for name in ("orders-1", "payments-1"):
                body = {"name": name, "config": CONFIG}
                made = requests.post(f"{workers[0].url}/connectors", json=body, headers=root, timeout=60)
                assert made.status_code == 201, made.text
            for worker in workers:
                wait_for(lambda url=worker.url: len(requests.get(f"{url}/connectors", headers=root, timeout=60).json())
                         == 2, 60, "both connectors at both workers")  # fmt: skip
            yield Cluster(workers, issuer)
    finally:
        issuer.stop()


def author_of(session: requests.Session, worker: WorkerProcess, config: dict[str, str]) -> str | None:
    """Return who stored a configuration, once the worker has heard of it: it may have sent it on to the leader."""
    newest = session.get(f"{worker.url}/connectors/orders-1/history", timeout=60).json()["configs"][-1]
    return newest["who"] if newest["config"].get("x") == config["x"] else None


def test_each_role_does_what_it_may_at_either_worker(cluster: Cluster) -> None:
    changed = count()
    for rank, role in enumerate(ROLES):
        for who, session in cluster.sessions(role).items():
            for worker in cluster.workers:
                config = {**CONFIG, "x": str(next(changed))}
                actions = [
                    ("GET", "/connectors/orders-1/status", None), ("PUT", "/connectors/orders-1/pause", None),
                    ("PUT", "/connectors/orders-1/config", config),
                ]  # fmt: skip
                for needed, (method, path, body) in enumerate(actions):
                    answer = session.request(method, worker.url + path, json=body, timeout=60)
                    assert (answer.ok, answer.status_code == 403) == (rank >= needed, rank < needed), (who, path)
                    other = path.replace("orders-1", "payments-1")
                    assert session.request(method, worker.url + other, json=body, timeout=60).status_code == 403
                # Levels of logs concern all connectors, and nobody of these has a role at all of them.
                assert session.put(worker.url + LOGGER, json=DEBUG, timeout=60).status_code == 403, who
                assert session.get(f"{worker.url}/connectors", timeout=60).json() == ["orders-1"]
                if rank >= ROLES.index("editor"):
                    author = wait_for(partial(author_of, session, worker, config), 60, "the change in the history")
                    assert author.startswith(f"{who} at 127.0.0.1 ")
    root = {"Authorization": f"Bearer {cluster.issuer.token('root')}"}
    for worker in cluster.workers:
        assert requests.put(worker.url + LOGGER, json=DEBUG, headers=root, timeout=60).ok


def test_commands_say_what_a_role_may_not(cluster: Cluster) -> None:
    for worker in cluster.workers:
        for role, code in (("viewer", 1), ("operator", 0)):
            token = cluster.issuer.token(f"{role}-of-issuer", groups=[f"{role}s"])
            for variables in ({"CONNECT_USER": role, "CONNECT_PASSWORD": PASSWORD}, {"CONNECT_TOKEN": token}):
                ran = subprocess.run(
                    [sys.executable, "-P", "-m", "connect.cli", "connectors", "pause", "orders-1", "--url", worker.url],
                    env={**os.environ, **variables}, capture_output=True, text=True, timeout=120, check=False,
                )  # fmt: skip
                assert ran.returncode == code, ran.stderr
                assert ("it takes the role operator" in ran.stderr) == bool(code)
                assert PASSWORD not in ran.stderr
                assert token not in ran.stderr


def test_pages_do_what_a_role_may(cluster: Cluster) -> None:
    for role, may in (("viewer", False), ("operator", True)):
        for who, session in cluster.sessions(role).items():
            for worker in cluster.workers:
                page = session.get(f"{worker.url}/ui/connector?name=orders-1", timeout=60)
                assert (page.status_code, 'value="stop"' in page.text) == (200, may), who
                editor_page = next(iter(cluster.sessions("editor").values()))
                form = editor_page.get(f"{worker.url}/ui/connector?name=orders-1", timeout=60).text
                (token,), (seen,) = set(TOKEN_FIELD.findall(form)), set(SEEN_FIELD.findall(form))
                (target,) = set(TARGET_FIELD.findall(form))
                fields = {"token": token, "seen": seen, "target": target, "name": "orders-1", "do": "restart"}
                sent = session.post(
                    f"{worker.url}/ui/connector", data=fields, cookies={"connect-ui": token}, timeout=60,
                    headers={"X-Requested-With": "test"}, allow_redirects=False,
                )  # fmt: skip
                assert sent.status_code == (303 if may else 403), (who, sent.text)


def test_clocks_that_are_ten_minutes_apart_are_named(cluster: Cluster) -> None:
    now = time.time()
    wrong = {"expired": {"iat": now - 900, "exp": now - 600}, "one to come": {"iat": now + 600, "exp": now + 900}}
    for worker in cluster.workers:
        for words, claims in wrong.items():
            token = cluster.issuer.token("root", **claims)
            answer = requests.get(f"{worker.url}/connectors", headers={"Authorization": f"Bearer {token}"}, timeout=60)
            assert answer.status_code == 401
            assert words in answer.json()["message"]
            assert "Compare the clocks" in answer.json()["message"]


def test_known_keys_go_on_while_the_issuer_is_away(cluster: Cluster) -> None:
    cluster.issuer.stop()
    try:
        for worker in cluster.workers:
            header = {"Authorization": f"Bearer {cluster.issuer.token('root', jti=worker.url)}"}
            paused = requests.put(f"{worker.url}/connectors/orders-1/pause", headers=header, timeout=60)
            assert paused.status_code == 202, paused.text
    finally:
        cluster.issuer.start()
