"""The sink for Elasticsearch and OpenSearch keeps the contract of sinks, on OpenSearch; a raw client reads it back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pytest
import requests
from server_relay import ServerRelay

from connect.testing.drivers import Row
from connect.testing.sink import SinkSuite
from connect.tools.services.opensearch import OpenSearchService
from connect.tools.services.process.ports import free_ports
from connectors.http.plugin import ELASTICSEARCH

pytestmark = pytest.mark.integration


class SearchDriver:
    """Two indices, by way of a relay that can be cut."""

    topic = "orders"
    rows_per_claim = 1
    other_topics = ("returns",)

    def __init__(self, url: str, relay: ServerRelay) -> None:
        self._url = url
        self.relay = relay

    def config(self) -> Mapping[str, str]:
        url = f"http://127.0.0.1:{self.relay.port}"
        return {
            "connection.url": url, "behavior.on.null.values": "delete", "batch.size": "7", "read.timeout.ms": "30000",
        }  # fmt: skip

    def reset(self) -> None:
        for topic in (self.topic, *self.other_topics):
            requests.delete(f"{self._url}/{topic}", timeout=30)

    def read_back(self) -> Sequence[Row]:
        rows: list[Row] = []
        for topic in (self.topic, *self.other_topics):
            requests.post(f"{self._url}/{topic}/_refresh", timeout=30)
            answer = requests.get(f"{self._url}/{topic}/_search?size=10000", timeout=30)
            if answer.status_code == 200:
                rows += [hit["_source"] for hit in json.loads(answer.content)["hits"]["hits"]]
        return rows

    def bad_row(self, row: Row) -> Row:
        return {**row, "number": float("nan")}

    def break_connection(self) -> None:
        self.relay.cut()

    def heal(self) -> None:
        self.relay.start()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, ServerRelay]]:
    with OpenSearchService() as service:
        url = service.endpoint.url
        relay = ServerRelay(*free_ports(1), int(url.rpartition(":")[2]))
        relay.start()
        try:
            yield url, relay
        finally:
            relay.cut()


class TestOpenSearch(SinkSuite):
    plugin = ELASTICSEARCH

    @pytest.fixture
    def driver(self, server: tuple[str, ServerRelay]) -> SearchDriver:
        return SearchDriver(*server)
