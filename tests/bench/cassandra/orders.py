"""Says what the table of the Cassandra bench is, what its rows are, and how the agent is set for it."""

from __future__ import annotations

import json
from decimal import Decimal

from connect.tools.services import KafkaService
from connect.tools.services.cassandra import CassandraEndpoint

PER_PARTITION = 10
TABLE = (
    "CREATE TABLE orders (customer int, line int, state smallint, paid boolean, total decimal, weight double, "
    "name text, street text, city text, country text, note text, made timestamp, PRIMARY KEY (customer, line)) "
    "WITH cdc = true"
)


def columns() -> str:
    return "customer, line, state, paid, total, weight, name, street, city, country, note, made"


def row_of(customer: int, line: int) -> tuple[object, ...]:
    i = customer * PER_PARTITION + line
    note = f"a note about the order {i}" if i % 3 else None
    return (
        customer, line, i % 100, i % 2 == 0, Decimal(i).scaleb(-2), i / 3.0, f"customer name {i}", f"street of {i}",
        f"city {i % 1000}", "DE", note, 1_700_000_000_000 + i,
    )  # fmt: skip


def agent_settings(endpoint: CassandraEndpoint, keyspace: str, prefix: str = "log.", poll_ms: int = 10) -> str:
    return json.dumps(
        {
            "name": f"agent-{keyspace}", "connector.class": "connect.cassandra.CassandraCdcAgent",
            "contact.points": endpoint.host, "port": str(endpoint.port), "cdc.raw.folder": str(endpoint.cdc_raw_folder),
            "tables": f"{keyspace}.*", "topic.prefix": prefix, "poll.interval.ms": str(poll_ms),
        }
    )  # fmt: skip


def job_of(kafka: KafkaService) -> dict[str, str]:
    return {"bootstrap": kafka.endpoint.bootstrap_servers}
