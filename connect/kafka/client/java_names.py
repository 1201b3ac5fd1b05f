# ruff: noqa: SIM905 - a hundred names read better as text
"""Translates Java's client property names into librdkafka's. Pure; it knows no defaults and no precedence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from connect.api.errors import ConfigError, ConfigProblem
from connect.kafka.client.security_names import translate_security
from connect.lib.javatext.durations import parse_duration

Client = Literal["producer", "consumer", "admin"]

SECRET_WORDS: Final = (
    "password",
    "passphrase",
    "secret",
    "jaas",
    "ssl.key.pem",
    "ssl.keystore.key",
    "oauthbearer.config",
)

BY_DURATION: Final = "by_duration:"
"""In Java, auto.offset.reset may be this and a span of time. librdkafka has no such value."""

# librdkafka knows these under the same name. plugin.library.paths and sasl.kerberos.kinit.cmd are left out on purpose:
# with them whoever may write a connector's configuration could run code on the worker.
ADMIN_NAMES: Final = frozenset("""
    allow.auto.create.topics bootstrap.servers broker.address.family broker.address.ttl client.dns.lookup client.id
    client.rack connections.max.idle.ms debug enable.metrics.push enable.ssl.certificate.verification https.ca.location
    https.ca.pem log_level log.connection.close max.in.flight.requests.per.connection message.max.bytes
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy receive.message.max.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms socket.keepalive.enable
    socket.connection.setup.timeout.ms socket.max.fails socket.nagle.disable socket.receive.buffer.bytes
    socket.send.buffer.bytes socket.timeout.ms statistics.interval.ms topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms
""".split())  # fmt: skip
_PRODUCER: Final = frozenset("""
    acks batch.num.messages batch.size compression.codec compression.level compression.type delivery.timeout.ms
    enable.gapless.guarantee enable.idempotence linger.ms partitioner queue.buffering.max.kbytes
    queue.buffering.max.messages request.timeout.ms retries sticky.partitioning.linger.ms transaction.timeout.ms
    transactional.id
""".split())  # fmt: skip
_CONSUMER: Final = frozenset("""
    auto.commit.interval.ms auto.offset.reset check.crcs coordinator.query.interval.ms enable.auto.commit
    enable.auto.offset.store enable.partition.eof fetch.error.backoff.ms fetch.max.bytes fetch.min.bytes
    fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id group.protocol group.remote.assignor
    heartbeat.interval.ms isolation.level max.partition.fetch.bytes max.poll.interval.ms partition.assignment.strategy
    queued.max.messages.kbytes queued.min.messages session.timeout.ms
""".split())  # fmt: skip
_SAME: Final[Mapping[str, frozenset[str]]] = {
    "producer": ADMIN_NAMES | _PRODUCER,
    "consumer": ADMIN_NAMES | _CONSUMER,
    "admin": ADMIN_NAMES,
}

# These keys of Java change nothing here: bytes go in and out, deadlines bound waits, and metrics are our own.
_NEEDLESS: Final = frozenset("""
    key.serializer value.serializer key.deserializer value.deserializer max.block.ms max.poll.records
    default.api.timeout.ms metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
    auto.include.jmx.reporter exclude.internal.topics metadata.max.idle.ms partitioner.availability.timeout.ms
    partitioner.adaptive.partitioning.enable socket.connection.setup.timeout.max.ms security.providers
    transaction.two.phase.commit.enable
""".split())  # fmt: skip

_RENAMED: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
    "max.in.flight": "max.in.flight.requests.per.connection",
}

_ASSIGNORS: Final[Mapping[str, str]] = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_PARTITIONERS: Final[Mapping[str, str]] = {
    "DefaultPartitioner": "murmur2_random",
    "RoundRobinPartitioner": "random",
    "UniformStickyPartitioner": "random",
}


class Translation(NamedTuple):
    """Holds librdkafka's properties, and the keys that have no counterpart there."""

    properties: dict[str, str]
    unknown: list[str]


def translate_names(given: Mapping[str, str], client: Client) -> Translation:
    """Translate all keys of one client. Raise ConfigError, which names every broken key."""
    security = translate_security(given)
    problems = list(security.problems)
    properties: dict[str, str] = dict(security.properties)
    unknown: list[str] = []
    for key, value in given.items():
        if key in security.consumed or key in _NEEDLESS:
            continue
        try:
            translated = _translate(key, value.strip(), client, given)
        except ValueError as error:
            problems.append(ConfigProblem(key, f"Invalid value {value} for configuration {key}: {error}"))
            continue
        if translated is None:
            unknown.append(key)
        else:
            properties.update(translated)
    if problems:
        raise ConfigError(problems)
    return Translation(properties, sorted(unknown))


def names_of(client: Client) -> frozenset[str]:
    """Return the names of a client's settings, both Java's and librdkafka's, without those of security."""
    return _SAME[client] | _NEEDLESS | _RENAMED.keys() | _SPECIAL.keys()


def known_names(given: Mapping[str, str], client: Client) -> Mapping[str, str]:
    """Return the given settings without those that change nothing of a client."""
    security = translate_security(given).consumed

    def is_known(key: str, value: str) -> bool:
        try:
            return key in security or bool(_translate(key, value.strip(), client, given))
        except ValueError:
            return True

    return {key: value for key, value in given.items() if is_known(key, value)}


def _translate(key: str, value: str, client: Client, given: Mapping[str, str]) -> Mapping[str, str] | None:
    special = _SPECIAL.get(key)
    if special is not None:
        return special(value, client)
    if key.startswith("compression.") and key.endswith(".level"):
        kind = key.split(".")[1]
        return {"compression.level": value} if given.get("compression.type") == kind else {}
    name = _RENAMED.get(key, key)
    return {name: value} if name in _SAME[client] else None


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("Not a whole number") from None


def _buffer_memory(value: str, client: Client) -> Mapping[str, str]:
    return {"queue.buffering.max.kbytes": str(max(1, _whole(value) // 1024))} if client == "producer" else {}


def _request_timeout(value: str, client: Client) -> Mapping[str, str]:
    # Java bounds the whole request by it; librdkafka does so by socket.timeout.ms, which is at most 5 minutes.
    socket = {"socket.timeout.ms": str(min(_whole(value), 300_000))}
    return {**socket, "request.timeout.ms": str(min(_whole(value), 900_000))} if client == "producer" else socket


def _buffer_bytes(name: str) -> Callable[[str, Client], Mapping[str, str]]:
    def translate(value: str, _: Client) -> Mapping[str, str]:
        return {name: str(max(0, _whole(value)))}  # The system's default is -1 in Java and 0 in librdkafka.

    return translate


def _milliseconds(name: str) -> Callable[[str, Client], Mapping[str, str] | None]:
    def translate(value: str, client: Client) -> Mapping[str, str] | None:
        return {name: str(_whole(value))} if client == "producer" else None

    return translate


def _idle(value: str, _: Client) -> Mapping[str, str]:
    return {"connections.max.idle.ms": str(max(0, _whole(value)))}


def _batch_size(value: str, client: Client) -> Mapping[str, str] | None:
    return {"batch.size": str(max(1, _whole(value)))} if client == "producer" else None


def _offset_reset(value: str, client: Client) -> Mapping[str, str] | None:
    if client != "consumer":
        return None
    wanted = value.lower()
    if wanted.startswith(BY_DURATION):
        parse_duration(wanted.removeprefix(BY_DURATION))
    return {"auto.offset.reset": "error" if wanted == "none" else wanted}


def _group_protocol(value: str, client: Client) -> Mapping[str, str] | None:
    return {"group.protocol": value.lower()} if client == "consumer" else None


def _partitioner(value: str, client: Client) -> Mapping[str, str] | None:
    if client != "producer" or not value:
        return {} if client == "producer" else None
    known = _PARTITIONERS.get(value.rpartition(".")[2])
    if known is None:
        raise ValueError(f"String must be one of: {', '.join(_PARTITIONERS)}; a Java class cannot be loaded here")
    return {"partitioner": known}


def _assignors(value: str, client: Client) -> Mapping[str, str] | None:
    if client != "consumer":
        return None
    names = [_ASSIGNORS.get(part.strip().rpartition(".")[2], part.strip()) for part in value.split(",") if part.strip()]
    bad = sorted(set(names) - set(_ASSIGNORS.values()))
    if bad or not names:
        raise ValueError(f"String must be one of: {', '.join(_ASSIGNORS)}, range, roundrobin, cooperative-sticky")
    # librdkafka refuses a list that mixes eager and cooperative ones, by which Java migrates a group.
    chosen = ["cooperative-sticky"] if "cooperative-sticky" in names else list(dict.fromkeys(names))
    return {"partition.assignment.strategy": ",".join(chosen)}


_SPECIAL: Final[Mapping[str, Callable[[str, Client], Mapping[str, str] | None]]] = {
    "buffer.memory": _buffer_memory,
    "request.timeout.ms": _request_timeout,
    "send.buffer.bytes": _buffer_bytes("socket.send.buffer.bytes"),
    "receive.buffer.bytes": _buffer_bytes("socket.receive.buffer.bytes"),
    "delivery.timeout.ms": _milliseconds("delivery.timeout.ms"),
    "message.timeout.ms": _milliseconds("delivery.timeout.ms"),
    "transaction.timeout.ms": _milliseconds("transaction.timeout.ms"),
    "connections.max.idle.ms": _idle,
    "batch.size": _batch_size,
    "auto.offset.reset": _offset_reset,
    "group.protocol": _group_protocol,
    "partitioner.class": _partitioner,
    "partition.assignment.strategy": _assignors,
}
