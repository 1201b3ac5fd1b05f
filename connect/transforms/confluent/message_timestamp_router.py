"""Chooses each row's topic by the time in one of its fields (io.confluent.connect.transforms.MessageTimestampRouter).

Source of the rules: Confluent's documentation of the transform. That one takes maps alone; this one takes structs, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.lib.javatext.date_format import DateFormat
from connect.transforms.settings.confluent_config import MessageTimestampRouterConfig

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MessageTimestampRouter:
    """Makes one batch for each topic, in the order in which the topics first appear. Owned by one task thread."""

    def __init__(self, config: MessageTimestampRouterConfig) -> None:
        year = datetime.now(UTC).year
        self._reads = DateFormat(config.message_timestamp_format, year)
        self._writes = DateFormat(config.topic_timestamp_format, year)
        self._topic = config.topic_format
        self._keys = config.keys

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the rows with the topics of their times. RejectedRowsError names those without a time."""
        topics: dict[str, list[int]] = {}
        rejected: dict[int, Exception] = {}
        for number, row in enumerate(batch.values.rows()):
            try:
                topics.setdefault(self._topic_of(batch.topic, self._time_ms(row)), []).append(number)
            except SchemaError as error:
                rejected[number] = error
        if rejected:
            raise RejectedRowsError(rejected)
        return [
            replace(batch if len(rows) == len(batch) else batch.take(rows), topic=topic)
            for topic, rows in topics.items()
        ]

    def _time_ms(self, row: Any) -> int:
        found = row if isinstance(row, Mapping) else {}
        name = next((name for name in self._keys if found.get(name) is not None), None)
        if name is None:
            raise SchemaError(f"The value has none of the fields {', '.join(self._keys)}, which would tell its topic.")
        match found[name]:
            case bool():
                pass
            case int(ms):
                return ms
            case datetime() as moment:
                at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                return int((at - _EPOCH).total_seconds() * 1000)
            case str(text):
                try:
                    return self._reads.parse(text)
                except ValueError as error:
                    raise SchemaError(
                        f"Field {name} holds {text[:100]!r}, which is no time: {error}.",
                        field=name,
                        fix="Give the pattern that the texts have in message.timestamp.format.",
                    ) from None
        raise SchemaError(f"Field {name} is of type {type(found[name]).__name__}, and tells no time.", field=name)

    def _topic_of(self, topic: str, ms: int) -> str:
        return self._topic.replace("${topic}", topic).replace("${timestamp}", self._writes.format(ms))
