"""Chooses the name under which a schema is registered. Source: io.confluent.kafka.serializers.subject. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from connect.api.errors import SchemaError

Subject = Callable[[str, bool, str | None], str]
"""Gives a schema's subject from the topic, if it is for the key, and the record's full name.

The name is None where the value is no named record.
"""

_JAVA: Final = "io.confluent.kafka.serializers.subject."
TOPIC: Final = _JAVA + "TopicNameStrategy"
RECORD: Final = _JAVA + "RecordNameStrategy"
TOPIC_RECORD: Final = _JAVA + "TopicRecordNameStrategy"


def _by_topic(topic: str, is_key: bool, record: str | None) -> str:
    del record
    return f"{topic}-key" if is_key else f"{topic}-value"


def _by_record(topic: str, is_key: bool, record: str | None) -> str:
    if record is None:
        side = "key" if is_key else "value"
        raise SchemaError(
            f"The {side} of topic {topic} is no record with a name, which {side}.subject.name.strategy needs.",
            fix=f"Use {TOPIC}, or name the schema with SetSchemaMetadata.",
        )
    return record


def _by_topic_and_record(topic: str, is_key: bool, record: str | None) -> str:
    return f"{topic}-{_by_record(topic, is_key, record)}"


STRATEGIES: Final[Mapping[str, Subject]] = MappingProxyType(
    {TOPIC: _by_topic, RECORD: _by_record, TOPIC_RECORD: _by_topic_and_record}
)


def strategy_name(given: str) -> str | None:
    """Return the full name of a strategy given by its full or its short class name; None when there is none."""
    short = {name.rpartition(".")[2]: name for name in STRATEGIES}
    return given if given in STRATEGIES else short.get(given)
