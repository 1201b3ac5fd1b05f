"""Reads the properties of a worker's file: a `.properties` file of Kafka Connect, or the same keys in YAML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from connect.api.allowed import ConfigType
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConfigProblem
from connect.cluster.validation.override_policy import POLICIES, policy_name
from connect.cluster.validation.plugins import CONVERTERS, class_error
from connect.lib.setting_text import text_of
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import config_providers
from connect.runtime.settings.config_secrets import secret_texts
from connect.runtime.settings.encryption_keys import ENCRYPTION_KEY, key_texts
from connect.runtime.settings.java_properties import keys_twice, parse_properties
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.settings.worker_rest_keys import BASIC_AUTH_CLASS
from connect.runtime.settings.yaml_documents import yaml_documents
from connect.telemetry.secret_texts import SECRET_TEXTS

BASIC_AUTH: Final = BASIC_AUTH_CLASS.rpartition(".")[2]
_PLUGINS: Final = "plug-ins are Python packages: pip install them next to the worker"
_GROUP: Final = "workers share a plain consumer group: see session.timeout.ms"
_METRICS: Final = "metrics are served at /metrics"
_SIGNING: Final = "workers do not sign requests to each other"
_CLIENTS: Final = "write it with producer., consumer. or admin. before it"
REPLACED: Final[Mapping[str, str]] = {
    "plugin.path": _PLUGINS,
    "plugin.discovery": _PLUGINS,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "connect.protocol": _GROUP,
    "scheduled.rebalance.max.delay.ms": _GROUP,
    "worker.sync.timeout.ms": _GROUP,
    "worker.unsync.backoff.ms": _GROUP,
    "inter.worker.key.generation.algorithm": _SIGNING,
    "inter.worker.key.size": _SIGNING,
    "inter.worker.signature.algorithm": _SIGNING,
    "inter.worker.verification.algorithms": _SIGNING,
    "auto.include.jmx.reporter": _METRICS,
    "rest.host.name": "name the address in listeners",
    "rest.port": "name the port in listeners",
    **dict.fromkeys(
        [
            "client.dns.lookup",
            "connections.max.idle.ms",
            "metadata.max.age.ms",
            "metadata.recovery.strategy",
            "metadata.recovery.rebootstrap.trigger.ms",
            "receive.buffer.bytes",
            "send.buffer.bytes",
            "reconnect.backoff.ms",
            "reconnect.backoff.max.ms",
            "request.timeout.ms",
            "retry.backoff.ms",
            "retry.backoff.max.ms",
            "socket.connection.setup.timeout.ms",
            "socket.connection.setup.timeout.max.ms",
        ],
        _CLIENTS,
    ),
    "offset.storage.file.filename": "offsets are kept in offset.storage.topic, also by a single worker",
    "internal.key.converter": "internal topics are always JSON without schemas",
    "internal.value.converter": "internal topics are always JSON without schemas",
}
"""Maps each key of a Java worker that has no effect here to the text that says what replaces it."""
_OWN: Final = frozenset({definition.name for definition in WorkerConfig.definitions()})
_PASSWORDS: Final = tuple(d.name for d in WorkerConfig.definitions() if d.type is ConfigType.PASSWORD)
_OFFSETS_FILE: Final = "offset.storage.file.filename"
_STATE_KEYS: Final = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?[0-9a-zA-Z\-%._:]+]?:([0-9]{1,5})")
"""Kafka has this pattern as org.apache.kafka.common.utils.Utils.HOST_PORT_PATTERN (Kafka 4.1)."""
_PORTS: Final = 65_536
_PROVIDERS_CLASS: Final = re.compile(r"config\.providers\.([^.]+)\.class")
_OF_REGISTRIES: Final = ("schema.registry.", "basic.auth.", "bearer.auth.")
_PREFIXES: Final = (
    "producer.", "consumer.", "admin.", "security.", "sasl.", "ssl.", "listeners.https.", "config.providers.",
    "key.converter.", "value.converter.", "header.converter.", "config.storage.", "offset.storage.", "status.storage.",
)  # fmt: skip
"""Keys with these prefixes are settings of clients, converters, config providers, topics and listeners."""


@dataclass(frozen=True, slots=True, repr=False)
class WorkerFile:
    """Holds the properties of a worker's file, which may be secret. `notes` are hints for its author without values."""

    properties: Mapping[str, str]
    notes: tuple[str, ...]


def read_worker_file(path: Path, overrides: Mapping[str, str] | None = None) -> WorkerFile:
    """Return the file's properties with overrides on top. ConfigError names the file and what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"There is no worker file {path}.", fix="Start from configs/worker-standalone.yaml."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The worker file {path} cannot be read: {error}.") from error
    is_yaml = path.suffix in {".yaml", ".yml"}
    try:
        properties = {**(_parse_yaml(text) if is_yaml else parse_properties(text)), **(overrides or {})}
        twice = () if is_yaml else keys_twice(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"The worker file {path} cannot be read: {error}") from error
    notes = [f"{key} is there more than once; the last one counts, as in Java" for key in twice]
    notes += [f"{key} has no effect: {why}" for key, why in _replaced(properties)]
    return WorkerFile(properties, tuple(notes))


def worker_config(properties: Mapping[str, str], catalog: Catalog) -> WorkerConfig:
    """Return the settings of a worker, with the placeholders in its own file replaced.

    ConfigError lists every broken key.
    """
    problems: list[ConfigProblem] = [*_standalone(properties)]
    resolved = properties
    try:
        # The file is the worker's own, so that it may name any provider and any path.
        resolved = config_providers({**properties, **EVERYWHERE}, catalog).resolve(properties)
    except ConfigError as error:
        problems += error.problems
    unknown = {problem.key for problem in problems}
    problems += _classes(resolved, catalog)
    problems += _brokers(resolved.get("bootstrap.servers", ""))
    try:
        config = WorkerConfig.parse(resolved)
    except ConfigError as error:
        # A placeholder that could not be replaced is the only problem that is told of its value.
        problems += [problem for problem in error.problems if problem.key not in unknown]
    SECRET_TEXTS.add(secret_texts(catalog, resolved))
    SECRET_TEXTS.add(resolved.get(key, "") for key in _PASSWORDS)
    SECRET_TEXTS.add(key_texts(resolved.get(ENCRYPTION_KEY, "")))
    if problems:
        raise ConfigError(problems)
    return config


def _standalone(properties: Mapping[str, str]) -> Iterable[ConfigProblem]:
    """Yield a problem if the file is that of a standalone Java worker, which lacks the keys for state in Kafka."""
    missing = [key for key in _STATE_KEYS if not properties.get(key, "").strip()]
    if _OFFSETS_FILE in properties and missing:
        yield ConfigProblem(
            _OFFSETS_FILE,
            f"{_OFFSETS_FILE} makes this the file of a standalone Java worker. Here a single worker keeps its state in "
            f"Kafka too. Add {', '.join(f'{key}=...' for key in missing)}, and on a single broker "
            "config.storage.replication.factor=1, offset.storage.replication.factor=1 and "
            "status.storage.replication.factor=1; create connectors by REST or with connect connectors apply.",
        )


def _brokers(text: str) -> Iterable[ConfigProblem]:
    """Yield problems of addresses without a port, which Java's clients refuse; librdkafka would assume a port."""
    for address in (part.strip() for part in text.split(",")):
        found = _ADDRESS.fullmatch(address)
        if address and (found is None or not 0 < int(found[1]) < _PORTS):
            why = f"Invalid url in bootstrap.servers: {address}. Write host:port, such as kafka-1:9092."
            yield ConfigProblem("bootstrap.servers", f"Invalid value {text} for configuration bootstrap.servers: {why}")


def _classes(properties: Mapping[str, str], catalog: Catalog) -> Iterable[ConfigProblem]:
    """Yield a problem for each converter or policy that is missing, as connectors that rely on it would fail."""
    for side, kind in CONVERTERS.items():
        key = f"{side}.converter"
        name = properties.get(key, "").strip()
        if not name:
            continue
        wrong = class_error(catalog, key, name, kind)
        plugin = catalog.find(name, kind)
        if wrong is not None or plugin is None:
            yield ConfigProblem(key, wrong or "")
            continue
        prefix = f"{key}."
        try:
            own = {k.removeprefix(prefix): v for k, v in properties.items() if k.startswith(prefix)}
            plugin.config.parse(plugin.config.with_leave(own, {**properties, **EVERYWHERE}))
        except ConfigError as error:
            yield from (ConfigProblem(prefix + p.key, _named(p.message, p.key, prefix)) for p in error.problems)
    key = "connector.client.config.override.policy"
    policy = properties.get(key, "").strip()
    if policy and policy_name(policy) not in POLICIES:
        text = f"Invalid value {policy} for configuration {key}: Class {policy} could not be found; there are: "
        yield ConfigProblem(key, text + ", ".join(POLICIES) + ".")


def _named(message: str, key: str, prefix: str) -> str:
    return message.replace(f"configuration {key}", f"configuration {prefix}{key}")


def _replaced(properties: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    providers = {name.strip() for name in properties.get("config.providers", "").split(",")}
    for key, value in properties.items():
        if key in REPLACED:
            yield key, REPLACED[key]
        elif (provider := _PROVIDERS_CLASS.fullmatch(key)) and provider[1] not in providers:
            yield key, f"config.providers does not list {provider[1]}: add it there"
        elif key.startswith(_OF_REGISTRIES):
            yield key, "converters take it: write it with key.converter. or value.converter. before it"
        elif key.startswith("metrics.context."):
            yield key, "metrics carry group, connector and task as labels"
        elif key not in _OWN and not key.startswith(_PREFIXES):
            yield key, "no part of a worker knows it; check its spelling"
        elif key == "rest.extension.classes" and value.rpartition(".")[2].strip() != BASIC_AUTH:
            yield key, f"{BASIC_AUTH} is the one extension there is; for others put a reverse proxy in front of REST"


def _parse_yaml(text: str) -> dict[str, str]:
    documents = [one for one in yaml_documents(text) if one is not None] or [{}]
    members = documents[0]
    if len(documents) > 1 or not isinstance(members, dict):
        held = f"{len(documents)} documents" if len(documents) > 1 else f"a {type(members).__name__}"
        raise ValueError(f"it holds {held}; write keys and values.")
    pairs = list(_flat("", members))
    found = dict(pairs)
    if len(found) != len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name} is there twice; keep one of them.")
    return found


def _flat(prefix: str, members: Mapping[object, object]) -> Iterable[tuple[str, str]]:
    for key, value in members.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(f"{name}.", value)
        elif (shown := text_of(value)) is not None:
            yield name, shown
