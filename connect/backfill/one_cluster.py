"""Refuses a connector whose producer writes to another Kafka than the one in which the job's markers are read."""

from __future__ import annotations

from typing import Final

from connect.api.errors import ConfigError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part, admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts

_BROKERS: Final = "bootstrap.servers"


def require_one_cluster(parts: ConnectorParts, deadline: Deadline) -> None:
    """Raise ConfigError if the connector's producer writes to another cluster than the worker's.

    Rows, markers and offsets are written in one transaction by that producer, and the job reads them from the worker's
    cluster. Other addresses of one cluster are allowed. RetriableError: one of them does not answer by the deadline.
    """
    writes = admin_part(parts.producer_settings("connect-backfill-writes", ""))
    reads = admin_settings(parts.clients.worker_properties, {}, "connect-backfill-reads").properties
    if writes.get(_BROKERS) == reads.get(_BROKERS):
        return
    if TopicAdmin(writes).cluster_id(deadline) != TopicAdmin(reads).cluster_id(deadline):
        raise ConfigError(
            f"Connector {parts.resolved['name']} writes to the Kafka at {writes.get(_BROKERS)}, and the worker's is at "
            f"{reads.get(_BROKERS)}: rows, the job's markers and offsets cannot be written there in one transaction "
            "and read here.",
            key=f"producer.override.{_BROKERS}",
            fix="Leave it out for the backfill and mirror the topics, or run the backfill by a worker of that cluster.",
        )
