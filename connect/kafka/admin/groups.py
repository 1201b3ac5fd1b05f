"""Tells how many members a consumer group has, and deletes a group that has none."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import ConsumerGroupState, KafkaError
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription  # type: ignore[attr-defined]  # it re-exports it without saying so

from connect.api.errors import RetriableError
from connect.kafka.admin.calls import BrokerRefusedError, RetryingAdmin
from connect.kafka.client.librdkafka import COORDINATOR_S
from connect.lib.deadline import Deadline

_REBALANCING: Final = {ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupState.COMPLETING_REBALANCING}


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """Holds the number of a group's members.

    While it is `rebalancing`, brokers wait for members to join again, and still count those that have ended.
    """

    count: int = 0
    rebalancing: bool = False

    @classmethod
    def of(cls, described: ConsumerGroupDescription | None) -> GroupMembers:
        """Return the members by a group's description, which is None for a group that does not exist."""
        return cls() if described is None else cls(len(described.members), described.state in _REBALANCING)


def group_members(admin: RetryingAdmin, group: str, deadline: Deadline) -> GroupMembers:
    """Return the members that a group has now; a group that does not exist has none."""

    def ask(client: AdminClient, _timeout_s: float) -> Future[Any]:
        return client.describe_consumer_groups([group], request_timeout=COORDINATOR_S)[group]

    described = admin.call_coordinator(
        ask, deadline, f"describing group {group}", ignore={KafkaError.GROUP_ID_NOT_FOUND}
    )
    return GroupMembers.of(described)


def delete_group(admin: RetryingAdmin, group: str, deadline: Deadline) -> None:
    """Delete a consumer group with its offsets, if it exists. Raise RetriableError while it has members."""

    def ask(client: AdminClient, _timeout_s: float) -> Future[Any]:
        return client.delete_consumer_groups([group], request_timeout=COORDINATOR_S)[group]

    doing = f"deleting group {group}"
    try:
        gone, busy = {KafkaError.GROUP_ID_NOT_FOUND}, {KafkaError.NON_EMPTY_GROUP}
        admin.call_coordinator(ask, deadline, doing, ignore=gone, answers=busy)
    except BrokerRefusedError as refused:
        raise RetriableError(f"Failed {doing}: the group still has members.") from refused
