"""Provides builders that the tests of the registry converters share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import urllib3
from confluent_kafka.schema_registry import SchemaRegistryClient

from connect.api.plugin import PluginKind
from connect.plugins.catalog import Catalog
from connect.tools.services import RegistryEndpoint

MakeConverter = Callable[..., Any]


@pytest.fixture(scope="session")
def peer(registry: RegistryEndpoint) -> SchemaRegistryClient:
    """Return confluent-kafka's own client of the same registry."""
    return SchemaRegistryClient({"url": registry.url})


@pytest.fixture
def make_converter(registry: RegistryEndpoint) -> MakeConverter:
    """Return a function that makes a converter by its Java class name, as a task does."""

    def make(name: str, *, is_key: bool = False, **settings: str) -> Any:
        plugin = Catalog.installed().find(name, PluginKind.CONVERTER)
        assert plugin is not None
        given = {"schema.registry.url": registry.url, **{k.replace("_", "."): v for k, v in settings.items()}}
        return Catalog.load(plugin)(plugin.config.parse(given), is_key=is_key)

    return make


@pytest.fixture
def set_compatibility(registry: RegistryEndpoint) -> Callable[[str, str], None]:
    """Return a function that sets a subject's compatibility level."""

    def set_level(subject: str, level: str) -> None:
        answer = urllib3.request("PUT", f"{registry.url}/config/{subject}", json={"compatibility": level})
        assert answer.status == 200, answer.data

    return set_level
