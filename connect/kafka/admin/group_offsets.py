"""Reads and changes a consumer group's committed offsets from outside the group."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.calls import AskCoordinator, RetryingAdmin
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.errors import translate, translated
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import COORDINATOR_S, forget_offsets
from connect.kafka.client.rights import DENIALS, Needs
from connect.lib.deadline import Deadline

_FIRST_S: Final = 1.0
_ASK_S: Final = 5.0
_PAUSE_S: Final = 0.2


def committed_offsets(
    settings: Mapping[str, str | int | float | bool],
    group: str,
    partitions: Collection[TopicPartition],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    """Return the group's committed next offsets; partitions without one are left out. `settings` are an admin client's.

    A consumer that never joins asks for them. librdkafka's admin call crashes the process if the group's coordinator
    is another broker than it thought (librdkafka issue 5040). DeniedError: the group may not be read.
    """
    doing = f"listing the offsets of group {group}"
    wanted = [KafkaPartition(*tp) for tp in partitions]
    with translated(doing):
        asker = Consumer({**settings, "group.id": group}, logger=client_logger("admin"))
    try:
        ask_s = _FIRST_S
        while True:
            try:
                found = asker.committed(wanted, timeout=min(ask_s, max(0.1, deadline.remaining_s)))
            except KafkaException as error:
                ask_s = _ASK_S
                # A group that may not be read is told beside the answer, which times out.
                told = asker.poll(0)
                denied = told.error() if told is not None else None
                cause = error.args[0] if denied is None or denied.code() not in DENIALS else denied
                ours = translate(cause, doing, Needs.of({**settings, "group.id": group}, "Read"))
                if type(ours) is not RetriableError or not deadline.wait(_PAUSE_S):
                    raise ours from error
            else:
                return {TopicPartition(p.topic, p.partition): p.offset for p in found if p.offset >= 0}
    finally:
        asker.close()


def alter_offsets(
    admin: RetryingAdmin, group: str, offsets: Mapping[TopicPartition, int | None], deadline: Deadline
) -> None:
    """See TopicAdmin.alter_group_offsets."""
    target = {tp: offset for tp, offset in offsets.items() if offset is not None}
    gone = [tp for tp, offset in offsets.items() if offset is None]
    if target:
        _set(admin, group, target, deadline)
    if not gone:
        return
    try:
        _forget(admin, group, gone, deadline)
    except ConnectError as error:
        if not target:
            raise
        done, left = (", ".join(f"{tp.topic}-{tp.partition}" for tp in sorted(some)) for some in (target, gone))
        text = f"The offsets of {done} were set, but those of {left} were not forgotten: {error.message}"
        raise RetriableError(text) if isinstance(error, RetriableError) else ConnectError(text) from error


def _set(admin: RetryingAdmin, group: str, offsets: Mapping[TopicPartition, int], deadline: Deadline) -> None:
    wanted = [KafkaPartition(tp.topic, tp.partition, offset) for tp, offset in offsets.items()]

    def ask(client: AdminClient, _timeout_s: float) -> Future[Any]:
        request = [ConsumerGroupTopicPartitions(group, wanted)]
        return client.alter_consumer_group_offsets(request, request_timeout=COORDINATOR_S)[group]

    doing = f"altering the offsets of group {group}"
    while error := next((part.error for part in _altered(admin, ask, deadline, doing) if part.error), None):
        if error.code() == KafkaError.UNKNOWN_MEMBER_ID:
            raise RetriableError(f"Failed {doing}: the group still has members.")
        ours = translate(error, doing)
        # A broker that is about to become the group's coordinator denies it for each partition.
        if type(ours) is not RetriableError or not deadline.wait(_PAUSE_S):
            raise ours


def _altered(admin: RetryingAdmin, ask: AskCoordinator, deadline: Deadline, doing: str) -> Any:
    return admin.call_coordinator(ask, deadline, doing).topic_partitions


def _forget(admin: RetryingAdmin, group: str, partitions: Collection[TopicPartition], deadline: Deadline) -> None:
    if client_of(admin.client) is None:
        raise ConnectError(
            "Committed offsets of single partitions cannot be forgotten with this release of confluent-kafka, whose "
            "own calls do not offer it.",
            fix="Set them to a number, or forget those of all partitions.",
        )

    def ask(client: AdminClient, timeout_s: float) -> Future[Any]:
        inner = client_of(client)
        assert inner is not None
        answer: Future[Any] = Future()
        answer.set_result(forget_offsets(inner, group, partitions, deadline.sooner(timeout_s)))
        return answer

    doing = f"forgetting offsets of group {group}"
    errors = admin.call_coordinator(ask, deadline, doing, ignore={KafkaError.GROUP_ID_NOT_FOUND})
    for tp, error in (errors or {}).items():
        if error.code() == KafkaError.GROUP_SUBSCRIBED_TO_TOPIC:
            raise RetriableError(f"Failed {doing}: the group still has members.")
        if error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise translate(error, f"{doing}, {tp.topic}-{tp.partition}")
