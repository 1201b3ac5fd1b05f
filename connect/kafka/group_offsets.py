"""What a consumer group has committed, asked from outside the group."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.kafka.client_log import client_logger
from connect.kafka.errors import translate, translated

_ASK_S: Final = 5.0
_PAUSE_S: Final = 0.2


def committed_offsets(
    settings: Mapping[str, str | int | float | bool],
    group: str,
    partitions: Collection[TopicPartition],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    """The group's next offsets; partitions without one are left out. `settings` are an admin client's.

    Asked by a consumer that never joins: librdkafka's admin call for it crashes the process when the group's
    coordinator is another broker than it thought (librdkafka issue 5040).
    """
    doing = f"listing the offsets of group {group}"
    wanted = [KafkaPartition(*tp) for tp in partitions]
    with translated(doing):
        asker = Consumer({**settings, "group.id": group}, logger=client_logger("admin"))
    try:
        while True:
            try:
                found = asker.committed(wanted, timeout=min(_ASK_S, max(0.1, deadline.remaining_s)))
            except KafkaException as error:
                ours = translate(error.args[0], doing)
                if type(ours) is not RetriableError or not deadline.wait(_PAUSE_S):
                    raise ours from error
            else:
                return {TopicPartition(p.topic, p.partition): p.offset for p in found if p.offset >= 0}
    finally:
        asker.close()
