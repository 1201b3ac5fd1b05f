"""Makes one page of Markdown about everything that can be set or read.

It describes the worker, connectors, plug-ins, metrics and commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import click

from connect.api.config import Config
from connect.api.plugin import Plugin, PluginKind
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import BUILT_IN
from connect.runtime.settings.connector_config import CommonConnectorConfig, SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.reference.commands import command_lines
from connect.tools.reference.keys import key_table
from connect.tools.reference.markdown import code, escaped
from connect.tools.reference.metrics import metric_lines

_HEAD: Final = """\
# Reference

Every setting, metric and command, generated from the declarations by `connect reference`, which in your own environment
also shows the plug-ins that you installed. A default that is left empty is none. Types are those of
Kafka Connect.
"""
_WORKER: Final = """\
Keys of the file that `connect worker FILE` reads, and of `--set`. Settings of Kafka clients come beside them:
`security.*`, `sasl.*` and `ssl.*` as they are, and any other behind `producer.`, `consumer.` or `admin.`.
`key.converter.*`, `value.converter.*` and `header.converter.*` set the converters.
"""
_COMMON: Final = """\
Keys of every connector, beside its own. `producer.override.*`, `consumer.override.*` and `admin.override.*` set its
Kafka clients; `key.converter.*`, `value.converter.*` and `header.converter.*` set its converters.
"""
_CREATION: Final = """\
Missing topics are made by `topic.creation.default.partitions` and `topic.creation.default.replication.factor` (-1: the
broker's default); a group named in `topic.creation.groups` sets the same, and `topic.creation.GROUP.include` and
`.exclude`: regular expressions of whole names. Any other key of a group is a setting of the topic.
"""
_CLASS: Final = "Set `connector.class` to the name, or to its last part."
_TRANSFORMS: Final = (
    "`transforms=a` names a transform, `transforms.a.type` its class, and `transforms.a.KEY` a key of it."
)
_PREDICATES: Final = """\
`predicates=p` names a predicate, `predicates.p.type` its class, and `predicates.p.KEY` a key of it.
`transforms.a.predicate=p` applies the transform where it holds; with `transforms.a.negate=true`, elsewhere."""
_CONVERTERS: Final = """\
Keys come behind `key.converter.`, `value.converter.` or `header.converter.`, in a connector or in the worker's file."""
_PROVIDERS: Final = """\
In the worker's file `config.providers=p` names a provider, `config.providers.p.class` its class, and
`config.providers.p.param.KEY` a key of it. Values then stand as `${p:path:key}` in connectors."""
_SETS: Final = {
    PluginKind.SOURCE: ("Sources", _CLASS),
    PluginKind.SINK: ("Sinks", _CLASS),
    PluginKind.TRANSFORMATION: ("Transforms", _TRANSFORMS),
    PluginKind.PREDICATE: ("Predicates", _PREDICATES),
    PluginKind.CONVERTER: ("Converters", _CONVERTERS),
    PluginKind.CONFIG_PROVIDER: ("Config providers", _PROVIDERS),
    PluginKind.AGENT: ("Agents", "Keys of the file that `connect agent` reads."),
}


def reference(catalog: Catalog, commands: click.Command) -> str:
    """Return the page: keys of the worker, of every connector and of each plug-in in the catalog, metrics, and
    commands.
    """
    plugins = {kind: [*catalog.plugins(kind)] for kind in _SETS}
    plugins[PluginKind.CONFIG_PROVIDER] += BUILT_IN
    known = {p.name for p in plugins[PluginKind.CONVERTER]}
    plugins[PluginKind.CONVERTER] += [p for p in catalog.plugins(PluginKind.HEADER_CONVERTER) if p.name not in known]
    lines = [_HEAD, "## Worker", "", _WORKER, *key_table(WorkerConfig), *_connector_keys()]
    for kind, (title, how) in _SETS.items():
        lines += [f"## {title}", "", how, "", *_plugin_lines(plugins[kind])]
    lines += ["## Metrics", "", *metric_lines()]
    lines += ["## Commands", "", *command_lines(commands, "connect")]
    return "\n".join(lines).rstrip() + "\n"


def _connector_keys() -> list[str]:
    common = CommonConnectorConfig.definitions()
    return [
        "## Every connector", "", _COMMON, *key_table(CommonConnectorConfig),
        "### Every source", "", *key_table(SourceConnectorConfig, without=common), _CREATION,
        "### Every sink", "", *key_table(SinkConnectorConfig, without=common),
    ]  # fmt: skip


def _plugin_lines(plugins: Iterable[Plugin]) -> Iterator[str]:
    """Yield the lines of a section for each class.

    Classes that differ only in the side that they work on (`$Key`, `$Value`) share a section.
    """
    for _, group in groupby(plugins, key=lambda p: (p.name.partition("$")[0], p.version)):
        yield from _section([*group])


def _section(plugins: list[Plugin]) -> Iterator[str]:
    first = plugins[0]
    full, _, _ = first.name.partition("$")
    yield f"### {full.rpartition('.')[2]}"
    yield ""
    yield escaped(first.doc)
    yield ""
    names = [name for plugin in plugins for name in (plugin.name, *plugin.aliases)]
    promises = ", ".join(sorted(first.capabilities))
    yield f"{', '.join(map(code, names))}; version {first.version}{f'; {promises}' if promises else ''}."
    yield ""
    yield from _keys_or_none(first.config)


def _keys_or_none(config: type[Config]) -> list[str]:
    return key_table(config) or ["It has no keys.", ""]
