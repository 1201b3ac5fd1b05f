"""Is a member of a plain consumer group whose partitions stand for work. It never fetches records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.connection_diagnosis import ConnectionErrors
from connect.kafka.client.errors import translate, translated
from connect.kafka.client.rights import Needs
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]
_PROTOCOL: Final = {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"}
"""The KIP-848 protocol notices a lost member only after the broker's group.consumer.session.timeout.ms (45 s)."""

NUDGE_S: Final = 0.1
"""Heartbeats, by which a worker hears that others join and leave, are sent at most so many seconds late."""


class GroupListener(Protocol):
    """Hears of partitions inside `poll`, on its thread."""

    def assigned(self, partitions: frozenset[int]) -> None:
        """Take note that this member also owns these partitions from now on."""

    def revoked(self, partitions: frozenset[int]) -> None:
        """Stop the work of these partitions; others get them as soon as this returns."""

    def lost(self, partitions: frozenset[int]) -> None:
        """Stop the work of these partitions, which this member has lost; others may own them already."""


class MembershipConsumer:
    """Joins a group and reads nothing. Its thread must call `poll` more often than max.poll.interval.ms."""

    def __init__(self, topic: str, settings: Settings, listener: GroupListener) -> None:
        self._listener = listener
        self._needs = Needs.of(settings, "Read", [topic])
        self._nudged_s = 0.0
        self._contact = ConnectionErrors()
        self._consumer: Consumer | None = None
        with translated(f"joining the group of topic {topic}", self._needs):
            own = {**settings, **_PROTOCOL, "error_cb": self._contact.on_error}
            consumer = Consumer(own, logger=client_logger("membership"))
            try:
                consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
            except BaseException:
                consumer.close()
                raise
            self._consumer = consumer

    def poll(self, timeout_s: float) -> None:
        """Serve the group. Raise RetriableError while a broker is away, ConnectError if a person has to act."""
        if self._consumer is None:
            raise ConnectError("The member has left its group.")
        try:
            message = self._consumer.poll(timeout_s)
            self._nudge(self._consumer)
        except KafkaException as failed:
            raise translate(failed.args[0], "serving the group of workers", self._needs) from failed
        error = None if message is None else message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own code
            return
        if error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            raise ConnectError(
                "The group has members that are no workers of this kind.",
                key="group.id",
                fix="Stop the Java workers of this group.id first; the two kinds cannot share a group.",
            )
        ours = translate(error, "serving the group of workers", self._needs)
        raise ours if isinstance(ours, RetriableError) or error.fatal() else ConnectError(str(ours))

    @property
    def trouble(self) -> str | None:
        """Return why the brokers were last not reached; None once the member has got its partitions."""
        return self._contact.trouble

    def _nudge(self, consumer: Consumer) -> None:
        """Wake librdkafka's main thread, as it sends heartbeats only when awake, which may be twice a second."""
        now_s = time.monotonic()
        if now_s - self._nudged_s >= NUDGE_S:
            self._nudged_s = now_s
            consumer.assignment()

    def close(self, deadline: Deadline) -> None:
        """Leave the group, so that the others take over at once. May be called twice."""
        del deadline
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        self._contact.met()
        consumer.incremental_assign(list(partitions))
        if partitions:
            consumer.pause(list(partitions))
        self._listener.assigned(_numbers(partitions))

    def _on_revoke(self, consumer: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        self._listener.revoked(_numbers(partitions))
        consumer.incremental_unassign(list(partitions))

    def _on_lost(self, consumer: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        self._listener.lost(_numbers(partitions))
        consumer.incremental_unassign(list(partitions))


def _numbers(partitions: Sequence[KafkaPartition]) -> frozenset[int]:
    return frozenset(p.partition for p in partitions)
