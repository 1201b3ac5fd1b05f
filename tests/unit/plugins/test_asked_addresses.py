"""Checks that what a connector waits for is named by the keys and addresses of its configuration, without secrets."""

from __future__ import annotations

import pytest

from connect.plugins.asked_addresses import asked_addresses
from connect.plugins.catalog import Catalog


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            {"connector.class": "JdbcSourceConnector", "connection.url": "postgresql://u:Kx7-9Qz@db:5432/shop?a=1"},
            "connection.url=postgresql://u:[hidden]@db:5432/shop?a=1",
        ),
        ({"connector.class": "CassandraSource", "contact.points": "10.1.2.3,c2"}, "contact.points=10.1.2.3,c2"),
        ({"connector.class": "BigQuerySink", "bigquery.endpoint": "http://bq:9050"}, "bigquery.endpoint=http://bq:9050"),
        ({"connector.class": "S3SinkConnector", "store.url": "http://s3:9000"}, "store.url=http://s3:9000"),
        (
            {
                "connector.class": "FileStreamSource", "value.converter": "io.confluent.connect.avro.AvroConverter",
                "value.converter.schema.registry.url": "http://u:Kx7-9Qz@registry:8081",
            },
            "value.converter.schema.registry.url=http://u:[hidden]@registry:8081",
        ),
        ({"connector.class": "JdbcSourceConnector", "connection.url": "${env:URL}"}, "connection.url=${env:URL}"),
        ({"connector.class": "JdbcSourceConnector"}, ""),
        ({"connector.class": "Nobody"}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_the_addresses_that_a_connector_asks_are_named(config: dict[str, str], told: str) -> None:
    assert asked_addresses(Catalog.installed(), config) == told


def test_a_long_address_is_cut() -> None:
    config = {"connector.class": "JdbcSourceConnector", "connection.url": "postgresql://" + "a" * 5000}
    assert len(asked_addresses(Catalog.installed(), config)) < 250
