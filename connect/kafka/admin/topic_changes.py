"""Changes topics that are there: their number of partitions and their configs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports them without saying so
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    ResourceType,
)

from connect.kafka.admin.calls import RetryingAdmin
from connect.kafka.client.errors import is_retriable, translate
from connect.lib.deadline import Deadline

log = logging.getLogger(__name__)
_MOST_TOPICS: Final = 500
"""One request asks for the configs of so many topics."""

_SET_BY_PEOPLE: Final = frozenset({
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value, ConfigSource.DYNAMIC_BROKER_CONFIG.value,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value,
})  # fmt: skip


def _settled(asked: Future[Any]) -> Future[Any]:
    """Return a future that has an error as its result, so that one topic does not end the question for all.

    Errors that may pass stay errors: the question is then asked again.
    """
    settled: Future[Any] = Future()

    def take(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            settled.set_result(done.result())
        elif isinstance(error, KafkaException) and not is_retriable(error.args[0]):
            settled.set_result(error)
        else:
            settled.set_exception(error)

    asked.add_done_callback(take)
    return settled


class TopicChanges:
    """Reads and changes what a topic is set to. Any thread may use it."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._admin = RetryingAdmin(settings)

    def own_configs(self, topics: Collection[str], deadline: Deadline) -> dict[str, dict[str, str]]:
        """Return the configs of each topic that somebody has set while the brokers run, without secrets and defaults.

        Topics whose configs brokers do not tell, as they are gone or for lack of a right, are left out and logged.
        """
        found, names = dict[str, dict[str, str]](), list(topics)
        for begin in range(0, len(names), _MOST_TOPICS):
            for name, told in self._described(names[begin : begin + _MOST_TOPICS], deadline).items():
                if isinstance(told, KafkaException):
                    log.warning("%s", translate(told.args[0], f"describing the configs of topic {name}"))
                else:
                    found[name] = {
                        key: entry.value
                        for key, entry in told.items()
                        if entry.source in _SET_BY_PEOPLE and not entry.is_read_only and not entry.is_sensitive
                    }
        return found

    def _described(self, names: Collection[str], deadline: Deadline) -> dict[str, Any]:
        """Return the entries of each topic, or the error that says why there are none."""
        resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in names}

        def ask(timeout_s: float) -> dict[Any, Future[Any]]:
            asked = self._admin.client.describe_configs(list(resources.values()), request_timeout=timeout_s)
            return {name: _settled(asked[resource]) for name, resource in resources.items()}

        described: dict[str, Any] = self._admin.call(ask, deadline, f"describing the configs of {len(names)} topics")
        return described

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
