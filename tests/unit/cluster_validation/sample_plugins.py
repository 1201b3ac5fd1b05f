"""Provides small plug-ins under Kafka Connect's class names, as REST clients know them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from connect.api.config import (
    Boolean,
    Config,
    ConnectorConfig,
    Int,
    KeyValue,
    ListOf,
    Password,
    String,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.plugins.catalog import BrokenPlugin, Catalog
from connect.runtime.settings.worker_config import WorkerConfig

KAFKA = "org.apache.kafka.connect."
FILE_SOURCE = KAFKA + "file.FileStreamSourceConnector"
FILE_SINK = KAFKA + "file.FileStreamSinkConnector"
SMT = KAFKA + "transforms."
HOIST = SMT + "HoistField$Value"
FILTER = SMT + "Filter"
CAST = SMT + "Cast$Value"
TOPIC_MATCHES = SMT + "predicates.TopicNameMatches"
JSON = KAFKA + "json.JsonConverter"
STRING = KAFKA + "storage.StringConverter"
SIMPLE_HEADER = KAFKA + "storage.SimpleHeaderConverter"
HANGING_SOURCE = "example.HangingSourceConnector"
VAULT_SOURCE = "example.VaultSourceConnector"
VERSION = "4.1.0"


class FileSourceConfig(ConnectorConfig):
    """A connector whose keys have no groups."""

    file: String = key("file", None, doc="The file.", importance="high", group="", width="none")
    topic: Annotated[String, non_empty] = key("topic", doc="The topic.", importance="high", group="", width="none")
    batch_size: Int = key("batch.size", 2000, doc="Lines per batch.", importance="low", group="", width="none")


class FileSinkConfig(ConnectorConfig):
    """One key."""

    file: String = key("file", None, doc="The file.", importance="high", group="", width="none")


class VaultSourceConfig(ConnectorConfig):
    """A connector with groups, secrets and a rule of its own about a key of the framework."""

    url: String = key("connection.url", doc="Where.", group="Connection", importance="high")
    password: Password = key("connection.password", doc="The password.", group="Connection", importance="high")
    mode: Annotated[String, one_of("bulk", "slow")] = key("mode", "bulk", doc="How.", group="Mode")
    tables: ListOf = key("tables", (), doc="Which.", group="Connection")
    internal_switch: Boolean = key("internal.switch", False, doc="Not for people.", internal=True)

    @classmethod
    def validate_keys(cls, properties: Mapping[str, str | None]) -> tuple[KeyValue, ...]:
        """Which tables is no question in bulk."""
        hidden = {"tables"} if properties.get("mode", "bulk") == "bulk" else set()
        return tuple(replace(v, visible=v.name not in hidden) for v in super().validate_keys(properties))

    def problems(self) -> Iterable[ConfigProblem]:
        if self.originals.get("tasks.max") == "13":
            yield ConfigProblem("tasks.max", "The vault has 12 doors.")


class HangingSourceConfig(ConnectorConfig):
    """Hangs while it is validated, until `released`."""

    entered: ClassVar[threading.Event] = threading.Event()
    released: ClassVar[threading.Event] = threading.Event()

    def problems(self) -> Iterable[ConfigProblem]:
        self.entered.set()
        self.released.wait(60)
        return ()


def _check_regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"Invalid regex: {error}") from error
    return text


class HoistConfig(Config):
    field: String = key("field", doc="The field.")


class CastConfig(Config):
    spec: ListOf = key("spec", doc="What to cast.", importance="high")
    replace_null: Boolean = key("replace.null.with.default", True, doc="Nulls.")


class NoConfig(Config):
    pass


class PatternConfig(Config):
    pattern: Annotated[String, AfterValidator(_check_regex)] = key("pattern", doc="The pattern.")


class JsonConfig(Config):
    schemas_enable: Boolean = key("schemas.enable", True, doc="Envelope.", importance="high")
    decimal_format: Annotated[String, one_of("BASE64", "NUMERIC", ignore_case=True)] = key(
        "decimal.format", "BASE64", doc="Decimals.", importance="low"
    )


def plugin(kind: PluginKind, name: str, config: type[Config], version: str = VERSION, **more: Any) -> Plugin:
    return Plugin(kind=kind, name=name, factory="builtins:dict", config=config, version=version, **more)


PLUGINS = (
    plugin(PluginKind.SOURCE, FILE_SOURCE, FileSourceConfig, capabilities=frozenset({Capability.EXACTLY_ONCE})),
    plugin(PluginKind.SINK, FILE_SINK, FileSinkConfig),
    plugin(
        PluginKind.SOURCE,
        HANGING_SOURCE,
        HangingSourceConfig,
        capabilities=frozenset({Capability.TRANSACTION_BOUNDARIES}),
    ),
    plugin(PluginKind.SOURCE, VAULT_SOURCE, VaultSourceConfig, version="1.2"),
    plugin(PluginKind.TRANSFORMATION, HOIST, HoistConfig),
    plugin(PluginKind.TRANSFORMATION, FILTER, NoConfig),
    plugin(PluginKind.TRANSFORMATION, CAST, CastConfig),
    plugin(PluginKind.PREDICATE, TOPIC_MATCHES, PatternConfig),
    plugin(PluginKind.CONVERTER, JSON, JsonConfig),
    plugin(PluginKind.HEADER_CONVERTER, JSON, JsonConfig),
    plugin(PluginKind.CONVERTER, STRING, NoConfig),
    plugin(PluginKind.HEADER_CONVERTER, SIMPLE_HEADER, NoConfig),
)


def catalog() -> Catalog:
    return Catalog(PLUGINS, [BrokenPlugin("bad", "bad.module", "ImportError: x")])


def worker_config(**over: str) -> WorkerConfig:
    keys = {
        "bootstrap.servers": "127.0.0.1:1",  # nobody listens there: a test must not reach a Kafka that happens to run
        "group.id": "workers",
        "config.storage.topic": "configs",
        "offset.storage.topic": "offsets",
        "status.storage.topic": "statuses",
        "key.converter": JSON,
        "value.converter": JSON,
        "exactly.once.source.support": "disabled",
    }
    return WorkerConfig.parse({**keys, **{k.replace("_", "."): v for k, v in over.items()}})
