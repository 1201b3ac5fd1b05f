"""The framework's own keys of every connector: Kafka Connect's, with its defaults and groups, and ours. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from connect.api.config import (
    Boolean,
    ClassName,
    Config,
    Int,
    ListOf,
    Long,
    Short,
    String,
    at_least,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem

COMMON, TRANSFORMS, PREDICATES, ERRORS = "Common", "Transforms", "Predicates", "Error Handling"
TOPIC_CREATION, EXACTLY_ONCE = "Topic Creation", "Exactly Once Support"


class CommonConnectorConfig(Config):
    """Keys of org.apache.kafka.connect.runtime.ConnectorConfig (Kafka 4.1)."""

    name: Annotated[String, non_empty] = key(
        "name", doc="Globally unique name of the connector.", importance="high", group=COMMON
    )
    connector_class: ClassName = key(
        "connector.class", doc="Name or alias of the connector's class.", importance="high", group=COMMON
    )
    tasks_max: Annotated[Int, at_least(1)] = key(
        "tasks.max", 1, doc="Most tasks to use.", importance="high", group=COMMON
    )
    tasks_max_enforce: Boolean = key(
        "tasks.max.enforce", True, doc="Fail when the connector makes more tasks.", importance="low", group=COMMON
    )
    key_converter: ClassName = key(
        "key.converter", None, doc="Converter of keys; default: the worker's.", importance="low", group=COMMON
    )
    value_converter: ClassName = key(
        "value.converter", None, doc="Converter of values; default: the worker's.", importance="low", group=COMMON
    )
    header_converter: ClassName = key(
        "header.converter", None, doc="Converter of headers; default: the worker's.", importance="low", group=COMMON
    )
    config_action_reload: Annotated[String, one_of("none", "restart", ignore_case=True)] = key(
        "config.action.reload",
        "restart",
        doc="What to do when an external value changes.",
        importance="low",
        group=COMMON,
    )
    connector_isolation: Annotated[String, one_of("shared", "process")] = key(
        "connector.isolation", "shared", doc="process: a task host of its own.", importance="low", group=COMMON
    )
    transforms: ListOf = key(
        "transforms", (), doc="Aliases of the transforms, in order.", importance="low", group=TRANSFORMS
    )
    predicates: ListOf = key("predicates", (), doc="Aliases of the predicates.", importance="low", group=PREDICATES)
    errors_retry_timeout_ms: Long = key(
        "errors.retry.timeout",
        0,
        doc="Milliseconds to retry a failed operation; 0: no retries, -1: for ever.",
        group=ERRORS,
    )
    errors_retry_delay_max_ms: Long = key(
        "errors.retry.delay.max.ms", 60_000, doc="Longest wait between two tries.", group=ERRORS
    )
    errors_tolerance: Annotated[String, one_of("none", "all", ignore_case=True)] = key(
        "errors.tolerance",
        "none",
        doc="all: bad rows are skipped or dead-lettered; none: the first fails the task.",
        group=ERRORS,
    )
    errors_log_enable: Boolean = key("errors.log.enable", False, doc="Log every failed operation.", group=ERRORS)
    errors_log_include_messages: Boolean = key(
        "errors.log.include.messages", False, doc="Log the failing record's place too.", group=ERRORS
    )
    errors_dlq_topic: String = key(
        "errors.deadletterqueue.topic.name", "", doc="Topic for bad rows; empty: none.", group=ERRORS
    )
    errors_dlq_replication_factor: Short = key(
        "errors.deadletterqueue.topic.replication.factor",
        3,
        doc="Replicas of a dead-letter topic made here.",
        group=ERRORS,
    )
    errors_dlq_headers: Boolean = key(
        "errors.deadletterqueue.context.headers.enable", False, doc="Say in headers what went wrong.", group=ERRORS
    )
    offset_flush_interval_ms: Long = key(
        "offset.flush.interval.ms",
        None,
        doc="How often offsets are stored; default: the worker's.",
        importance="low",
        group=COMMON,
    )
    auto_restart_enabled: Boolean = key(
        "auto.restart.enabled",
        None,
        doc="Restart this connector's failed tasks; default: the worker's.",
        importance="low",
        group=COMMON,
    )

    @property
    def tolerates_errors(self) -> bool:
        """Bad rows do not fail the task."""
        return self.errors_tolerance.lower() == "all"

    def problems(self) -> Iterable[ConfigProblem]:
        """Aliases must be unique."""
        for name, aliases in (("transforms", self.transforms), ("predicates", self.predicates)):
            if len(set(aliases)) != len(aliases):
                value = ",".join(aliases)
                yield ConfigProblem(name, f"Invalid value {value} for configuration {name}: Duplicate alias provided.")


class SourceConnectorConfig(CommonConnectorConfig):
    """Keys of org.apache.kafka.connect.runtime.SourceConnectorConfig."""

    topic_creation_groups: ListOf = key(
        "topic.creation.groups",
        (),
        doc="Groups of topics that get settings of their own.",
        importance="low",
        group=TOPIC_CREATION,
    )
    exactly_once_support: Annotated[String, one_of("requested", "required", ignore_case=True)] = key(
        "exactly.once.support",
        "requested",
        doc="required: rows and offsets in one transaction, or refuse.",
        group=EXACTLY_ONCE,
    )
    transaction_boundary: Annotated[String, one_of("poll", "interval", "connector", ignore_case=True)] = key(
        "transaction.boundary", "poll", doc="When a transaction ends.", group=EXACTLY_ONCE
    )
    transaction_boundary_interval_ms: Annotated[Long, at_least(1)] = key(
        "transaction.boundary.interval.ms",
        None,
        doc="For transaction.boundary=interval.",
        importance="low",
        group=EXACTLY_ONCE,
    )
    offsets_storage_topic: String = key(
        "offsets.storage.topic",
        None,
        doc="An offsets topic of this connector's own.",
        importance="low",
        group="offsets.topic",
    )


class SinkConnectorConfig(CommonConnectorConfig):
    """Keys of org.apache.kafka.connect.runtime.SinkConnectorConfig."""

    topics: ListOf = key("topics", (), doc="Topics to read.", importance="high", group=COMMON)
    topics_regex: String = key(
        "topics.regex", "", doc="Java regular expression of topics to read.", importance="high", group=COMMON
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Exactly one way to name topics; the dead-letter topic is none of them."""
        yield from super().problems()
        if self.topics and self.topics_regex:
            text = "topics and topics.regex are mutually exclusive options, but both are set."
            yield ConfigProblem("topics", text)
            yield ConfigProblem("topics.regex", text)
        if not self.topics and not self.topics_regex:
            text = "Must configure one of topics or topics.regex"
            yield ConfigProblem("topics", text)
            yield ConfigProblem("topics.regex", text)
        if self.errors_dlq_topic and self.errors_dlq_topic in self.topics:
            yield ConfigProblem(
                "topics",
                f"The DLQ topic '{self.errors_dlq_topic}' may not be included in the list of topics "
                f"('topics=[{', '.join(self.topics)}]') consumed by the connector",
            )
