"""Checks what a configuration names, as the doctor lists it: by the declarations of the installed plug-ins."""

from __future__ import annotations

import pytest

from connect.api.reach import Reach
from connect.doctor.gathering.reach_facts import named_things
from connect.plugins.catalog import Catalog

pytestmark = pytest.mark.quick
TABLE = {"connector.class": "JdbcSourceConnector", "mode": "bulk", "topic.prefix": "t-", "connection.user": "me"}
SERVER = {"connection.url": "jdbc:postgresql://db:5432/shop?sslrootcert=/ca.pem", "query": "SELECT 1"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.installed()


def _of(catalog: Catalog, config: dict[str, str], *kinds: Reach) -> set[tuple[str, str]]:
    return {(one.key, one.value) for one in named_things(catalog, config) if one.reach in kinds}


def test_a_url_is_a_host_or_a_file_by_what_it_leads_to(catalog):
    server, file = TABLE | SERVER, TABLE | {"connection.url": "jdbc:sqlite:/data/shop.db", "table.whitelist": "orders"}

    assert _of(catalog, server, Reach.HOST, Reach.URL) == {("connection.url", "db:5432")}
    assert _of(catalog, server, Reach.FILE) == {("connection.url", "/ca.pem")}
    assert _of(catalog, server, Reach.SQL) == {("query", "SELECT 1")}
    assert _of(catalog, file, Reach.FILE) == {("connection.url", "/data/shop.db")}
    assert _of(catalog, file, Reach.HOST, Reach.URL, Reach.SQL) == set()


def test_converters_transforms_and_clients_count_too(catalog):
    config = TABLE | SERVER | {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://registry:8081",
        "transforms": "calc", "transforms.calc.type": "connect.transforms.Sql$Value",
        "transforms.calc.select": "price * qty AS total",
        "producer.override.ssl.truststore.location": "/trust.pem",
    }  # fmt: skip

    assert ("value.converter.schema.registry.url", "http://registry:8081") in _of(
        catalog, config, Reach.URL, Reach.HOST
    )
    assert ("transforms.calc.select", "price * qty AS total") in _of(catalog, config, Reach.SQL)
    assert ("producer.override.ssl.truststore.location", "/trust.pem") in _of(catalog, config, Reach.FILE)
    assert {"connector.class", "value.converter"} <= {key for key, _ in _of(catalog, config, Reach.CLASS)}


def test_what_is_broken_or_a_placeholder_is_listed_by_its_declaration(catalog):
    broken = TABLE | {"connection.url": "${file:/db.properties:url}", "batch.max.rows": "many"}

    assert _of(catalog, broken, Reach.HOST) == {("connection.url", "${file:/db.properties:url}")}


def test_nothing_listed_holds_a_secret_or_is_of_an_unknown_class(catalog):
    config = TABLE | {"connection.url": "jdbc:postgresql://me:hidden-word@db/shop", "query": "SELECT 1"}

    assert "hidden-word" not in repr(named_things(catalog, config))
    assert {one.key for one in named_things(catalog, {"connector.class": "Nobody's", "topics": "a"})} == {
        "connector.class"
    }
