"""Looks up the partitions of a topic by the consumer that is to read them, which hears of them by that, too."""

from __future__ import annotations

from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from connect.kafka.client.errors import is_retriable, translate
from connect.kafka.client.rights import Needs
from connect.lib.deadline import Deadline

_LOOK_S: Final = 0.05
_ANSWER_S: Final = 5.0


def partitions_of(consumer: Consumer, topic: str, deadline: Deadline, needs: Needs) -> list[int]:
    """Return the partitions of a topic. Wait for one that was just made, which not every broker knows yet."""
    while True:
        try:
            timeout_s = min(_ANSWER_S, max(0.1, deadline.remaining_s))
            found = consumer.list_topics(topic, timeout=timeout_s).topics[topic]
            if found.error is None:
                return sorted(found.partitions)
            error = found.error
        except KafkaException as failed:
            error = failed.args[0]
        can_pass = is_retriable(error) or error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        if not can_pass or not deadline.wait(_LOOK_S):
            raise translate(error, f"looking up topic {topic}", needs)
