"""The Redis sink that sets a key for each record keeps the contract of sinks; a raw client reads the keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pytest
import redis
from server_relay import ServerRelay

from connect.testing.drivers import Row
from connect.testing.sink import SinkSuite
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.process.ports import free_ports
from connect.tools.services.redis import RedisService
from connectors.redis.plugin import HOSTS

pytestmark = pytest.mark.integration


class RedisDriver:
    """A database of a server, by way of a relay that can be cut."""

    topic = "orders"
    rows_per_claim = 1

    def __init__(self, port: int, relay: ServerRelay) -> None:
        self._client = redis.Redis(port=port, db=1)
        self.relay = relay

    def config(self) -> Mapping[str, str]:
        return {"redis.hosts": f"127.0.0.1:{self.relay.port}"}

    def reset(self) -> None:
        self._client.flushdb()

    def read_back(self) -> Sequence[Row]:
        return [json.loads(self._client.get(key)) for key in self._client.scan_iter()]

    def break_connection(self) -> None:
        self.relay.cut()

    def heal(self) -> None:
        self.relay.start()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, ServerRelay]]:
    service = RedisService()
    try:
        service.prepare()
    except ArtifactError as missing:
        pytest.skip(str(missing))
    with service:
        relay = ServerRelay(*free_ports(1), service.endpoint.port)
        relay.start()
        try:
            yield service.endpoint.port, relay
        finally:
            relay.cut()


class TestRedis(SinkSuite):
    plugin = HOSTS

    @pytest.fixture
    def driver(self, server: tuple[int, ServerRelay]) -> RedisDriver:
        return RedisDriver(*server)
