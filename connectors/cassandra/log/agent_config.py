"""Declares the settings of the agent beside a node. No driver, and no I/O but for the node's own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from connect.api.config import Int, ListOf, String, at_least, between, key, non_empty
from connect.api.reach import Reach
from connectors.cassandra.cql.connection_keys import CONTACT, ConnectionKeys
from connectors.cassandra.log.node_yaml import KEY, with_node_settings

CAPTURE = "Change data capture"


class CassandraAgentConfig(ConnectionKeys):
    """Declares the settings for reading a node's commit log."""

    cassandra_yaml: String = key(
        KEY, "", importance="high", group=CAPTURE,
        reach=Reach.FILE, bounds="of whoever runs the agent, who may name any",
        doc="The node's cassandra.yaml, so that one file serves the agents of all nodes: cdc.raw.folder, port, "
        "contact.points and ssl.enabled are taken from it where they are not given.",
    )  # fmt: skip
    contact_points: Annotated[ListOf, non_empty] = key(
        "contact.points", ("127.0.0.1",), importance="high", group=CONTACT,
        reach=Reach.HOST, bounds="spoken CQL to, and nothing else",
        doc="The node itself, which is asked for its tables; no other node is.",
    )  # fmt: skip
    cdc_raw_folder: Annotated[String, non_empty] = key(
        "cdc.raw.folder", importance="high", group=CAPTURE,
        reach=Reach.FILE, bounds="of whoever runs the agent, who may name any",
        doc="The node's cdc_raw_directory. Segments are deleted there once all of their changes are in Kafka.",
    )  # fmt: skip
    tables: ListOf = key(
        "tables", (), importance="high", group=CAPTURE,
        doc="The tables whose changes are sent, as keyspace.table or keyspace.*; empty: all with cdc=true.",
    )  # fmt: skip
    topic_prefix: String = key(
        "topic.prefix", "", importance="high", group=CAPTURE,
        doc="A table's topic is this prefix, the keyspace, a dot and the table.",
    )  # fmt: skip
    poll_interval_ms: Annotated[Int, between(1, 60_000)] = key(
        "poll.interval.ms", 500, group=CAPTURE, doc="How often new changes are looked for."
    )  # fmt: skip
    batch_max_rows: Annotated[Int, at_least(1)] = key(
        "batch.max.rows", 2000, group=CAPTURE, importance="low", former=["max.batch.size"],
        doc="The most mutations that go into one batch, of 512 KiB at most.",
    )  # fmt: skip

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        """Return the typed settings, with those of the node's cassandra.yaml where it is named."""
        return super().parse(with_node_settings(properties))
