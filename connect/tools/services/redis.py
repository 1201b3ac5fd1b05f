"""Provides Redis, where its server is installed."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.supervised import SupervisedService


@dataclass(frozen=True)
class RedisEndpoint:
    """Holds the address for clients."""

    host: str
    port: int


class RedisService(SupervisedService[RedisEndpoint]):
    """Keeps a Redis without a password, which writes each command into its log before it answers."""

    name: ClassVar[str] = "redis"
    port_names: ClassVar[tuple[str, ...]] = ("port",)

    def prepare(self) -> None:
        _binary()

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        log = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
        return [_binary(), "--bind", LOOPBACK, "--port", str(ports["port"]), "--dir", str(folder), *log]

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> RedisEndpoint:
        del folder
        return RedisEndpoint(LOOPBACK, ports["port"])

    def _answers(self, endpoint: RedisEndpoint, timeout_s: float) -> bool:
        del timeout_s
        return accepts_connections(endpoint.port)


def _binary() -> str:
    found = shutil.which("redis-server")
    if found is None:
        raise ArtifactError("There is no redis-server.", fix="Install it: apt-get install redis-server.")
    return found
