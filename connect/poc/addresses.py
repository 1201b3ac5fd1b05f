"""Makes connector configurations from URLs. Each plug-in tells which URLs it knows (`connect.api.optional.address`)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name

from connect.api.errors import ConfigError
from connect.api.optional.address import Addressed
from connect.api.plugin import PluginKind
from connect.client.manifests import Manifest
from connect.lib.secrets import masked
from connect.plugins.catalog import Catalog


def is_url(text: str) -> bool:
    """Tell if a text is a URL, and not the path of a file."""
    return "://" in text


def manifests_of(
    catalog: Catalog, source: str, tables: Sequence[str], target: str | None, settings: Mapping[str, str]
) -> list[Manifest]:
    """Return the source connector of a URL and, where there is a target, the sink connector of the source's topics.

    `settings` are further settings of the source. ConfigError: no plug-in knows one of the URLs.
    """
    name, made = _addressed(catalog, PluginKind.SOURCE, source, tables)
    config = {"connector.class": name, **made.config, **settings}
    found_manifests = [Manifest("poc-source", config, "--table")]
    if target is not None:
        name, sink = _addressed(catalog, PluginKind.SINK, target, tables)
        topics = [f"{settings.get('topic.prefix', '')}{topic}" for topic in made.topics]
        sink_config = {"connector.class": name, **sink.config, "topics": ",".join(topics)}
        found_manifests.append(Manifest("poc-sink", sink_config, "--to"))
    return found_manifests


def write_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write a connector as Connect's JSON into a file that only its owner may read, as it may hold a password."""
    file = folder / f"{manifest.name}.json"
    text = json.dumps({"name": manifest.name, "config": dict(manifest.config)}, indent=2, ensure_ascii=False)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(f"{text}\n")
    return file


def _addressed(catalog: Catalog, kind: PluginKind, url: str, tables: Sequence[str]) -> tuple[str, Addressed]:
    for plugin in catalog.plugins(kind):
        made: Addressed | None = resolve_name(plugin.address)(url, tables) if plugin.address else None
        if made is not None:
            return plugin.name, made
    raise ConfigError(
        f"No {kind.value} connector knows the URL {masked(url)}.",
        key="url",
        fix="Give a file of a connector's configuration instead.",
    )
