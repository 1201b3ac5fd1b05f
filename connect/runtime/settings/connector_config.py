"""Declares the framework's keys of every connector: Kafka Connect's, with its defaults and groups, and ours. No I/O."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from connect.api.config import (
    Boolean,
    ClassName,
    Config,
    Double,
    Int,
    ListOf,
    Long,
    Short,
    String,
    at_least,
    between,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.runtime.settings.error_keys import (
    ERRORS,
    dlq_headers_key,
    dlq_replication_factor_key,
    dlq_topic_key,
    limit_count_key,
    limit_ratio_key,
    limit_window_key,
)

COMMON, TRANSFORMS, PREDICATES = "Common", "Transforms", "Predicates"
TOPIC_CREATION, EXACTLY_ONCE, OFFSETS_TOPIC = "Topic Creation", "Exactly Once Support", "offsets.topic"


def _check_name(value: str) -> str:
    if not value:
        raise ValueError("String may not be empty")
    control = [str(ord(char)) for char in value if unicodedata.category(char) == "Cc"]
    if control:
        raise ValueError(
            f"String may not contain control sequences but had the following ASCII chars: {', '.join(control)}"
        )
    return value


class CommonConnectorConfig(Config):
    """Holds the keys of org.apache.kafka.connect.runtime.ConnectorConfig (Kafka 4.1)."""

    name: Annotated[String, AfterValidator(_check_name)] = key(
        "name",
        doc="Globally unique name of the connector.",
        importance="high",
        group=COMMON,
        display_name="Connector name",
    )
    connector_class: String = key(
        "connector.class",
        reach=Reach.CLASS,
        bounds="plug-ins of installed packages alone",
        doc="Name or alias of the connector's class.",
        importance="high",
        group=COMMON,
        width="long",
        display_name="Connector class",
    )
    connector_plugin_version: String = key(
        "connector.plugin.version",
        None,
        harmless="a version",
        doc="Version of the connector's class: one, or a range such as [1.0,2.0); default: the newest.",
        group=COMMON,
        display_name="Connector version",
    )
    tasks_max: Annotated[Int, at_least(1)] = key(
        "tasks.max",
        1,
        doc="Most tasks to use.",
        importance="high",
        group=COMMON,
        width="short",
        display_name="Tasks max",
    )
    tasks_max_enforce: Boolean = key(
        "tasks.max.enforce",
        True,
        doc="Fail when the connector makes more tasks.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Enforce tasks max",
    )
    key_converter: ClassName = key(
        "key.converter",
        None,
        bounds="plug-ins of installed packages alone",
        doc="Converter of keys; default: the worker's.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Key converter class",
    )
    key_converter_plugin_version: String = key(
        "key.converter.plugin.version",
        None,
        harmless="a version",
        doc="Version of the key converter's class; default: the newest.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Key converter version",
    )
    value_converter: ClassName = key(
        "value.converter",
        None,
        bounds="plug-ins of installed packages alone",
        doc="Converter of values; default: the worker's.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Value converter class",
    )
    value_converter_plugin_version: String = key(
        "value.converter.plugin.version",
        None,
        harmless="a version",
        doc="Version of the value converter's class; default: the newest.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Value converter version",
    )
    header_converter: ClassName = key(
        "header.converter",
        None,
        bounds="plug-ins of installed packages alone",
        doc="Converter of headers; default: the worker's.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Header converter class",
    )
    header_converter_plugin_version: String = key(
        "header.converter.plugin.version",
        None,
        harmless="a version",
        doc="Version of the header converter's class; default: the newest.",
        importance="low",
        group=COMMON,
        width="short",
        display_name="Header converter version",
    )
    transforms: ListOf = key(
        "transforms",
        (),
        doc="Aliases of the transforms, in order.",
        importance="low",
        group=TRANSFORMS,
        width="long",
        display_name="Transforms",
    )
    predicates: ListOf = key(
        "predicates",
        (),
        doc="Aliases of the predicates.",
        importance="low",
        group=PREDICATES,
        width="long",
        display_name="Predicates",
    )
    config_action_reload: Annotated[String, one_of("none", "restart")] = key(
        "config.action.reload",
        "restart",
        doc="What to do when an external value changes.",
        importance="low",
        group=COMMON,
        display_name="Reload Action",
    )
    errors_retry_timeout_ms: Long = key(
        "errors.retry.timeout",
        0,
        doc="Milliseconds to retry a failed operation; 0: no retries, -1: for ever.",
        group=ERRORS,
        display_name="Retry Timeout for Errors",
    )
    errors_retry_delay_max_ms: Long = key(
        "errors.retry.delay.max.ms",
        60_000,
        doc="Longest wait between two tries.",
        group=ERRORS,
        display_name="Maximum Delay Between Retries for Errors",
    )
    errors_tolerance: Annotated[String, one_of("none", "all")] = key(
        "errors.tolerance",
        "none",
        doc="all: bad rows are skipped or dead-lettered; none: the first fails the task.",
        group=ERRORS,
        width="short",
        display_name="Error Tolerance",
    )
    errors_log_enable: Boolean = key(
        "errors.log.enable",
        False,
        doc="Log every failed operation.",
        group=ERRORS,
        width="short",
        display_name="Log Errors",
    )
    errors_log_include_messages: Boolean = key(
        "errors.log.include.messages",
        False,
        doc="Log the failing record's place too.",
        group=ERRORS,
        width="short",
        display_name="Log Error Details",
    )
    connector_isolation: Annotated[String, one_of("shared", "process")] = key(
        "connector.isolation",
        "shared",
        doc="process: a task host of its own.",
        importance="low",
        group=COMMON,
        internal=True,
    )
    offset_flush_interval_ms: Long = key(
        "offset.flush.interval.ms",
        None,
        doc="How often offsets are stored; default: the worker's.",
        importance="low",
        group=COMMON,
        internal=True,
    )
    auto_restart_enabled: Boolean = key(
        "auto.restart.enabled",
        None,
        doc="Restart this connector's failed tasks; default: the worker's.",
        importance="low",
        group=COMMON,
        internal=True,
    )
    errors_dlq_topic: String = dlq_topic_key(internal=True)
    errors_dlq_replication_factor: Short = dlq_replication_factor_key(internal=True)
    errors_dlq_headers: Boolean = dlq_headers_key(default=False, internal=True)
    errors_limit_count: Annotated[Long, at_least(0)] | None = limit_count_key()
    errors_limit_ratio: Annotated[Double, between(0, 1)] | None = limit_ratio_key()
    errors_limit_window_ms: Annotated[Long, at_least(1)] = limit_window_key()

    @property
    def tolerates_errors(self) -> bool:
        """Return True if bad rows do not fail the task."""
        return self.errors_tolerance.lower() == "all"

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem for each list of aliases in which one stands twice."""
        for name, aliases in (("transforms", self.transforms), ("predicates", self.predicates)):
            if len(set(aliases)) != len(aliases):
                value = ", ".join(aliases)
                yield ConfigProblem(
                    name, f"Invalid value [{value}] for configuration {name}: Duplicate alias provided."
                )


class SourceConnectorConfig(CommonConnectorConfig):
    """Holds the keys of org.apache.kafka.connect.runtime.SourceConnectorConfig.

    Kafka Connect has no dead letters of sources. Their context headers are on by default, as a replay needs them.
    """

    errors_dlq_headers: Boolean = dlq_headers_key(default=True, internal=True)
    topic_creation_groups: ListOf = key(
        "topic.creation.groups",
        (),
        doc="Groups of topics that get settings of their own.",
        importance="low",
        group=TOPIC_CREATION,
        width="long",
        display_name="Topic Creation Groups",
    )
    exactly_once_support: Annotated[String, one_of("REQUIRED", "REQUESTED", ignore_case=True)] = key(
        "exactly.once.support",
        "requested",
        doc="required: rows and offsets in one transaction, or refuse.",
        group=EXACTLY_ONCE,
        width="short",
        display_name="Exactly once support",
    )
    transaction_boundary: Annotated[String, one_of("INTERVAL", "POLL", "CONNECTOR", ignore_case=True)] = key(
        "transaction.boundary",
        "poll",
        doc="When a transaction ends: behind each polled batch, after an interval, or where the connector says.",
        group=EXACTLY_ONCE,
        width="short",
        display_name="Transaction Boundary",
    )
    transaction_boundary_interval_ms: Annotated[Long, at_least(1)] = key(
        "transaction.boundary.interval.ms",
        None,
        doc="The interval of transaction.boundary=interval; default: offset.flush.interval.ms.",
        importance="low",
        group=EXACTLY_ONCE,
        width="short",
        display_name="Transaction boundary interval",
    )
    offsets_storage_topic: Annotated[String, non_empty] = key(
        "offsets.storage.topic",
        None,
        doc="An offsets topic of this connector's own.",
        importance="low",
        group=OFFSETS_TOPIC,
        width="long",
        display_name="Offsets topic",
    )


class SinkConnectorConfig(CommonConnectorConfig):
    """Holds the keys of org.apache.kafka.connect.runtime.SinkConnectorConfig."""

    topics: ListOf = key(
        "topics", (), doc="Topics to read.", importance="high", group=COMMON, width="long", display_name="Topics"
    )
    topics_regex: String = key(
        "topics.regex",
        "",
        doc="Java regular expression of topics to read.",
        importance="high",
        group=COMMON,
        width="long",
        display_name="Topics regex",
    )
    errors_dlq_topic: String = dlq_topic_key(internal=False)
    errors_dlq_replication_factor: Short = dlq_replication_factor_key(internal=False)
    errors_dlq_headers: Boolean = dlq_headers_key(default=False, internal=False)

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem unless topics are named in exactly one way, and if the dead-letter topic is one of them."""
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
