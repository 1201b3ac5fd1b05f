"""Declares the settings of Confluent's own transforms: its keys and defaults. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from connect.api.config import Config, ListOf, String, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.transforms.settings.patterns import pattern_problem
from connect.transforms.settings.shared import list_problems, setting


class ConfluentFilterConfig(Config):
    """Declares the settings of io.confluent.connect.transforms.Filter."""

    condition: Annotated[String, non_empty] = setting(
        "filter.condition", importance="high",
        doc="A JSONPath, as $[?(@.amount > 42)]; a row matches in which it finds something.",
    )  # fmt: skip
    kind: Annotated[String, one_of("include", "exclude")] = setting(
        "filter.type", doc="include: keep the rows that match; exclude: drop them.", importance="high"
    )
    on_missing: Annotated[String, one_of("fail", "include", "exclude")] = setting(
        "missing.or.null.behavior", "fail", importance="medium",
        doc="What becomes of a row that lacks what the path names before its filter.",
    )  # fmt: skip

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        from connect.transforms.confluent.json_path import JsonPath, JsonPathError  # Nothing else needs its library.

        try:
            JsonPath(self.condition)
        except JsonPathError as error:
            yield ConfigProblem(
                "filter.condition",
                f"Invalid value {self.condition} for configuration filter.condition: not a JSONPath: {error}",
            )


class MessageTimestampRouterConfig(Config):
    """Declares the settings of io.confluent.connect.transforms.MessageTimestampRouter."""

    topic_format: String = setting(
        "topic.format", "${topic}-${timestamp}", importance="high",
        doc="The new topic name; ${topic} and ${timestamp} are filled in.",
    )  # fmt: skip
    topic_timestamp_format: String = setting(
        "topic.timestamp.format", "yyyyMMdd", importance="high",
        doc="Pattern of Java's SimpleDateFormat for the timestamp in the topic, in UTC.",
    )  # fmt: skip
    message_timestamp_format: String = setting(
        "message.timestamp.format", "yyyy-MM-dd", importance="high",
        doc="Pattern of Java's SimpleDateFormat for fields that are texts. A whole number is milliseconds since 1970.",
    )  # fmt: skip
    keys: ListOf = setting(
        "message.timestamp.keys", importance="high", doc="Fields of the value; the first one that a row has counts."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"message.timestamp.keys": self.keys})
        patterns = {
            "topic.timestamp.format": self.topic_timestamp_format,
            "message.timestamp.format": self.message_timestamp_format,
        }
        for name, pattern in patterns.items():
            if (problem := pattern_problem(pattern)) is not None:
                yield ConfigProblem(name, problem)
