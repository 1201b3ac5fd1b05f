"""Converts offsets of a consumer group to those that REST shows, and back. Pure; error texts are Kafka Connect's.

Source: org.apache.kafka.connect.util.SinkUtils.parseSinkConnectorOffsets (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from connect.api.records import TopicPartition
from connect.cluster.model.connector_values import PartitionOffset
from connect.cluster.model.request_errors import BadRequestError
from connect.lib.placeholders import placeholder_spans

TOPIC: Final = "kafka_topic"
PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"
_NAMED: Final = 10


def shown(offsets: Mapping[TopicPartition, int]) -> list[PartitionOffset]:
    """Return a group's committed offsets as REST shows them."""
    return [
        PartitionOffset({TOPIC: tp.topic, PARTITION: tp.partition}, {OFFSET: offset})
        for tp, offset in sorted(offsets.items())
    ]


def parsed(offsets: Sequence[PartitionOffset]) -> dict[TopicPartition, int | None]:
    """Return the offsets to set; None deletes one. BadRequestError names what is wrong with the first bad one."""
    return {_topic_partition(given.partition): _offset(given.offset) for given in offsets}


def unknown(partitions: Collection[TopicPartition], sizes: Mapping[str, int]) -> str:
    """Return the names of those partitions that do not exist; empty if all do. `sizes` has Kafka's topics."""
    missing = sorted(tp for tp in partitions if not 0 <= tp.partition < sizes.get(tp.topic, 0))
    named = ", ".join(f"{tp.topic}-{tp.partition}" for tp in missing[:_NAMED])
    return f"{named} and {len(missing) - _NAMED} more" if len(missing) > _NAMED else named


def unread(offsets: Mapping[TopicPartition, int | None], config: Mapping[str, str]) -> list[str]:
    """Return a sentence on topics whose offsets are set although the connector does not read them.

    Where a config provider has the names of its topics, nobody here knows them.
    """
    topics = config.get("topics", "")
    known = "" if any(placeholder_spans(topics)) else topics
    read = {topic.strip() for topic in known.split(",") if topic.strip()}
    others = sorted({tp.topic for tp, offset in offsets.items() if offset is not None} - read) if read else []
    if not others:
        return []
    said = "topic is" if len(others) == 1 else "topics are"
    return [f"The {said} not among the connector's, so that nothing is read from there: {', '.join(others[:_NAMED])}."]


def _topic_partition(partition: Mapping[str, object] | None) -> TopicPartition:
    if partition is None:
        raise BadRequestError("The partition for a sink connector offset cannot be null or missing")
    if TOPIC not in partition or PARTITION not in partition:
        raise BadRequestError(
            f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'"
        )
    number = _whole(partition[PARTITION])
    if partition[TOPIC] is None or number is None:
        raise BadRequestError(
            "Partition values for sink connectors need to be integers, and topics must be named: "
            f"found {partition[PARTITION]!r}",
        )
    return TopicPartition(str(partition[TOPIC]), number)


def _offset(offset: Mapping[str, object] | None) -> int | None:
    if offset is None:
        return None
    if OFFSET not in offset:
        raise BadRequestError(f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    number = _whole(offset[OFFSET])
    if number is None:
        raise BadRequestError(f"Offset values for sink connectors need to be integers: found {offset[OFFSET]!r}")
    if number < 0:
        raise BadRequestError(f"Offset values for sink connectors need to be 0 or more: found {number}")
    return number


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return int(str(value))
    except ValueError:
        return None
