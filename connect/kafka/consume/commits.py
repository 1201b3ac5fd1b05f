"""Commits a consumer's offsets in limited time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import commit_offsets
from connect.lib.deadline import Deadline


def commit(
    consumer: Consumer,
    offsets: Mapping[TopicPartition, int],
    deadline: Deadline,
    remarks: Mapping[TopicPartition, str] = MappingProxyType({}),
) -> None:
    """Commit and wait for the answer. Raise KafkaException with _TIMED_OUT when there is none in time.

    `remarks` are the offsets' metadata. confluent_kafka's own commit takes no timeout: without a coordinator it blocks
    for session.timeout.ms and longer.
    """
    client = client_of(consumer)
    if client is not None and offsets.keys().isdisjoint(remarks):
        commit_offsets(client, offsets, deadline)
    else:
        # Each commit has a thread, as remarks are rare.
        wanted = [KafkaPartition(*tp, offset, metadata=remarks.get(tp, "")) for tp, offset in offsets.items()]
        _commit_apart(consumer, wanted, deadline)


def _commit_apart(consumer: Consumer, wanted: list[KafkaPartition], deadline: Deadline) -> None:
    answer: Future[list[Any]] = Future()

    def ask() -> None:
        try:
            answer.set_result(consumer.commit(offsets=wanted, asynchronous=False) or [])
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            answer.set_exception(error)

    threading.Thread(target=ask, name="kafka-commit", daemon=True).start()
    try:
        answered = answer.result(deadline.remaining_s)
    except TimeoutError:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None  # noqa: SLF001 - librdkafka's own code
    for part in answered:
        if part.error is not None:
            raise KafkaException(part.error)
