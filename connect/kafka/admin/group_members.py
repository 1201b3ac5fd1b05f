"""Tells how many members a consumer group has, and if that number is certain at the moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import ConsumerGroupDescription  # type: ignore[attr-defined]  # it re-exports it without saying so

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
