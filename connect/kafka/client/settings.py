"""Makes librdkafka's settings of clients from a worker's Java property names.

It reads its arguments only, and follows the links among the paths that they name.

The precedence is, lowest first: our default, un-prefixed worker keys (bootstrap.servers, security.*, sasl.*, ssl.*),
worker keys with `producer.`, `consumer.` or `admin.`, and the connector's overrides, whose keys are given without
`producer.override.` etc.

Sources: the ProducerConfig, ConsumerConfig, AdminClientConfig, SaslConfigs and SslConfigs of Kafka 4.1; librdkafka's
CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from connect.api.allowed_hosts import AllowedHosts
from connect.api.allowed_paths import allowed_by
from connect.api.errors import ConfigError, ConfigProblem
from connect.kafka.client.java_names import ADMIN_NAMES, BY_DURATION, SECRET_WORDS, translate_names
from connect.kafka.client.override_rules import override_problems
from connect.kafka.client.own_login import LOGIN_ADDRESSES, login_problems, without_login
from connect.lib.secrets import HIDDEN

Value = str | int | float | bool
Isolation = Literal["read_committed", "read_uncommitted"]
_INHERITED: Final = ("security.", "sasl.", "ssl.")
WORKERS_ALONE: Final = frozenset({"ssl.providers"})
"""These settings load a library into the process, so no connector may set them. Settings of plug-ins and commands
(`plugin.library.paths`, `ssl.engine.location`, `sasl.kerberos.kinit.cmd`) are never given to librdkafka."""

_COMMON: Final[Mapping[str, Value]] = {
    "socket.keepalive.enable": True,
    # A broker that closes an idle connection is not worth a line in the log.
    "log.connection.close": False,
    # A new client waits half of this before it connects. At librdkafka's 100 ms a task would start 40 ms later.
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 2000,
    # A broker that is frozen keeps its connections: without an answer the client asks it, and no other, for so long.
    "socket.timeout.ms": 10_000,
    "api.version.request.timeout.ms": 3_000,
}
_SHARED: Final = "shared"
_READER_RECONNECT_MS: Final = 100
_MEMBER_RECONNECT_MS: Final = 500
"""This time is long, as a worker may have many sinks: consumers without brokers try them twice in it, for ever."""
_PRODUCER: Final[Mapping[str, Value]] = {
    **_COMMON,
    "acks": "all",
    "enable.idempotence": True,
    # This is Java's partitioner: the same key must go to the same partition, whoever writes it.
    "partitioner": "murmur2_random",
    "linger.ms": 10,
    "message.max.bytes": 1048576,
    "queue.buffering.max.messages": 200_000,
    # This is Java's buffer.memory.
    "queue.buffering.max.kbytes": 32_768,
    "delivery.report.only.error": True,
}
_ALL_REPLICAS: Final = frozenset({"all", "-1"})
_IDEMPOTENT_IN_FLIGHT: Final = 5
"""An idempotent producer has at most so many requests under way."""
_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_CONSUMER: Final[Mapping[str, Value]] = {
    **_COMMON,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "partition.assignment.strategy": "cooperative-sticky",
    "queued.max.messages.kbytes": 16_384,
    # It bounds one answer of a broker, over all its partitions. librdkafka would hold 50 MiB beside that queue.
    "fetch.max.bytes": 16_777_216,
    # librdkafka's 1 s pause after a full local queue would starve a sink that reads fast.
    "fetch.queue.backoff.ms": 50,
}
_OF_BROKERS: Final = frozenset({"partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"})
"""With group.protocol=consumer brokers decide these, and librdkafka makes no client that has one."""


class ClientSettings(NamedTuple):
    """Holds the settings for librdkafka, and the keys that are left out as neither side knows them, for the log."""

    properties: Mapping[str, Value]
    unknown: list[str]

    def __repr__(self) -> str:
        shown = {k: HIDDEN if is_secret(k) else v for k, v in self.properties.items()}
        return f"ClientSettings(properties={shown!r}, unknown={self.unknown!r})"


def producer_settings(
    worker: Mapping[str, str],
    overrides: Mapping[str, str],
    *,
    client_id: str,
    transactional_id: str | None = None,
    deliver_within_ms: int | None = None,
) -> ClientSettings:
    """Return the settings of a producer. Raise ConfigError, which names every key that librdkafka cannot take.

    With `deliver_within_ms` a record that no broker has taken by then is given up, and never sent later.
    """
    given = _merged(worker, "producer.", overrides)
    path = given.pop("path", None)
    given.pop(_SHARED, None)
    translated = translate_names(given, "producer")
    properties: dict[str, Value] = {**_PRODUCER, "client.id": client_id, **translated.properties}
    if transactional_id is not None:
        properties["transactional.id"] = transactional_id
    if path is not None:
        properties["producer.path"] = path
    _leave_idempotence(properties, translated.properties)
    _bound_delivery(properties, deliver_within_ms)
    _hold_one_record(properties)
    return ClientSettings(properties, translated.unknown)


def _leave_idempotence(properties: dict[str, Value], given: Mapping[str, str]) -> None:
    """Make the producer not idempotent if a setting rules that out and nobody asks for it, as Java's client does.

    It then sends one request at a time, as in Kafka Connect, which keeps the order of rows.
    """
    in_flight = given.get(_IN_FLIGHT, "")
    is_ruled_out = (
        given.get("acks", "all").lower() not in _ALL_REPLICAS
        or given.get("retries") == "0"
        or (in_flight.isdecimal() and int(in_flight) > _IDEMPOTENT_IN_FLIGHT)
    )
    if is_ruled_out and "transactional.id" not in properties:
        properties["enable.idempotence"] = given.get("enable.idempotence", False)
    if str(properties["enable.idempotence"]).lower() == "false" and _IN_FLIGHT not in given:
        properties[_IN_FLIGHT] = 1


def _hold_one_record(properties: dict[str, Value]) -> None:
    # A record larger than the whole queue would wait for room in it for ever.
    largest, room = str(properties["message.max.bytes"]), str(properties["queue.buffering.max.kbytes"])
    # librdkafka itself refuses a text that is no number.
    if largest.isdecimal() and room.isdecimal():
        least_kb = -(-int(largest) // 1024) + 1
        if int(room) < least_kb:
            properties["queue.buffering.max.kbytes"] = least_kb


def shares_client(worker: Mapping[str, str], overrides: Mapping[str, str]) -> bool:
    """Tell if a task that sends little may share a client (`producer.shared`, true by default)."""
    return _merged(worker, "producer.", overrides).get(_SHARED, "true").strip().lower() != "false"


def consumer_settings(
    worker: Mapping[str, str],
    overrides: Mapping[str, str],
    *,
    client_id: str,
    group_id: str | None = None,
    isolation: Isolation = "read_committed",
    keeps_duration: bool = False,
) -> ClientSettings:
    """Return the settings of a consumer. Without `group_id` it reads by assignment and never commits.

    `keeps_duration` says that the reader itself handles an auto.offset.reset with a span of time (`BatchConsumer`).
    """
    given = _merged(worker, "consumer.", overrides)
    path = given.pop("path", None)
    translated = translate_names(given, "consumer")
    # librdkafka wants a group id even where no group is joined.
    defaults: dict[str, Value] = {
        "client.id": client_id, "group.id": group_id or client_id, "isolation.level": isolation,
        "reconnect.backoff.ms": _MEMBER_RECONNECT_MS if group_id else _READER_RECONNECT_MS,
    }  # fmt: skip
    properties = {**_CONSUMER, **defaults, **translated.properties}
    unknown = translated.unknown
    if properties.get("group.protocol") == "consumer":
        unknown = sorted({*unknown, *(_OF_BROKERS & overrides.keys())})
        properties = {key: value for key, value in properties.items() if key not in _OF_BROKERS}
    if not keeps_duration and str(properties["auto.offset.reset"]).startswith(BY_DURATION):
        properties["auto.offset.reset"] = "earliest"
    if path is not None and group_id is not None:
        properties["consumer.path"] = path
    return ClientSettings(properties, unknown)


def admin_settings(worker: Mapping[str, str], overrides: Mapping[str, str], client_id: str) -> ClientSettings:
    """Return the settings of an admin client."""
    translated = translate_names(_merged(worker, "admin.", overrides), "admin")
    return ClientSettings({**_COMMON, "client.id": client_id, **translated.properties}, translated.unknown)


def admin_part(properties: Mapping[str, Value]) -> dict[str, Value]:
    """Return those of a client's librdkafka properties that an admin client needs: addresses, security, time-outs."""
    return {k: v for k, v in properties.items() if k.startswith(_INHERITED) or k in ADMIN_NAMES}


def is_secret(key: str) -> bool:
    """Return True if the value of this client setting must not be shown."""
    return any(word in key for word in SECRET_WORDS)


def all_override_problems(worker: Mapping[str, str], prefix: str, overrides: Mapping[str, str]) -> list[ConfigProblem]:
    """Return the problems of a connector's overrides of one client that the worker does not allow.

    `prefix` is the client's, such as `producer.`.
    """
    name, allowed = f"{prefix}override.", worker.get(LOGIN_ADDRESSES, "")
    return [
        *override_problems(overrides, name, allowed_by(worker), AllowedHosts.by(worker)),
        *login_problems(_workers_own(worker, prefix), overrides, name, allowed),
    ]


def _workers_own(worker: Mapping[str, str], prefix: str) -> dict[str, str]:
    inherited = {k: v for k, v in worker.items() if k == "bootstrap.servers" or k.startswith(_INHERITED)}
    prefixed = {k.removeprefix(prefix): v for k, v in worker.items() if k.startswith(prefix)}
    return {**inherited, **{k: v for k, v in prefixed.items() if not k.startswith("override.")}}


def _merged(worker: Mapping[str, str], prefix: str, overrides: Mapping[str, str]) -> dict[str, str]:
    wanted = {k: v for k, v in overrides.items() if k not in WORKERS_ALONE}
    problems = all_override_problems(worker, prefix, wanted)
    if problems:
        raise ConfigError(problems)
    return {**without_login(_workers_own(worker, prefix), wanted, worker.get(LOGIN_ADDRESSES, "")), **wanted}


def _bound_delivery(properties: dict[str, Value], most_ms: int | None) -> None:
    """Let a row wait for its brokers for ever (0), as Kafka Connect does, unless a transaction or `most_ms` bounds the
    wait.
    """
    timeout = properties.pop("delivery.timeout.ms", None)
    if "transactional.id" not in properties:
        wanted = timeout if timeout not in {None, "2147483647"} else 0
        is_longer = str(wanted).isdecimal() and (int(wanted) == 0 or int(wanted) > (most_ms or 0))
        properties["message.timeout.ms"] = most_ms if most_ms is not None and is_longer else wanted
        return
    # librdkafka refuses a time-out longer than the transaction's. By default it takes exactly the transaction's.
    transaction_ms = int(properties.get("transaction.timeout.ms", 60_000))
    if timeout is not None and 0 < int(timeout) <= transaction_ms:
        properties["message.timeout.ms"] = timeout
