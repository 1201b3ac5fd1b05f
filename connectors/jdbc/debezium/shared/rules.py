"""Checks the rules between the settings that Debezium's connectors share. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from connect.api.errors import ConfigProblem
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connectors.jdbc.debezium.shared.column_rule_keys import column_problems
from connectors.jdbc.debezium.shared.keys import DebeziumConfig


def name_problems(config: DebeziumConfig) -> Iterator[ConfigProblem]:
    """Yield problems of topic.prefix, and values that are not known here."""
    if not config.prefix:
        yield ConfigProblem("topic.prefix", "topic.prefix names topics, schemas and offsets: give it.")
    elif re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", config.prefix) is None:
        yield ConfigProblem("topic.prefix", "topic.prefix must be letters, digits, '.', '_' and '-'.")
    yield from column_problems(config.originals)
    if config.signal_collection and "." not in config.signal_collection:
        yield ConfigProblem("signal.data.collection", "signal.data.collection must be the table with its schema.")
    if "kafka" in config.signal_channels and not config.signal_brokers:
        yield ConfigProblem(
            "signal.kafka.bootstrap.servers",
            "signal.enabled.channels has kafka: name the brokers in signal.kafka.bootstrap.servers.",
        )
    if "file" in config.signal_channels and not config.signal_file:
        yield ConfigProblem("signal.file", "signal.enabled.channels has file: name the file in signal.file.")


def list_problems(given: Mapping[str, str], group: str) -> Iterator[ConfigProblem]:
    """Yield lists that exclude each other, and malformed patterns.

    `group` is Debezium's word for the owner of tables in keys: `schema` or `database`.
    """
    for kind in ("table", group, "column"):
        for one, other in (
            (f"{kind}.include.list", f"{kind}.exclude.list"),
            (f"{kind}.whitelist", f"{kind}.blacklist"),
        ):
            yield from exclusive_problems(given, one, other)


def exclusive_problems(given: Mapping[str, str], one: str, other: str) -> Iterator[ConfigProblem]:
    """Yield problems of two lists of patterns that exclude each other."""
    if given.get(one) and given.get(other):
        for name in (one, other):
            yield ConfigProblem(name, f"{one} and {other} are exclusive: give one of them.")
    for name in (one, other):
        yield from _pattern_problems(name, given.get(name, ""))


def _pattern_problems(name: str, text: str) -> Iterator[ConfigProblem]:
    for pattern in text.split(","):
        try:
            compile_pattern(pattern.strip())
        except JavaPatternError as error:
            yield ConfigProblem(
                name, f"Invalid value {pattern} for configuration {name}: not a regular expression: {error}"
            )
