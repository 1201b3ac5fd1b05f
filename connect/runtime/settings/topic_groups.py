"""Reads a source connector's `topic.creation.*` settings, which say how missing topics are made. Pure.

Source of the rules: org.apache.kafka.connect.runtime.SourceConnectorConfig and util.TopicCreationGroup (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.javatext.timed_pattern import TimedPattern
from connect.runtime.settings.connector_config import SourceConnectorConfig

PREFIX: Final = "topic.creation."
DEFAULT: Final = "default"
_OWN: Final = frozenset({"include", "exclude", "replication.factor", "partitions"})


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """Holds the settings of topics that are made alike; -1 is the broker's default, `configs` are configs of topics."""

    name: str
    include: Sequence[TimedPattern]
    exclude: Sequence[TimedPattern]
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]

    def takes(self, topic: str) -> bool:
        """Return True if the topic's whole name matches the group's patterns, and none of its exclusions."""
        if any(pattern.fullmatch(topic) for pattern in self.exclude):
            return False
        return self.name == DEFAULT or any(pattern.fullmatch(topic) for pattern in self.include)


def topic_groups(config: SourceConnectorConfig) -> tuple[TopicGroup, ...]:
    """Return the groups in their order, `default` last. Without `topic.creation.*` settings there are no groups.

    Then the brokers make topics.

    Raise ConfigError, which names every broken key.
    """
    given = {key: value.strip() for key, value in config.with_prefix(PREFIX).items()}
    if not any(given.values()):
        return ()
    reader = _Reader(given)
    partitions, factor = reader.number("default.partitions"), reader.number("default.replication.factor")
    default = TopicGroup(DEFAULT, (), (), partitions, factor, reader.configs(DEFAULT))
    names = dict.fromkeys(name for name in config.topic_creation_groups if name != DEFAULT)
    groups = [
        TopicGroup(
            name,
            reader.patterns(f"{name}.include", required=True),
            reader.patterns(f"{name}.exclude"),
            reader.number(f"{name}.partitions", partitions),
            reader.number(f"{name}.replication.factor", factor),
            reader.configs(name),
        )
        for name in names
    ]
    if reader.problems:
        raise ConfigError(reader.problems)
    return (*groups, default)


def group_of(groups: Sequence[TopicGroup], topic: str) -> TopicGroup:
    """Return the first group that takes the topic; the last one takes all."""
    return next((group for group in groups if group.takes(topic)), groups[-1])


class _Reader:
    """Reads typed values and collects what is wrong with them."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self.problems: list[ConfigProblem] = []

    def number(self, name: str, default: int | None = None) -> int:
        text = self._given.get(name)
        if text is None and default is not None:
            return default
        try:
            number = int(text) if text is not None else 0
        except ValueError:
            number = 0
        if number > 0 or number == -1:
            return number
        key = f"{PREFIX}{name}"
        why = (
            f'Missing required configuration "{key}" which has no default value.'
            if text is None
            else f"Invalid value {text} for configuration {key}: "
            "Value must be 1 or larger, or -1 for the broker's default"
        )
        self.problems.append(ConfigProblem(key, why))
        return -1

    def patterns(self, name: str, *, required: bool = False) -> tuple[TimedPattern, ...]:
        key, text = f"{PREFIX}{name}", self._given.get(name)
        if text is None and required:
            missing = f'Missing required configuration "{key}" which has no default value.'
            self.problems.append(ConfigProblem(key, missing))
        try:
            return tuple(compile_pattern(part.strip()) for part in (text or "").split(",") if part.strip())
        except JavaPatternError as error:
            self.problems.append(ConfigProblem(key, f"Invalid value {text} for configuration {key}: {error}"))
            return ()

    def configs(self, group: str) -> dict[str, str]:
        own = {k.removeprefix(f"{group}."): v for k, v in self._given.items() if k.startswith(f"{group}.")}
        return {key: value for key, value in own.items() if key not in _OWN}
