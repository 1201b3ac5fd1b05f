"""Holds the worker's settings: Kafka Connect's keys, from a Java properties file or YAML.

Parsing is elsewhere; no I/O here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.allowed_hosts import ALLOWED_HOSTS, PROFILE, STRICT, check_allowed_host
from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.config import (
    Boolean,
    ClassName,
    Double,
    Int,
    ListOf,
    Long,
    Password,
    Short,
    String,
    at_least,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connect.kafka.client.own_login import LOGIN_ADDRESSES
from connect.runtime.settings.alert_keys import AlertKeys
from connect.runtime.settings.encryption_keys import EncryptionKeys
from connect.runtime.settings.worker_access_keys import AUDIT_TOPIC
from connect.runtime.settings.worker_rest_keys import BASIC_AUTH_CLASS, BASIC_AUTH_FILE, RestKeys

SLOTS_DEFAULT: Final = 60
_TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_TOPIC_RULE: Final = "a topic's name holds only letters, digits, '.', '_' and '-', at most 249 of them"


def _check_count(value: int) -> int:
    if value == 0 or value < -1:
        raise ValueError("Value must be 1 or larger, or -1 for the broker's default")
    return value


_count_or_default: Final = AfterValidator(_check_count)


def _check_hosts(value: tuple[str, ...]) -> tuple[str, ...]:
    for text in value:
        check_allowed_host(text)
    return value


_hosts: Final = AfterValidator(_check_hosts)


class WorkerConfig(RestKeys, AlertKeys, EncryptionKeys):
    """Holds the keys of org.apache.kafka.connect.runtime.distributed.DistributedConfig (Kafka 4.1) that make sense
    without a JVM, and ours.

    Settings of Kafka clients are kept as given in `originals`: `security.*`, `sasl.*` and `ssl.*`, and those that begin
    with `producer.`, `consumer.` or `admin.`.
    """

    bootstrap_servers: Annotated[ListOf, non_empty] = key(
        "bootstrap.servers", doc="Kafka brokers, host:port, comma-separated.", importance="high", group="Common"
    )
    group_id: Annotated[String, non_empty] = key(
        "group.id",
        doc="Name of this cluster of workers; unique among consumer groups.",
        importance="high",
        group="Common",
    )
    config_storage_topic: Annotated[String, non_empty] = key(
        "config.storage.topic",
        doc="Compacted topic that holds connector configurations.",
        importance="high",
        group="Common",
    )
    config_storage_replication_factor: Annotated[Short, _count_or_default] = key(
        "config.storage.replication.factor",
        3,
        doc="Replicas of the config topic; -1: the broker's default.",
        group="Common",
    )
    offset_storage_topic: Annotated[String, non_empty] = key(
        "offset.storage.topic", doc="Compacted topic that holds source offsets.", importance="high", group="Common"
    )
    offset_storage_replication_factor: Annotated[Short, _count_or_default] = key(
        "offset.storage.replication.factor",
        3,
        doc="Replicas of the offsets topic; -1: the broker's default.",
        group="Common",
    )
    offset_storage_partitions: Annotated[Int, _count_or_default] = key(
        "offset.storage.partitions",
        25,
        doc="Partitions of the offsets topic; -1: the broker's default.",
        group="Common",
    )
    status_storage_topic: Annotated[String, non_empty] = key(
        "status.storage.topic", doc="Compacted topic that holds statuses.", importance="high", group="Common"
    )
    status_storage_replication_factor: Annotated[Short, _count_or_default] = key(
        "status.storage.replication.factor",
        3,
        doc="Replicas of the status topic; -1: the broker's default.",
        group="Common",
    )
    status_storage_partitions: Annotated[Int, _count_or_default] = key(
        "status.storage.partitions", 5, doc="Partitions of the status topic; -1: the broker's default.", group="Common"
    )
    client_id: String = key(
        "client.id",
        "",
        doc="Part of the ids of the worker's own clients, for quotas and audits.",
        importance="low",
    )
    key_converter: ClassName = key("key.converter", doc="Converter of record keys.", importance="high", group="Common")
    value_converter: ClassName = key(
        "value.converter", doc="Converter of record values.", importance="high", group="Common"
    )
    header_converter: ClassName = key(
        "header.converter",
        "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        doc="Converter of record headers.",
        importance="low",
        group="Common",
    )
    offset_flush_interval_ms: Annotated[Long, at_least(1)] = key(
        "offset.flush.interval.ms", 60_000, doc="How often offsets are stored.", importance="low", group="Common"
    )
    offset_flush_timeout_ms: Annotated[Long, at_least(1)] = key(
        "offset.flush.timeout.ms",
        5_000,
        doc="Longest wait for rows in flight before a flush gives up.",
        importance="low",
    )
    task_shutdown_graceful_timeout_ms: Annotated[Long, at_least(1)] = key(
        "task.shutdown.graceful.timeout.ms",
        5_000,
        doc="Time a task gets to stop; then its process is killed.",
        importance="low",
    )
    session_timeout_ms: Annotated[Int, at_least(1)] = key(
        "session.timeout.ms",
        6_000,
        doc="After this silence a worker counts as lost.",
        importance="high",
        group="Common",
    )
    heartbeat_interval_ms: Annotated[Int, at_least(1)] = key(
        "heartbeat.interval.ms", 1_500, doc="How often a worker says that it lives.", importance="high", group="Common"
    )
    rebalance_timeout_ms: Annotated[Int, at_least(1)] = key(
        "rebalance.timeout.ms", 60_000, doc="Longest time a worker may take to join a rebalance.", group="Common"
    )
    exactly_once_source_support: Annotated[String, one_of("disabled", "preparing", "enabled", ignore_case=True)] = key(
        "exactly.once.source.support", "enabled", doc="Whether sources may write in transactions.", importance="high"
    )
    topic_creation_enable: Boolean = key(
        "topic.creation.enable",
        True,
        doc="Create topics of source connectors with topic.creation.* settings.",
        importance="low",
    )
    topic_tracking_enable: Boolean = key(
        "topic.tracking.enable", True, doc="Remember which topics each connector used.", importance="low"
    )
    topic_tracking_allow_reset: Boolean = key(
        "topic.tracking.allow.reset", True, doc="Allow to reset the topics a connector used.", importance="low"
    )
    connector_client_config_override_policy: ClassName = key(
        "connector.client.config.override.policy", "All", doc="Which client settings a connector may override."
    )
    connector_client_config_override_allowlist: ListOf = key(
        "connector.client.config.override.allowlist",
        (),
        doc="Keys the Allowlist policy lets through.",
        importance="low",
    )
    connector_client_config_login_addresses: ListOf = key(
        LOGIN_ADDRESSES, (), importance="low",
        doc="Brokers, host:port, and issuers of tokens to which the worker's own login may be sent where a connector "
        "names them by bootstrap.servers or sasl.oauthbearer.token.endpoint.url behind producer.override. and the "
        "like, or speaks to them less safely than the worker. Left out, such a client needs a login of its own.",
    )  # fmt: skip
    internal_topics_automatic_creation_enable: Boolean = key(
        "internal.topics.automatic.creation.enable",
        True,
        doc="Make the worker's own topics where they are missing; false: refuse to start then.",
        importance="low",
    )
    config_providers: ListOf = key("config.providers", (), doc="Names of the config providers.", importance="low")
    python_function_modules: ListOf = key(
        "python.function.modules",
        (),
        doc="Modules, and packages with all in them, whose functions the transform PythonFunction may call: whoever "
        "may change a connector may run them. Modules of Python itself count only by their full name. Default: none.",
    )
    jdbc_sqlalchemy_drivers: ListOf = key(
        "jdbc.sqlalchemy.drivers",
        (),
        doc="Further drivers that connection.url of the JDBC source may name, as mssql+pymssql: what a driver's "
        "parameters can load or read on this machine is the driver's.",
        importance="low",
    )
    allowed_paths: ListOf = key(
        ALLOWED_PATHS,
        (),
        doc="Files, and folders with all in them, that configurations may name: files that connectors read and write, "
        "SQLite databases, keys and certificates, what ${file:} and ${directory:} read. None given: none, other than "
        "in Java. !/path takes what is there out of the other entries. Files that this file names for the worker "
        "itself need no entry. / allows all that the worker's user may.",
    )
    security_profile: Annotated[String, one_of("standard", STRICT)] = key(
        PROFILE,
        "standard",
        doc="strict: configurations name no host but those of allowed.hosts. standard: any host where that key is left "
        "out, as in Java.",
    )
    allowed_hosts: Annotated[ListOf, _hosts] = key(
        ALLOWED_HOSTS,
        (),
        doc="Hosts that configurations may name: databases, registries, stores, catalogues, proxies, other brokers. "
        "Names (*.example.com), addresses and networks (10.0.0.0/8), each also with a port (db:5432). Names are not "
        "looked up. * is any. Left out: any, and none with security.profile=strict.",
    )
    file_stream_paths: ListOf = key(
        "file.stream.paths", (), doc="As allowed.paths, for the file source and the file sink alone.", importance="low"
    )
    s3_local_folders: ListOf = key(
        "s3.local.folders", (), doc="As allowed.paths, for the S3 sink alone.", importance="low"
    )
    internal_topics_writable: ListOf = key(
        "internal.topics.writable",
        (),
        doc="Topics with the state of other Connect clusters that connectors may write to, as copies of them.",
        importance="low",
    )
    inter_worker_key_ttl_ms: Annotated[Int, at_least(0)] = key(
        "inter.worker.key.ttl.ms",
        3_600_000,
        doc="How often the key is renewed with which Java workers sign requests; workers here do not.",
        importance="low",
    )
    tracing_enabled: Boolean | None = key(
        "tracing.enabled",
        None,
        doc="OpenTelemetry spans of every step of a task; default: on where OTEL_TRACES_EXPORTER or"
        " OTEL_EXPORTER_OTLP_ENDPOINT is set.",
        importance="low",
    )
    task_hosts: Annotated[Int, at_least(0)] = key(
        "task.hosts", 0, doc="Processes that run tasks; 0: one per core.", importance="low", group="Common"
    )
    task_host_memory_limit_mb: Annotated[Int, at_least(0)] = key(
        "task.host.memory.limit",
        0,
        doc="Resident memory in MiB above which a process that runs tasks, or checks, is ended; 0: none.",
    )
    check_host_memory_limit_mb: Annotated[Int, at_least(0)] = key(
        "check.host.memory.limit",
        1024,
        doc="As task.host.memory.limit, for processes that only ask connectors: checks, plans of tasks, samples. Where "
        "both are given the lower one counts for them.",
        importance="low",
    )
    slots: Annotated[Int, at_least(1)] = key(
        "slots",
        SLOTS_DEFAULT,
        doc="Partitions of the slots topic when it is made; more may be added later.",
        importance="low",
    )
    auto_restart_enabled: Boolean = key(
        "auto.restart.enabled", True, doc="Restart failed connectors and tasks on their own.", group="Common"
    )
    auto_restart_backoff_initial_ms: Annotated[Long, at_least(1)] = key(
        "auto.restart.backoff.initial.ms",
        1_000,
        doc="Wait before the first restart; doubled each time.",
        importance="low",
    )
    auto_restart_backoff_max_ms: Annotated[Long, at_least(1)] = key(
        "auto.restart.backoff.max.ms", 60_000, doc="Longest wait between restarts.", importance="low"
    )
    auto_restart_limit: Annotated[Int, at_least(-1)] = key(
        "auto.restart.limit", 10, doc="Restarts in a row before a task stays FAILED; -1: no limit.", importance="low"
    )
    auto_restart_reset_after_ms: Annotated[Long, at_least(1)] = key(
        "auto.restart.reset.after.ms",
        600_000,
        doc="Good running after which restarts are counted anew.",
        importance="low",
    )
    task_overdue_ms: Annotated[Long, at_least(1)] = key(
        "task.overdue.ms",
        60_000,
        doc="A task that should run and has not for so long is named by GET /health, and placed again.",
        importance="low",
    )
    start_timeout_ms: Annotated[Long, at_least(1)] = key(
        "start.timeout.ms", 60_000, doc="A worker that never reached a broker ends after this time.", importance="low"
    )
    metrics_sample_window_s: Annotated[Double, at_least(0.1)] = key(
        "metrics.sample.window.s",
        1.0,
        doc="How often a task host tells its figures at most: whoever asks sooner gets those of the last answer.",
        importance="low",
    )
    sasl_jaas_config: Password = key(
        "sasl.jaas.config", None, doc="Login for the brokers.", importance="low", group="Common"
    )

    @property
    def client_prefix(self) -> str:
        """Return the prefix of the worker's own client ids. It is Kafka Connect's, as quotas and audits go by it."""
        return f"{self.group_id}-{self.client_id}" if self.client_id else self.group_id

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem for each internal topic whose name Kafka does not take, or that has another one's name."""
        topics = {
            "config.storage.topic": self.config_storage_topic,
            "offset.storage.topic": self.offset_storage_topic,
            "status.storage.topic": self.status_storage_topic,
            **({AUDIT_TOPIC: self.rest_audit_topic} if self.rest_audit_topic is not None else {}),
        }
        for name, topic in topics.items():
            if list(topics.values()).count(topic) > 1:
                yield ConfigProblem(
                    name, f"Invalid value {topic} for configuration {name}: each internal topic needs its own."
                )
            if not _TOPIC_NAME.fullmatch(topic):
                text = f"Invalid value {topic} for configuration {name}: {_TOPIC_RULE}."
                yield ConfigProblem(name, text)
        if not _TOPIC_NAME.fullmatch(f"{self.group_id}-slots"):
            yield ConfigProblem(
                "group.id",
                f"Invalid value {self.group_id} for configuration group.id: workers share the topic "
                f"{self.group_id}-slots, and {_TOPIC_RULE}.",
            )
        classes = {name.rpartition(".")[2] for name in self.rest_extension_classes}
        if BASIC_AUTH_CLASS.rpartition(".")[2] in classes and not self.rest_basic_auth_file:
            yield ConfigProblem(
                BASIC_AUTH_FILE,
                f"rest.extension.classes asks for basic authentication, but {BASIC_AUTH_FILE} is not set. Name the "
                "properties file of users and passwords that the JAAS section KafkaConnect names for Java workers.",
            )
        yield from self.alert_problems()
        yield from self.access_problems(has_users=bool(self.rest_basic_auth_file))
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            yield ConfigProblem(
                "heartbeat.interval.ms",
                f"Invalid value {self.heartbeat_interval_ms} for configuration heartbeat.interval.ms: "
                f"must be lower than session.timeout.ms ({self.session_timeout_ms}).",
            )
