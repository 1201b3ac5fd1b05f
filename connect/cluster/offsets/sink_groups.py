"""Reads and changes the consumer group of a sink, from the worker or, if its settings need one, from a task host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.cluster.loop.connector_calls import Positions
from connect.lib.deadline import Deadline
from connect.runtime.calls.group_calls import ADMIN_OVERRIDE, GROUP_KEY, group_of
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.task.messages import CallResult, Method

Ask = Callable[[Method, Mapping[str, str], float, Positions], Future[CallResult]]
"""Calls a method in a task host for a connector's configuration; the third argument is the time-out in seconds."""


class GroupOffsets(Protocol):
    """Reads topics, and reads and changes consumer groups, as `connect.kafka.admin.topics.TopicAdmin` does."""

    def topics(self, deadline: Deadline) -> dict[str, int]:
        """Return the number of partitions of every topic in the cluster."""

    def group_offsets(self, group: str, deadline: Deadline) -> dict[TopicPartition, int]:
        """Return the offsets that a group has committed."""

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int | None], deadline: Deadline) -> None:
        """Set committed offsets; None deletes one. RetriableError while the group has members."""

    def delete_group(self, group: str, deadline: Deadline) -> None:
        """Delete a group. RetriableError while it has members."""


class SinkGroup(Protocol):
    """Stands for the group of one connector, reached with the connector's own client settings."""

    def topics(self, deadline: Deadline) -> dict[str, int]:
        """See GroupOffsets."""

    def offsets(self, deadline: Deadline) -> dict[TopicPartition, int]:
        """See GroupOffsets."""

    def alter(self, offsets: Mapping[TopicPartition, int | None], deadline: Deadline) -> None:
        """See GroupOffsets."""

    def delete(self, deadline: Deadline) -> None:
        """See GroupOffsets."""


def needs_host(config: Mapping[str, str]) -> bool:
    """Return True if the connector's group or the settings of its admin client come from a config provider."""
    values = (value for key, value in config.items() if key == GROUP_KEY or key.startswith(ADMIN_OVERRIDE))
    return any(True for value in values for _ in placeholders(value))


class WorkersGroup:
    """Reaches a group through a client in the worker."""

    def __init__(self, admin: Callable[[Mapping[str, str]], GroupOffsets], config: Mapping[str, str]) -> None:
        self._admin = admin(config)
        self._config = config

    def topics(self, deadline: Deadline) -> dict[str, int]:
        """Return the number of partitions of every topic there is."""
        return self._admin.topics(deadline)

    def offsets(self, deadline: Deadline) -> dict[TopicPartition, int]:
        """Return what the group has committed."""
        return self._admin.group_offsets(group_of(self._config), deadline)

    def alter(self, offsets: Mapping[TopicPartition, int | None], deadline: Deadline) -> None:
        """Set committed offsets, None forgets one."""
        self._admin.alter_group_offsets(group_of(self._config), offsets, deadline)

    def delete(self, deadline: Deadline) -> None:
        """Delete the group."""
        self._admin.delete_group(group_of(self._config), deadline)


class HostsGroup:
    """Reaches a group through a task host, which replaces the placeholders in the client settings."""

    def __init__(self, ask: Ask, config: Mapping[str, str]) -> None:
        self._ask = ask
        self._config = config

    def topics(self, deadline: Deadline) -> dict[str, int]:
        """Return the number of partitions of every topic there is."""
        found: dict[str, int] = self._call("list_topics", deadline)
        return found

    def offsets(self, deadline: Deadline) -> dict[TopicPartition, int]:
        """Return what the group has committed."""
        found = self._call("read_group", deadline)
        return {TopicPartition(p["topic"], p["partition"]): o["offset"] for p, o in found}

    def alter(self, offsets: Mapping[TopicPartition, int | None], deadline: Deadline) -> None:
        """Set committed offsets, None forgets one."""
        self._call(
            "alter_group",
            deadline,
            [
                ({"topic": tp.topic, "partition": tp.partition}, None if offset is None else {"offset": offset})
                for tp, offset in offsets.items()
            ],
        )

    def delete(self, deadline: Deadline) -> None:
        """Delete the group."""
        self._call("delete_group", deadline)

    def _call(self, method: Method, deadline: Deadline, positions: Positions = ()) -> Any:
        said = self._ask(method, self._config, deadline.remaining_s, positions).result(deadline.remaining_s + 5)
        if said.error is not None:
            raise RetriableError(said.error) if said.retriable else ConnectError(said.error)
        return said.value
