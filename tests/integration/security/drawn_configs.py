"""Draws configurations over the keys of all connectors without knowing their code, and watches the bait in them."""

from __future__ import annotations

import ctypes
import os
import random
import re
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import requests
from e2e_worker import WorkerProcess

BAIT = "content-of-a-bait-5a1t"
CHECKED = {
    "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector": ("connection.url", "http://{}"),
    "com.redis.kafka.connect.RedisSinkConnector": ("redis.uri", "redis://{}"),
    "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector": ("redis.hosts", "{}"),
}
"""These connectors have a check that connects, and need only one address."""


FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
READY: Mapping[str, Mapping[str, str]] = {
    "io.confluent.connect.jdbc.JdbcSourceConnector": {
        "connection.url": "jdbc:sqlite:{}/db", "mode": "bulk", "topic.prefix": "t", "table.whitelist": "x",
    },
    "connect.file.DataFilesSourceConnector": {"folder": "{}", "format": "csv", "topic": "t"},
    FILE_SOURCE: {"file": "{}/lines.txt", "topic": "t"},
    "org.apache.kafka.connect.file.FileStreamSinkConnector": {"file": "{}/out.txt", "topics": "t"},
}  # fmt: skip
"""These have all that they need within the allowed folder, so that other drawn keys are read, and the connector
runs.
"""
FUNCTIONS = ("os:mkdir", "posix:mkdir", "pathlib:os.mkdir", "shutil:os.mkdir", "os:makedirs")
"""These functions make a folder that has the name in a row."""
_FILES = re.compile(r"file|path|folder|location|warehouse|cert|bucket")
_HOSTS = re.compile(r"url|uri|host|server|endpoint|contact|proxy")
_CODE = re.compile(r"class|function|provider|impl|type$")
_NAMES = {"name", "connector.class", "transforms", "predicates"}
"""Every answer shows the values of these keys, as they are names of parts."""
_OPENED, _MADE = 0x20, 0x100
_EVENT = struct.Struct("iIII")


class Watch:
    """Tells by the kernel's inotify which files of a folder any process has opened or made."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK)
        if self._descriptor < 0 or libc.inotify_add_watch(self._descriptor, bytes(folder), _OPENED | _MADE) < 0:
            raise OSError(ctypes.get_errno(), f"The folder {folder} cannot be watched")

    def touched(self) -> list[str]:
        """Return the names of files touched since the last call; an empty name stands for the folder itself."""
        try:
            data = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return []
        return list(_names(data))

    def close(self) -> None:
        os.close(self._descriptor)


def _names(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        *_, size = _EVENT.unpack_from(data, at)
        at += _EVENT.size + size
        yield data[at - size : at].rstrip(b"\0").decode()


class Listener:
    """Runs a server that counts connections and answers nothing."""

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
    """Draws configurations. It knows the keys that `GET /connector-plugins` shows, and no code."""

    def __init__(self, worker: WorkerProcess, listed: Listener, other: Listener, folder: Path, seed: int) -> None:
        """Take the worker and the servers. `folder` has the folders `allowed` and `outside`."""
        self.draw = random.Random(seed)
        self.worker, self.listed, self.other = worker, listed, other
        self.allowed, self.outside = folder / "allowed", folder / "outside"
        found = requests.get(f"{worker.url}/connector-plugins", timeout=60).json()
        self.required: dict[str, set[str]] = {}
        self.keys = {one["class"]: self._keys_of(one["class"]) for one in found}
        self.secrets: list[str] = []

    def config(self) -> tuple[str, dict[str, Any]]:
        """Return the name of a plug-in and a configuration for it."""
        draws = (self._ready, self._checked, self._any)
        plugin, config = self.draw.choices(draws, (5, 3, 5))[0]()
        return plugin, {"connector.class": plugin, "name": "drawn", **config}

    def _ready(self) -> tuple[str, dict[str, Any]]:
        plugin = self.draw.choice(sorted(READY))
        config = {key: text.format(self.allowed) for key, text in READY[plugin].items()}
        if self.draw.random() < 0.4:
            function = self.draw.choice(FUNCTIONS)
            code = {"transforms": "f", "transforms.f.type": "connect.transforms.PythonFunction$Value"}
            ready = {key: text.format(self.allowed) for key, text in READY[FILE_SOURCE].items()}
            return FILE_SOURCE, {**ready, **code, "transforms.f.function": function}
        named = [key for key in config if _FILES.search(key) or _HOSTS.search(key)]
        others = sorted(set(self.keys[plugin]) - set(config) - _NAMES)
        drawn = self.draw.choice(named if self.draw.random() < 0.5 else others)
        return plugin, config | {drawn: self._payload(drawn)}

    def _checked(self) -> tuple[str, dict[str, Any]]:
        plugin = self.draw.choice(sorted(CHECKED))
        name, form = CHECKED[plugin]
        good = form.format(self.listed.address)
        addresses = [good, good.replace(self.listed.address, self.other.address), self._payload(name)]
        return plugin, {"topics": "t", name: self.draw.choice(addresses)}

    def _any(self) -> tuple[str, dict[str, Any]]:
        plugin = self.draw.choice(sorted(self.keys))
        keys = {name: kind for name, kind in self.keys[plugin].items() if name not in _NAMES}
        config = {"topics": "t"}
        for name in keys:
            if name in self.required[plugin]:
                config[name] = "none" if name.endswith(".type") else "1"
            # Most keys of addresses lead to the listed host, so that checks get as far as possible.
            if name.rpartition(".")[2] == "url" and "proxy" not in name:
                config[name] = f"http://{self.listed.address}"
        for name in self.draw.sample(sorted(keys), self.draw.randint(1, 3)):
            config[name] = self._secret() if keys[name] == "PASSWORD" else self._payload(name)
        return plugin, config

    def _keys_of(self, plugin: str) -> dict[str, str]:
        answer = requests.get(f"{self.worker.url}/connector-plugins/{plugin}/config", timeout=60)
        self.required[plugin] = {key["name"] for key in answer.json() if key["required"]}
        return {key["name"]: key["type"] for key in answer.json()}

    def _secret(self) -> str:
        self.secrets.append(f"Sekr1t{self.draw.getrandbits(60):x}")
        return self.secrets[-1]

    def _payload(self, key: str) -> str:
        bait, other, pwned = self.outside / "bait.csv", self.other.address, self.outside / "pwned"
        files = [str(bait), f"file://{bait}", f"jdbc:sqlite:{bait}", f"${{file:{bait}:secret}}", str(pwned),
                 str(self.outside), f"{self.allowed}/../outside/bait.csv", f"{self.allowed}/link/bait.csv"]  # fmt: skip
        hosts = [
            other, f"http://{other}/", f"http://u:{self._secret()}@{other}/x", f"jdbc:postgresql://{other}/d",
            f"jdbc:sqlite:{bait}", f"redis://{self.listed.address},{other}", f"http://{self.listed.address}@{other}/",
            f"http://{self.listed.address}\\@{other}", f"localhost:{other[10:]}",
        ]  # fmt: skip
        code = ["os.system", "subprocess.Popen", f"$(touch {pwned})"]
        rest = [
            f"password={self._secret()};user=u", f"Authorization:Bearer {self._secret()}", "A" * 100_000, "(" * 5000,
            "9" * 5000, "\x00", "{}", "-1", "1e400",
        ]  # fmt: skip
        fitting = {_FILES: files, _HOSTS: hosts, _CODE: code}
        chosen = [texts for names, texts in fitting.items() if names.search(key)]
        if chosen and self.draw.random() < 0.7:
            return self.draw.choice(self.draw.choice(chosen))
        return self.draw.choice([*files, *hosts, *code, *rest])
