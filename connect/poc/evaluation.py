"""Carries out an evaluation of a source, a sink, or both, from start to end in one sandbox."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from types import MappingProxyType
from typing import Final

from connect.api.config import leave_keys
from connect.api.errors import ConfigError
from connect.api.plugin import Plugin, PluginKind
from connect.client.manifests import Manifest
from connect.kafka.client.own_login import LOGIN_ADDRESSES
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.progress import CheckProgress, Say, checks_of
from connect.poc.sandbox.result import Check, Result
from connect.poc.sandbox.sandbox import REGISTRY_KEY, Sandbox, with_registry
from connect.poc.sandbox.secrecy import Secrecy
from connect.poc.sink.sink_evaluation import check_sink
from connect.poc.source.source_evaluation import check_source
from connect.runtime.settings.config_providers import providers_named_by

_OVERRIDDEN: Final = re.compile(
    r"(?:producer|consumer|admin)\.override\.(?:bootstrap\.servers|sasl\.oauthbearer\.token\.endpoint\.url)"
)
_FROM_WORKER = (
    "key.converter",
    "value.converter",
    "header.converter",
    "connector.client.config.override",
)


def evaluate(
    manifests: Sequence[Manifest],
    options: Options,
    say: Say,
    worker: Mapping[str, str] | None = None,
    leave: Mapping[str, str] = MappingProxyType({}),
) -> Result:
    """Run the checks on a connector, or on a source and the sink of its topics.

    `worker` has the properties of the user's own worker: its converters are used, and a sink is tried with records of
    its Kafka. `leave` has settings that allow the connector to reach more than that worker allows. ConnectError: there
    is no such connector, or the sandbox could not be started.
    """
    started_s = time.time()
    catalog = Catalog.installed()
    plugins = [_plugin(catalog, manifest.config) for manifest in manifests]
    sides = _sides(manifests, plugins)
    secrecy = Secrecy(catalog, *(manifest.config for manifest in manifests), worker or {})
    say("starting a Kafka and a worker of its own")
    settings = {**worker_settings(catalog, worker or {}, [manifest.config for manifest in manifests]), **leave}
    with Sandbox(settings, has_registry=_writes_schemas(sides, worker)) as sandbox:
        checks = run_checks(sandbox, sides, options, lambda text: say(secrecy.hide(text)), worker)
        identity = sandbox.id
    took_s = time.time() - started_s
    configs = {manifest.name: manifest.config for manifest in manifests}
    return secrecy.of_result(Result(identity, configs, started_s, took_s, checks, _environment(plugins)))


def _plugin(catalog: Catalog, config: Mapping[str, str]) -> Plugin:
    """Return the connector's plug-in. ConfigError, in plain words, if there is none.

    The worker itself would say it in Java's words.
    """
    name = config.get("connector.class", "")
    found = catalog.find(name, *CONNECTORS)
    if found is None:
        known = ", ".join(plugin.name.rpartition(".")[2] for plugin in catalog.plugins(*CONNECTORS))
        raise ConfigError(
            f"connector.class={name} names no connector here, or more than one. There are {known}.",
            key="connector.class", fix=catalog.advice(name),
        )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class Sides:
    """Holds the connectors that are evaluated: a source, a sink, or both."""

    source: Manifest | None = None
    sink: Manifest | None = None


def run_checks(
    sandbox: Sandbox, sides: Sides, options: Options, say: Say, worker: Mapping[str, str] | None = None
) -> list[Check]:
    """Run the checks of the source, then those of the sink, which gets the records that the source wrote."""
    source, sink = (_beside(side, sandbox) for side in (sides.source, sides.sink))
    both = source is not None and sink is not None
    parts: list[CheckProgress] = []
    baseline = None
    if source is not None:
        parts.append(CheckProgress(say, source.name if both else ""))
        baseline = check_source(sandbox, source, options, parts[-1])
    if sink is not None:
        parts.append(CheckProgress(say, sink.name if both else ""))
        check_sink(sandbox, sink, options, parts[-1], worker, after=baseline, is_fed=both)
    return checks_of(parts)


def _beside(manifest: Manifest | None, sandbox: Sandbox) -> Manifest | None:
    """Return the connector with the sandbox's schema registry in its configuration, if the sandbox has one."""
    return manifest and replace(manifest, config=with_registry(manifest.config, sandbox.registry_url))


def _sides(manifests: Sequence[Manifest], plugins: Sequence[Plugin]) -> Sides:
    found = {PluginKind.SOURCE: None, PluginKind.SINK: None} | {
        plugin.kind: manifest for plugin, manifest in zip(plugins, manifests, strict=True)
    }
    if not manifests or len(manifests) != len([side for side in found.values() if side is not None]):
        kinds = ", ".join(f"{plugin.name} is a {plugin.kind.value}" for plugin in plugins) or "there is none"
        raise ConfigError(f"Give one connector, or a source and a sink: {kinds}.", key="connector.class")
    return Sides(found[PluginKind.SOURCE], found[PluginKind.SINK])


def _writes_schemas(sides: Sides, worker: Mapping[str, str] | None) -> bool:
    """Tell if the evaluation writes records by converters that register schemas.

    A sink with records of the user's topics only reads schemas, from the user's registry.
    """
    named = [sides.source.config] if sides.source is not None else []
    if sides.sink is not None and worker is None:
        named.append(sides.sink.config)
    keys = [key for config in named for key in (*config, *(worker or {}))]
    return any(key.endswith(REGISTRY_KEY) for key in keys)


def worker_settings(
    catalog: Catalog, worker: Mapping[str, str], configs: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Return the settings that the sandbox's worker takes from the user's worker to run connectors of these `configs`.

    They are the converters, the policy for client overrides, permissions that only a worker gives, such as the files
    that connectors may read, and the config providers that the connectors name. Pure.
    """
    found = (plugin.found_config for plugin in catalog.plugins())
    leave = {name for config in found if config is not None for name in leave_keys(config)}
    kept = {key: value for key, value in worker.items() if key.startswith(_FROM_WORKER) or key in leave}
    return kept | providers_named_by([kept, *configs], worker) | _login_addresses(configs)


def _login_addresses(configs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the setting that has the sandbox's worker judge overrides of brokers as a worker without a login does."""
    named = [value for config in configs for key, value in config.items() if _OVERRIDDEN.fullmatch(key) and value]
    return {LOGIN_ADDRESSES: ",".join(named)} if named else {}


def _environment(plugins: Sequence[Plugin]) -> Mapping[str, str]:
    return {
        "connect-for-kafka": metadata.version("connect-for-kafka"),
        **{f"{plugin.kind.value} {plugin.name}": plugin.version for plugin in plugins},
        "python": platform.python_version(),
        "system": platform.platform(),
    }
