"""Declares the settings of Debezium's outbox EventRouter: keys and defaults of version 3, and former keys of version 1.

There is no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from connect.api.config import Boolean, Config, ListOf, String, one_of
from connect.api.errors import ConfigProblem
from connect.transforms.settings.patterns import regex_problem
from connect.transforms.settings.shared import setting

PLACEMENTS: Final = ("header", "envelope", "partition")


@dataclass(frozen=True, slots=True)
class Placed:
    """Tells where a further column of the outbox goes, and which name it gets there."""

    column: str
    place: str
    name: str


class EventRouterConfig(Config):
    """Declares the settings of io.debezium.transforms.outbox.EventRouter."""

    on_update: Annotated[String, one_of("warn", "error", "fatal")] = setting(
        "table.op.invalid.behavior", "warn",
        doc="What an UPDATE of the outbox does. warn, error: it is logged and dropped; fatal: it is a bad record.",
    )  # fmt: skip
    old_on_update: Annotated[String, one_of("warn", "error", "fatal")] | None = setting(
        "debezium.op.invalid.behavior", None, doc="As in Debezium 1: table.op.invalid.behavior. Counts where given."
    )
    event_id: String = setting(
        "table.field.event.id", "id", doc="Column that becomes the header `id`.", importance="low"
    )
    event_key: String = setting(
        "table.field.event.key", "aggregateid", doc="Column that becomes the key.", importance="low"
    )
    timestamp: String = setting(
        "table.field.event.timestamp", "", doc="Column that becomes the record's time; none given: the event's ts_ms."
    )
    payload: String = setting(
        "table.field.event.payload", "payload", doc="Column that becomes the value.", importance="low"
    )
    old_payload: String | None = setting(
        "table.field.payload", None, doc="As in Debezium 1: table.field.event.payload. Counts where given."
    )
    expand: Boolean = setting(
        "table.expand.json.payload", False, importance="low",
        doc="Is refused where it is true: StringConverter writes a payload of JSON as the same JSON.",
    )  # fmt: skip
    additional: ListOf = setting(
        "table.fields.additional.placement", (), importance="high", harmless="names of columns",
        doc="Further columns, as column:header, column:envelope, each with :name behind it where it gets another name, "
        "or column:partition.",
    )  # fmt: skip
    version: String = setting(
        "table.field.event.schema.version", "", importance="low",
        doc="Column of whole numbers that becomes the version of the value's schema; with columns in the envelope.",
    )  # fmt: skip
    old_version: String | None = setting(
        "table.field.schema.version", None, doc="As in Debezium 1: table.field.event.schema.version."
    )
    route_by: String = setting(
        "route.by.field", "aggregatetype", doc="Column that the topic is made of.", importance="high"
    )
    topic_regex: String = setting(
        "route.topic.regex", "(?<routedByValue>.*)", importance="low",
        doc="A Java regular expression that the routed column's text must match as a whole.",
    )  # fmt: skip
    topic_replacement: String = setting(
        "route.topic.replacement", "outbox.event.${routedByValue}", importance="high",
        doc="The topic; $1 and ${name} stand for groups.",
    )  # fmt: skip
    has_tombstones: Boolean = setting(
        "route.tombstone.on.empty.payload", False, doc="Make a tombstone of an empty payload.", importance="low"
    )
    tracing_field: String = setting(
        "tracing.span.context.field", "tracingspancontext", doc="Has no effect: no spans are written.", importance="low"
    )
    tracing_operation: String = setting(
        "tracing.operation.name", "debezium-read", doc="Has no effect: no spans are written.", importance="low"
    )
    tracing_required: Boolean = setting(
        "tracing.with.context.field.only", False, doc="Has no effect: no spans are written.", importance="low"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        problem = regex_problem("route.topic.regex", self.topic_regex)
        if problem is not None:
            yield problem
        if self.expand:
            yield ConfigProblem(
                "table.expand.json.payload", "Invalid value true for configuration table.expand.json.payload: payloads "
                "are not parsed. Leave it out; value.converter=org.apache.kafka.connect.storage.StringConverter "
                "writes them as the JSON that they are.",
            )  # fmt: skip
        for text in self.additional:
            parts = text.split(":")
            if len(parts) not in {2, 3} or not all(parts) or parts[1].strip().lower() not in PLACEMENTS:
                yield ConfigProblem(
                    "table.fields.additional.placement", f"Invalid value {text} for configuration "
                    f"table.fields.additional.placement: must be column:place or column:place:name, with a place of "
                    f"{', '.join(PLACEMENTS)}",
                )  # fmt: skip

    @property
    def placed(self) -> Sequence[Placed]:
        """Return the places to which further columns go."""
        parts = [text.split(":") for text in self.additional]
        return [Placed(part[0], part[1].strip().lower(), part[-1] if len(part) > 2 else part[0]) for part in parts]
