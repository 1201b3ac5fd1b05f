"""Configurations drawn at random over the keys of all connectors, with bait, on a worker in the strict profile.

What must hold of each: no host is reached but the listed one, no file outside of the list is opened, no code runs, and
no answer and no line of the log tells a secret or the content of a bait.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest
import requests
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint

DRAWS = 60
BAIT = "content-of-a-bait-5a1t"

CHECKED = {
    "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector": ("connection.url", "http://{}"),
    "com.redis.kafka.connect.RedisSinkConnector": ("redis.uri", "redis://{}"),
    "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector": ("redis.hosts", "{}"),
}
"""These have a check that connects, and need one address alone."""


class Listener:
    """A server that counts who comes, and answers nothing."""

    def __init__(self) -> None:
        found: list[bytes] = []

        class Take(BaseRequestHandler):
            def handle(self) -> None:
                self.request.settimeout(5)
                found.append(self.request.recv(100))

        self.found = found
        self._server = ThreadingTCPServer(("127.0.0.1", 0), Take)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Attacker:
    """Draws configurations. It knows the keys that `GET /connector-plugins` tells, and no code."""

    def __init__(self, worker: WorkerProcess, listed: Listener, other: Listener, folder: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.worker, self.listed, self.other, self.folder = worker, listed, other, folder
        found = requests.get(f"{worker.url}/connector-plugins", timeout=60).json()
        self.required: dict[str, set[str]] = {}
        self.keys = {one["class"]: self._keys_of(one["class"]) for one in found}
        self.secrets: list[str] = []

    def config(self) -> tuple[str, dict[str, Any]]:
        plugin = self.draw.choice(sorted(self.keys if self.draw.random() < 0.6 else CHECKED))
        keys = {name: kind for name, kind in self.keys[plugin].items() if name not in {"name", "connector.class"}}
        config = {"connector.class": plugin, "name": "drawn", "topics": "t"}
        for name in keys:
            if name in self.required[plugin]:
                config[name] = "none" if name.endswith(".type") else "1"
            # Most keys of addresses lead to the listed host, so that checks get as far as they can.
            if name.rpartition(".")[2] == "url" and "proxy" not in name:
                config[name] = f"http://{self.listed.address}"
        if plugin in CHECKED and self.draw.random() < 0.7:
            (name, form) = CHECKED[plugin]
            good = form.format(self.listed.address)
            addresses = [good, good.replace(self.listed.address, self.other.address), self._payload()]
            return plugin, {
                "connector.class": plugin,
                "name": "drawn",
                "topics": "t",
                name: self.draw.choice(addresses),
            }
        for name in self.draw.sample(sorted(keys), self.draw.randint(1, 3)):
            config[name] = self._secret() if keys[name] == "PASSWORD" else self._payload()
        return plugin, config

    def _keys_of(self, plugin: str) -> dict[str, str]:
        answer = requests.get(f"{self.worker.url}/connector-plugins/{plugin}/config", timeout=60)
        self.required[plugin] = {key["name"] for key in answer.json() if key["required"]}
        return {key["name"]: key["type"] for key in answer.json()}

    def _secret(self) -> str:
        self.secrets.append(f"Sekr1t{self.draw.getrandbits(60):x}")
        return self.secrets[-1]

    def _payload(self) -> str:
        bait, other, pwned = self.folder / "bait.properties", self.other.address, self.folder / "pwned"
        return self.draw.choice([
            str(bait), f"file://{bait}", f"jdbc:sqlite:{bait}", f"${{file:{bait}:secret}}", other, f"http://{other}/",
            f"http://u:{self._secret()}@{other}/x", f"jdbc:postgresql://{other}/d",
            f"redis://{self.listed.address},{other}",
            f"http://{self.listed.address}@{other}/", f"http://{self.listed.address}\\@{other}",
            f"localhost:{other[10:]}",
            "os.system", "subprocess.Popen", f"$(touch {pwned})", f"password={self._secret()};user=u",
            f"Authorization:Bearer {self._secret()}", "A" * 100_000, "(" * 5000, "9" * 5000, "\x00",
            "{}", "-1", "1e400",
        ])  # fmt: skip


@pytest.fixture
def bait(tmp_path: Path) -> Path:
    (tmp_path / "bait.properties").write_text(f"secret={BAIT}\n")
    return tmp_path


@pytest.fixture
def listeners() -> Iterator[tuple[Listener, Listener]]:
    both = Listener(), Listener()
    yield both
    for one in both:
        one.close()


@pytest.mark.parametrize("seed", [1])
def test_no_drawn_configuration_gets_out_of_bounds(
    kafka: KafkaEndpoint, bait: Path, listeners: tuple[Listener, Listener], seed: int
) -> None:
    listed, other = listeners
    (allowed := bait / "allowed").mkdir()
    settings = {
        "security.profile": "strict", "allowed.hosts": listed.address, "allowed.paths": str(allowed),
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }  # fmt: skip
    worker = WorkerProcess(bait / "worker", kafka.bootstrap_servers, f"drawn-{seed}", **settings)
    worker.start()
    try:
        attacker = Attacker(worker, listed, other, bait, seed)
        for _ in range(DRAWS):
            plugin, config = attacker.config()
            answer = requests.put(f"{worker.url}/connector-plugins/{plugin}/config/validate", json=config, timeout=120)
            shown = json.dumps({name: str(value)[:100] for name, value in config.items()})
            assert answer.status_code < 500, (answer.text[:500], shown)
            assert [one for one in (*attacker.secrets, BAIT) if one in answer.text] == [], shown
            assert other.found == [], shown
            assert not (bait / "pwned").exists(), shown
        log = worker.log_tail()
        assert [one for one in (*attacker.secrets, BAIT) if one in log] == []
        assert listed.found, "checks reached the listed host"
        assert worker.healthy()
    finally:
        worker.stop()
