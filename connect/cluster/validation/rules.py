"""Checks rules between a connector's own keys, and between them and the worker's. Pure; texts are Kafka Connect's own.

Each rule looks at the raw texts, so that one broken key does not hide what is wrong with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from connect.api.errors import ConfigProblem
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.javatext.timed_pattern import PatternTimeoutError
from connect.lib.setting_text import text_of
from connect.runtime.settings.internal_topics import ReservedTopics, StateKind
from connect.runtime.settings.worker_config import WorkerConfig

Properties = Mapping[str, str]
TOPICS, TOPICS_REGEX, DLQ = "topics", "topics.regex", "errors.deadletterqueue.topic.name"
BOTH: Final = "topics and topics.regex are mutually exclusive options, but both are set."
NEITHER: Final = "Must configure one of topics or topics.regex"
_CREATION = "topic.creation."
_CREATION_DEFAULTS: Final = ("replication.factor", "partitions")


def broken_rules(plugin: Plugin, given: Properties, worker: WorkerConfig, *, in_host: bool) -> Iterator[ConfigProblem]:
    """Yield the broken rules. Rules that need a pattern match, which may never end, are checked only if `in_host`."""
    yield from _aliases(given)
    yield from _reserved_topics(given, worker)
    if plugin.kind is PluginKind.SINK:
        yield from _sink(given, worker, in_host=in_host)
    else:
        yield from _source(plugin, given, worker)


def takes_a_match(given: Mapping[str, str | None]) -> bool:
    """Return True if a pattern has to be matched to check the rules."""
    return bool((given.get(TOPICS_REGEX) or "").strip() and (given.get(DLQ) or "").strip())


def comma_separated(text: str | None) -> list[str]:
    """Return the parts of a LIST value."""
    return [part.strip() for part in text.split(",")] if text and text.strip() else []


def _aliases(given: Properties) -> Iterator[ConfigProblem]:
    for key in ("transforms", "predicates", "topic.creation.groups"):
        aliases = comma_separated(given.get(key))
        if len(set(aliases)) != len(aliases):
            text = f"Invalid value [{', '.join(aliases)}] for configuration {key}: Duplicate alias provided."
            yield ConfigProblem(key, text)


def _reserved_topics(given: Properties, worker: WorkerConfig) -> Iterator[ConfigProblem]:
    """Yield a problem for each reserved topic. Tasks refuse them too, as other keys may also lead to a topic."""
    reserved = ReservedTopics(worker)
    for key, own in ((DLQ, ()), ("offsets.storage.topic", (StateKind.OFFSETS,))):
        refusal = reserved.refusal(given.get(key, "").strip(), key, but=own)
        if refusal is not None:
            yield from refusal.problems


def _sink(given: Properties, worker: WorkerConfig, *, in_host: bool) -> Iterator[ConfigProblem]:
    topics, regex = comma_separated(given.get(TOPICS)), given.get(TOPICS_REGEX, "").strip()
    if bool(topics) == bool(regex):
        text = BOTH if topics else NEITHER
        yield ConfigProblem(TOPICS, text)
        yield ConfigProblem(TOPICS_REGEX, text)
    yield from _dead_letters(topics, regex, given.get(DLQ, "").strip(), in_host=in_host)
    name = given.get("name", "")
    group = given.get("consumer.override.group.id", f"connect-{name}")
    if group == worker.group_id:
        key = "consumer.override.group.id" if "consumer.override.group.id" in given else "name"
        yield ConfigProblem(
            key, f"Consumer group for sink connector named {name} conflicts with Connect worker group {worker.group_id}"
        )


def _dead_letters(topics: list[str], regex: str, dlq: str, *, in_host: bool) -> Iterator[ConfigProblem]:
    if dlq and dlq in topics:
        yield ConfigProblem(
            TOPICS,
            f"The DLQ topic '{dlq}' may not be included in the list of topics "
            f"('topics=[{', '.join(topics)}]') consumed by the connector",
        )
    if not regex:
        return
    try:
        pattern = compile_pattern(regex)
    except JavaPatternError as error:
        invalid = f"Invalid value {regex} for configuration {TOPICS_REGEX}: Invalid regex: {error}"
        yield ConfigProblem(TOPICS_REGEX, invalid)
        return
    try:
        matches = in_host and dlq and pattern.fullmatch(dlq)
    except PatternTimeoutError as error:
        yield ConfigProblem(TOPICS_REGEX, str(error))
        return
    if matches:
        yield ConfigProblem(
            TOPICS_REGEX,
            f"The DLQ topic '{dlq}' may not be matched by the regex for the topics "
            f"('topics.regex={regex}') consumed by the connector",
        )


def _source(plugin: Plugin, given: Properties, worker: WorkerConfig) -> Iterator[ConfigProblem]:
    if given.get("exactly.once.support", "").strip().lower() == "required":
        if worker.exactly_once_source_support.lower() != "enabled":
            yield ConfigProblem(
                "exactly.once.support", "This worker does not have exactly-once source support enabled."
            )
        if Capability.EXACTLY_ONCE not in plugin.capabilities:
            yield ConfigProblem(
                "exactly.once.support",
                "The connector does not support exactly-once semantics with the provided configuration.",
            )
    defines_boundaries = Capability.TRANSACTION_BOUNDARIES in plugin.capabilities
    if given.get("transaction.boundary", "").strip().lower() == "connector" and not defines_boundaries:
        yield ConfigProblem(
            "transaction.boundary",
            "The connector does not support connector-defined transaction boundaries with the given configuration. "
            "Please reconfigure it to use a different transaction boundary definition.",
        )
    if worker.topic_creation_enable:
        yield from chain(_topic_creation_defaults(given), _topic_creation_groups(given))


def _topic_creation_defaults(given: Properties) -> Iterator[ConfigProblem]:
    if not any(key.startswith(_CREATION) and given[key].strip() for key in given):
        return
    for setting in _CREATION_DEFAULTS:
        key = f"{_CREATION}default.{setting}"
        if key not in given:
            yield ConfigProblem(key, f'Missing required configuration "{key}" which has no default value.')


def _topic_creation_groups(given: Properties) -> Iterator[ConfigProblem]:
    groups = comma_separated(given.get("topic.creation.groups"))
    for group in dict.fromkeys(groups):
        include = f"{_CREATION}{group}.include"
        if group != "default" and include not in given:
            yield ConfigProblem(include, f'Missing required configuration "{include}" which has no default value.')
    for group in dict.fromkeys((*groups, "default")):
        for setting in _CREATION_DEFAULTS:
            key = f"{_CREATION}{group}.{setting}"
            yield from _replication_or_partitions(key, given.get(key))
        for setting in ("include", "exclude"):
            key = f"{_CREATION}{group}.{setting}"
            yield from _patterns(key, given.get(key))


def _replication_or_partitions(key: str, text: str | None) -> Iterator[ConfigProblem]:
    if text is None:
        return
    kind = "SHORT" if key.endswith("replication.factor") else "INT"
    try:
        number = int(text)
    except ValueError:
        yield ConfigProblem(key, f"Invalid value {text} for configuration {key}: Not a number of type {kind}")
        return
    if number == 0 or number < -1:
        yield ConfigProblem(
            key,
            f"Invalid value {text} for configuration {key}: Value must be 1 or larger, or -1 for the broker's default",
        )


def _patterns(key: str, text: str | None) -> Iterator[ConfigProblem]:
    for pattern in comma_separated(text):
        try:
            compile_pattern(pattern)
        except JavaPatternError as error:
            invalid = f"Invalid value {text_of(text)} for configuration {key}: Invalid regex: {error}"
            yield ConfigProblem(key, invalid)
