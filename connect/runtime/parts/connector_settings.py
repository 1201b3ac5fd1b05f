"""Holds a connector as a value, which any process can build the connector's parts from: its configuration and the
worker's.

Tasks, replays of dead letters and the lanes of a backfill turn rows into records by the parts that are built here, so
that the same row gives the same bytes wherever it is converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from connect.api.connector import Connector
from connect.kafka.client.settings import producer_settings
from connect.plugins.catalog import Catalog
from connect.runtime.parts.clients import Clients
from connect.runtime.parts.task_parts import build_chain, build_connector, build_converters, connector_plugin
from connect.runtime.records.chain import Link
from connect.runtime.records.pipeline import Converters, GiveUp, SinkPipeline, SourcePipeline
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.settings.connector_config import CommonConnectorConfig, SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_metrics import TaskFigures

_OVERRIDE = "producer.override."


@dataclass(frozen=True, slots=True, repr=False)
class ConnectorSettings:
    """Holds the worker's properties, and a connector's configuration with its placeholders.

    Both may hold secrets; both are text, so that the value can be sent to another process.
    """

    worker: dict[str, str]
    connector: dict[str, str]

    @property
    def name(self) -> str:
        """Return the connector's name."""
        return self.connector["name"]

    def open(self) -> ConnectorParts:
        """Return the connector's parts, with placeholders resolved in this process. ConfigError names a broken one."""
        clients = Clients(WorkerConfig.parse(self.worker), Catalog.installed())
        return ConnectorParts(clients, clients.configs.resolve_secretly(self.connector))


class ConnectorParts:
    """Builds what a connector's configuration names: plug-ins, converters, transforms. Owned by one thread."""

    def __init__(self, clients: Clients, resolved: Mapping[str, str]) -> None:
        """Take the Kafka clients and, as `resolved`, the configuration without placeholders."""
        self.clients = clients
        self.resolved = resolved

    def build_connector(self) -> Connector:
        """Return the connector itself; it has not connected to anything yet."""
        return build_connector(self.clients.catalog, self.resolved, self.clients.worker_properties)

    def task_config(self, config: Mapping[str, str]) -> dict[str, str]:
        """Return a task's configuration, as its connector made it, with what the worker allows plug-ins to reach."""
        plugin = connector_plugin(self.clients.catalog, self.resolved)
        return plugin.config.with_leave(config, self.clients.worker_properties)

    @cached_property
    def converters(self) -> Converters:
        """Return the connector's converters, or the worker's."""
        return build_converters(self.clients.catalog, self.resolved, self.clients.worker_properties)

    @cached_property
    def source_config(self) -> SourceConnectorConfig:
        """Return the values of the framework's own keys in a source's configuration."""
        return SourceConnectorConfig.parse(self.resolved)

    def chain(self, config: CommonConnectorConfig) -> list[Link]:
        """Return the connector's transforms, each with its predicate."""
        return build_chain(self.clients.catalog, config, self.clients.worker_properties)

    def source_pipeline(
        self,
        give_up: GiveUp,
        letters: SourceDeadLetters | None = None,
        *,
        figures: TaskFigures | None = None,
        sizes: RecordSizes | None = None,
        reserved: ReservedTopics | None = None,
    ) -> SourcePipeline:
        """Return what turns rows of a source into records; see `SourcePipeline`.

        `reserved` None: topics of cluster state are known by their names alone; Kafka is not asked about others.
        """
        config = self.source_config
        return SourcePipeline(
            self.chain(config),
            self.converters,
            give_up,
            letters,
            figures=figures,
            sizes=sizes,
            reserved=reserved or ReservedTopics(self.clients.worker),
            ends_at_first=not config.tolerates_errors,
        )

    def reserved_topics(self) -> ReservedTopics:
        """Return what keeps rows out of the topics in which this cluster, or another on the brokers, has its state."""
        return reserved_topics(self.clients.worker, self.resolved, self.clients.inspectors)

    def sink_pipeline(self, give_up: GiveUp, figures: TaskFigures | None = None) -> SinkPipeline:
        """Return what turns records into rows for a sink."""
        return SinkPipeline(
            self.chain(SinkConnectorConfig.parse(self.resolved)), self.converters, give_up, figures=figures
        )

    def producer_settings(self, client_id: str, transactional_id: str) -> Mapping[str, str | int | float | bool]:
        """Return a producer's settings with this transactional id and the connector's overrides, as its partitioner."""
        overrides = {k.removeprefix(_OVERRIDE): v for k, v in self.resolved.items() if k.startswith(_OVERRIDE)}
        return producer_settings(
            self.clients.worker_properties, overrides, client_id=client_id, transactional_id=transactional_id
        ).properties
