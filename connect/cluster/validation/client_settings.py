"""Checks client settings that a connector overrides: names, values, and what the worker's policy says. Pure.

Types are those of ProducerConfig, ConsumerConfig and AdminClientConfig of Kafka 4.1; a key that is not listed here is
text, or a setting of librdkafka, and passed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import TypeAdapter, ValidationError

from connect.api.allowed import ConfigType
from connect.api.config import Boolean, Double, Int, Long, Short
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.cluster.model.validation_infos import Definition, Info, Value
from connect.cluster.validation.notes import FAIL_UNTIL, NO_EFFECT, UNKNOWN_MAX
from connect.cluster.validation.override_policy import may_override, policy_name
from connect.cluster.validation.rules import DLQ
from connect.kafka.client.settings import WORKERS_ALONE, all_override_problems
from connect.kafka.client.trial import refused_overrides, unknown_overrides
from connect.lib.secrets import HIDDEN
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.settings.worker_config import WorkerConfig

PASSWORDS: Final = frozenset({
    "sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "ssl.keystore.certificate.chain",
    "ssl.keystore.password", "ssl.truststore.certificates", "ssl.truststore.password", "sasl.password",
})  # fmt: skip
OWN_OFFSETS: Final = "offsets.storage.topic"
_REFUSED: Final = "The '{}' policy does not allow '{}' to be overridden in the connector configuration."
_SHORTS = ("sasl.login.refresh.min.period.seconds", "sasl.login.refresh.buffer.seconds")
_INTS = (
    "max.poll.records", "max.poll.interval.ms", "session.timeout.ms", "heartbeat.interval.ms", "fetch.min.bytes",
    "fetch.max.bytes", "fetch.max.wait.ms", "max.partition.fetch.bytes", "send.buffer.bytes", "receive.buffer.bytes",
    "request.timeout.ms", "default.api.timeout.ms", "auto.commit.interval.ms", "batch.size", "max.request.size",
    "delivery.timeout.ms", "max.in.flight.requests.per.connection", "transaction.timeout.ms", "metrics.num.samples",
    "retries", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level",
)  # fmt: skip
_LONGS = (
    "linger.ms", "buffer.memory", "max.block.ms", "retry.backoff.ms", "retry.backoff.max.ms", "reconnect.backoff.ms",
    "reconnect.backoff.max.ms", "metadata.max.age.ms", "metadata.max.idle.ms", "connections.max.idle.ms",
    "metrics.sample.window.ms", "socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms",
)  # fmt: skip
_BOOLEANS = (
    "enable.idempotence", "enable.auto.commit", "check.crcs", "exclude.internal.topics", "allow.auto.create.topics",
    "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable", "enable.metrics.push",
)  # fmt: skip
_DOUBLES = ("sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter", "sasl.kerberos.ticket.renew.jitter")
_TYPES: Final[Mapping[str, ConfigType]] = {
    **dict.fromkeys(_SHORTS, ConfigType.SHORT), **dict.fromkeys(_INTS, ConfigType.INT),
    **dict.fromkeys(_LONGS, ConfigType.LONG), **dict.fromkeys(_BOOLEANS, ConfigType.BOOLEAN),
    **dict.fromkeys(_DOUBLES, ConfigType.DOUBLE), **dict.fromkeys(PASSWORDS, ConfigType.PASSWORD),
}  # fmt: skip
_READERS: Final[Mapping[ConfigType, TypeAdapter[object]]] = {
    kind: TypeAdapter(reader)
    for kind, reader in {
        ConfigType.SHORT: Short, ConfigType.INT: Int, ConfigType.LONG: Long, ConfigType.BOOLEAN: Boolean,
        ConfigType.DOUBLE: Double,
    }.items()
}  # fmt: skip


class OverrideValueError(ValueError):
    """Raised if a client setting cannot be read. Kafka Connect answers with this text."""


def client_overrides(kind: PluginKind, given: Mapping[str, str], worker: WorkerConfig) -> Iterator[Info]:
    """Yield the overridden client settings that this connector's clients use.

    OverrideValueError: a value cannot be read.
    """
    for prefix in _prefixes_in_use(kind, given, worker):
        wanted = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
        found = all_override_problems(worker.originals, prefix.removesuffix("override."), wanted)
        for setting in sorted(wanted):
            key = prefix + setting
            policy = policy_name(worker.connector_client_config_override_policy)
            errors: tuple[str, ...] = () if may_override(worker, setting) else (_REFUSED.format(policy, setting),)
            errors += tuple(problem.message for problem in found if problem.key == key)
            if setting in WORKERS_ALONE:
                errors = (f"{key} loads a library: only the worker's own file may set {setting}.",)
            yield _info(key, setting, given[key], errors)


def client_notes(plugin: Plugin, given: Mapping[str, str], worker: WorkerConfig) -> Iterator[str]:
    """Yield a sentence for each overridden setting that a client does not have, or with which it cannot be made.

    As in Kafka Connect the configuration is accepted. If a client cannot be made, the tasks fail.
    """
    kind = plugin.kind
    if kind is PluginKind.SINK and not given.get(DLQ, "").strip():
        yield from _idle(given, "producer.override.", f"without {DLQ}, as a sink sends nothing but dead letters.")
    if kind is PluginKind.SOURCE and not _has_consumer(plugin, given):
        why = f"without {OWN_OFFSETS}, as the worker reads the offsets of its sources by its own client."
        yield from _idle(given, "consumer.override.", why)
    in_transactions = kind is PluginKind.SOURCE and worker.exactly_once_source_support.lower() == "enabled"
    for prefix in _prefixes_in_use(kind, given, worker):
        wanted = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
        own = prefix.removesuffix("override.")
        for name, meant in unknown_overrides(own, wanted).items():
            hint = f" Is {prefix}{meant} meant?" if meant else ""
            yield f"{prefix}{name}: the client has no such setting, so it has {NO_EFFECT}.{hint}"
        if not wanted or any(True for value in wanted.values() for _ in placeholders(value)):
            continue  # only the task knows the values of config providers
        if all_override_problems(worker.originals, own, wanted) or WORKERS_ALONE & wanted.keys():
            continue  # an error says so
        for problem in refused_overrides(worker.originals, own, wanted, in_transactions=in_transactions):
            yield f"{prefix}{problem.key}: {FAIL_UNTIL} it is mended: {problem.message}"


def _idle(given: Mapping[str, str], prefix: str, why: str) -> Iterator[str]:
    keys = sorted(key for key in given if key.startswith(prefix))
    if keys:
        yield f"{', '.join(keys[:UNKNOWN_MAX])}: {NO_EFFECT} {why}"


def _has_consumer(plugin: Plugin, given: Mapping[str, str]) -> bool:
    """Return True if a source has a consumer of its own: for its own offsets topic, or for the topics that it reads.

    A source that writes exactly once to other brokers has its offsets there, too.
    """
    elsewhere = "producer.override.bootstrap.servers" in given
    return bool(given.get(OWN_OFFSETS, "").strip()) or elsewhere or Capability.READS_TOPICS in plugin.capabilities


def _prefixes_in_use(kind: PluginKind, given: Mapping[str, str], worker: WorkerConfig) -> list[str]:
    dead_letters = bool(given.get(DLQ, "").strip())
    own_offsets = OWN_OFFSETS in given
    exactly_once = worker.exactly_once_source_support.lower() == "enabled"
    is_source = kind is PluginKind.SOURCE
    in_use = {
        "producer.override.": is_source or dead_letters,
        "consumer.override.": not is_source or own_offsets or exactly_once,
        "admin.override.": dead_letters or (is_source and worker.topic_creation_enable),
    }
    return [prefix for prefix, used in in_use.items() if used]


def _info(key: str, setting: str, text: str, errors: tuple[str, ...]) -> Info:
    kind = _TYPES.get(setting)
    reader = _READERS.get(kind) if kind else None
    if reader is not None:
        try:
            reader.validate_python(text)
        except ValidationError as error:
            why = error.errors(include_url=False)[0]["ctx"]["error"]
            raise OverrideValueError(f"Invalid value {text} for configuration {setting}: {why}") from None
    shown = HIDDEN if kind is ConfigType.PASSWORD else text
    return Info(_definition(key, setting, kind) if kind else None, Value(key, shown, errors=errors))


def _definition(key: str, setting: str, kind: ConfigType) -> Definition:
    return Definition(
        name=key,
        type=kind.value,
        required=False,
        default_value=None,
        importance="MEDIUM",
        documentation=f"Kafka client setting {setting}.",
        group=None,
        width="NONE",
        display_name=setting,
        dependents=(),
        order=-1,
    )
