"""Checks which sources are run beside Java at all, before a cluster is asked for anything."""

from __future__ import annotations

import socket

import pytest

from connect.api.errors import ConfigError
from connect.client.manifests import Manifest
from connect.client.rest import Access, ConnectClient
from connect.poc.beside_java import beside_java
from connect.poc.sandbox.options import Options

pytestmark = pytest.mark.thorough  # each case asks a child process
STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.mark.parametrize(
    "config",
    [
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "database.hostname": "127.0.0.1",
            "database.user": "me", "database.password": "p", "database.dbname": "shop", "topic.prefix": "shop",
            "slot.name": "orders_slot", "plugin.name": "pgoutput",
        },
        {
            "connector.class": "JdbcSource", "connection.url": "jdbc:postgresql://127.0.0.1/shop",
            "connection.user": "me", "mode": "log", "slot.name": "orders_slot", "topic.prefix": "shop.",
            "table.whitelist": "orders",
        },
    ],
    ids=["debezium", "jdbc"],
)  # fmt: skip
def test_a_source_with_a_slot_of_its_owners_is_run_on_no_side(config: dict[str, str]) -> None:
    said: list[str] = []
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # whoever asks the cluster gets no answer
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        worker = {
            "bootstrap.servers": nobody, "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
            "status.storage.topic": "s", "key.converter": STRING, "value.converter": STRING,
        }  # fmt: skip
        rest = ConnectClient(Access(f"http://{nobody}"))
        with pytest.raises(ConfigError, match="replication slot orders_slot"):
            beside_java(Manifest("orders", config, "orders.json"), rest, worker, Options(), said.append)
    assert said == []
