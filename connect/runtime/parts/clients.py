"""Holds what the tasks of one host share: what makes their Kafka clients from worker and connector settings."""

from __future__ import annotations

from collections.abc import Mapping

from connect.kafka.client.shared import Shared
from connect.plugins.catalog import Catalog
from connect.runtime.parts.config_resolver import ConfigResolver
from connect.runtime.parts.letter_clients import LetterClients
from connect.runtime.parts.offset_clients import OffsetClients
from connect.runtime.parts.task_producers import TaskProducers
from connect.runtime.parts.task_topics import TaskTopics
from connect.runtime.parts.task_tracing import TaskTracing
from connect.runtime.settings.topic_inspector import BrokerTopicInspector
from connect.runtime.settings.worker_config import WorkerConfig


class Clients:
    """Holds the makers of Kafka clients. Task threads call them; each caller owns the clients that it gets."""

    def __init__(self, worker: WorkerConfig, catalog: Catalog) -> None:
        self.worker = worker
        self.catalog = catalog
        self.configs = ConfigResolver(worker, catalog)
        self.tracing = TaskTracing(worker)
        self.producers = TaskProducers(worker)
        self.offsets = OffsetClients(worker, self.producers)
        self.topics = TaskTopics(worker)
        self.letters = LetterClients(worker, self.producers)
        self.inspectors: Shared[BrokerTopicInspector] = Shared()

    @property
    def worker_properties(self) -> Mapping[str, str]:
        """Return the worker's settings as given. They may hold secrets."""
        return self.worker.originals

    def close(self) -> None:
        """Send the spans that are left, and release the offsets topic."""
        self.tracing.close()
        self.offsets.close()
