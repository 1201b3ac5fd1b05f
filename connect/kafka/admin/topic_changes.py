"""Changes topics that are there: their number of partitions and their configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports them without saying so
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    ResourceType,
)

from connect.kafka.admin.calls import RetryingAdmin
from connect.lib.deadline import Deadline

_SET_BY_PEOPLE: Final = frozenset({
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value, ConfigSource.DYNAMIC_BROKER_CONFIG.value,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value,
})  # fmt: skip


class TopicChanges:
    """Reads and changes what a topic is set to. Any thread may use it."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._admin = RetryingAdmin(settings)

    def own_configs(self, topic: str, deadline: Deadline) -> dict[str, str]:
        """Return the configs that somebody has set while the brokers run, without secrets and defaults."""
        resource = ConfigResource(ResourceType.TOPIC, topic)

        def ask(timeout_s: float) -> Future[Any]:
            return self._admin.client.describe_configs([resource], request_timeout=timeout_s)[resource]

        entries = self._admin.call(ask, deadline, f"describing the configs of topic {topic}")
        return {
            name: entry.value
            for name, entry in entries.items()
            if entry.source in _SET_BY_PEOPLE and not entry.is_read_only and not entry.is_sensitive
        }

    def widen(self, topic: str, partitions: int, deadline: Deadline) -> None:
        """Give a topic so many partitions."""

        def ask(timeout_s: float) -> Future[Any]:
            wanted = [NewPartitions(topic, partitions)]
            return self._admin.client.create_partitions(wanted, request_timeout=timeout_s)[topic]

        self._admin.call(ask, deadline, f"giving topic {topic} {partitions} partitions")

    def change(self, topic: str, wanted: Mapping[str, str], removed: Sequence[str], deadline: Deadline) -> None:
        """Set configs, and take away those of the names `removed`."""
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in wanted.items()
        ]
        entries += [ConfigEntry(name, "", incremental_operation=AlterConfigOpType.DELETE) for name in removed]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)

        def ask(timeout_s: float) -> Future[Any]:
            return self._admin.client.incremental_alter_configs([resource], request_timeout=timeout_s)[resource]

        self._admin.call(ask, deadline, f"changing the configs of topic {topic}")
