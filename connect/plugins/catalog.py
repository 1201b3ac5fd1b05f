"""Finds the installed plug-ins, by any of their names, from entry points. It loads declarations, but no drivers.

Each entry point of the group `connect.plugins` is loaded separately; a broken one is kept with its error. Names follow
org.apache.kafka.connect.runtime.isolation.PluginUtils: the full name, the last part of it, and that part without the
kind's suffix; nested classes (`HoistField$Value`) have no short name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import pluggy

from connect.api.errors import ConnectError
from connect.api.plugin import ENTRY_POINT_GROUP, NAMED, PROJECT, DeclaredConfig, Plugin, PluginKind, PluginSpec
from connect.plugins.extras import pip_line
from connect.plugins.java_connectors import advice

CONNECTORS: Final = (PluginKind.SINK, PluginKind.SOURCE)
LISTED: Final = (
    *CONNECTORS, PluginKind.TRANSFORMATION, PluginKind.PREDICATE, PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER,
)  # fmt: skip
"""The kinds that `GET /connector-plugins` shows, in its order."""

_SUFFIXES: Final = {
    PluginKind.SOURCE: ("Connector",),
    PluginKind.SINK: ("Connector",),
    PluginKind.CONVERTER: ("Converter",),
    PluginKind.HEADER_CONVERTER: ("HeaderConverter", "Converter"),
    PluginKind.TRANSFORMATION: ("Transformation",),
    PluginKind.PREDICATE: ("Predicate",),
    PluginKind.CONFIG_PROVIDER: ("ConfigProvider",),
    PluginKind.AGENT: ("Agent",),
}


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    """Describes an entry point that could not be used: its name, the object that it names, and the error."""

    name: str
    value: str
    error: str


class Catalog:
    """Holds the installed plug-ins. Immutable once built."""

    def __init__(self, plugins: Iterable[Plugin], broken: Iterable[BrokenPlugin] = ()) -> None:
        self._plugins = tuple(sorted(plugins, key=lambda p: (_rank(p.kind), p.name, version_key(p.version))))
        self._broken = tuple(broken)
        self._by_name: dict[tuple[PluginKind, str], list[Plugin]] = {}
        for plugin in self._plugins:
            for name in _names(plugin):
                self._by_name.setdefault((plugin.kind, name), []).append(plugin)

    @classmethod
    def installed(cls) -> Catalog:
        """Return the plug-ins of every installed package."""
        return cls.from_entry_points(entry_points(group=ENTRY_POINT_GROUP))

    @classmethod
    def from_entry_points(cls, points: Iterable[EntryPoint]) -> Catalog:
        """Return the plug-ins of these entry points; what one of them raises is kept in `broken`."""
        plugins: list[Plugin] = []
        broken: list[BrokenPlugin] = []
        for point in points:
            try:
                plugins.extend(_declared(point))
            except Exception as error:  # noqa: BLE001 - foreign code: whatever it raises may harm nobody else
                broken.append(BrokenPlugin(point.name, point.value, f"{type(error).__name__}: {error}"))
        return cls(plugins, broken)

    def plugins(self, *kinds: PluginKind) -> Sequence[Plugin]:
        """Return the plug-ins of these kinds (none given: all), by kind, class name and version."""
        return [p for p in self._plugins if not kinds or p.kind in kinds]

    def broken(self) -> Sequence[BrokenPlugin]:
        """Return the entry points that could not be used."""
        return self._broken

    def find(self, name: str, *kinds: PluginKind) -> Plugin | None:
        """Return the newest plug-in of this name (none of `kinds` given: any kind).

        None: there is none, or the short name fits several classes.
        """
        versions = self.versions(name, *kinds)
        return versions[-1] if versions else None

    def versions(self, name: str, *kinds: PluginKind) -> Sequence[Plugin]:
        """Return every version of the plug-in that `find` gives, oldest first; the first of several kinds counts."""
        found = [p for kind in kinds or tuple(PluginKind) for p in self._by_name.get((kind, name), ())]
        exact = [p for p in found if name == p.name or name in p.aliases]
        found = exact or found
        if len({p.name for p in found}) != 1:
            return ()
        return [p for p in found if p.kind is found[0].kind]

    def connector(self, name: str) -> Plugin:
        """Return the connector plug-in of this name. ConnectError in Kafka Connect's words when there is none."""
        plugin = self.find(name, *CONNECTORS)
        if plugin is None:
            known = ", ".join(describe(p) for p in self.plugins(*CONNECTORS))
            first = self.advice(name)
            raise ConnectError(
                f"{first + ' ' if first else ''}Failed to find any class that implements Connector and which name "
                f"matches {name}, available connectors are: {known}"
            )
        return plugin

    def advice(self, name: str) -> str | None:
        """Return what to use instead of a connector that is not installed, or which one is meant; None if not known."""
        return advice(name, [known for p in self.plugins(*CONNECTORS) for known in (p.name, *p.aliases)])

    @staticmethod
    def load(plugin: Plugin) -> Any:
        """Import what the plug-in's factory names, drivers included. ConnectError says what is missing."""
        module, _, attribute = plugin.factory.partition(":")
        try:
            loaded: Any = importlib.import_module(module)
            for part in attribute.split("."):
                loaded = getattr(loaded, part)
        except (ImportError, AttributeError) as error:
            raise ConnectError(
                f"Plug-in {plugin.name} cannot be loaded from {plugin.factory!r}: {error}.",
                fix=_fix(error, plugin.factory),
            ) from error
        return loaded


def _fix(error: ImportError | AttributeError, factory: str) -> str:
    line = pip_line(error.name, factory) if isinstance(error, ImportError) and error.name else None
    return f"Run: {line}" if line else "Install what its package needs, or mend the plug-in's factory."


def describe(plugin: Plugin) -> str:
    """Return the text for a plug-in in error messages, in the form of Java's PluginDesc."""
    return (
        f"PluginDesc{{klass=class {plugin.name}, name='{plugin.name}', version='{plugin.version}', "
        f"encodedVersion={plugin.version}, type={plugin.kind}, typeName='{plugin.kind}', location='{plugin.factory}'}}"
    )


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key of version texts: numbers by value, and before them any text.

    So 1.9 < 1.10-rc1 < 1.10 < 1.10.1.
    """
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return (*map(_part_key, parts), (1, -1, ""))


def _part_key(part: str) -> tuple[int, int, str]:
    """Return the sort key of a part. Numbers go by length, then by digits: Python reads none of over 4300 digits."""
    if not part.isdigit():
        return 0, 0, part.lower()
    digits = part.lstrip("0")
    return 1, len(digits), digits


def _rank(kind: PluginKind) -> int:
    return LISTED.index(kind) if kind in LISTED else len(LISTED)


def _names(plugin: Plugin) -> set[str]:
    names = {plugin.name, *plugin.aliases}
    for full in tuple(names):
        short = full.rpartition(".")[2]
        if "$" in short:
            continue
        names.add(short)
        names.update(short.removesuffix(suffix) for suffix in _SUFFIXES[plugin.kind] if short != suffix)
    return names


def _declared(point: EntryPoint) -> list[Plugin]:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(PluginSpec)
    manager.register(point.load(), name=point.name)
    offers = manager.hook.connect_plugins()
    if not offers:
        raise TypeError("the module has no function connect_plugins marked with connect.api.plugin.hookimpl")
    plugins = [plugin for offer in offers for plugin in offer]
    for plugin in plugins:
        _check(plugin)
    return plugins


def _check(plugin: object) -> None:
    if not isinstance(plugin, Plugin):
        raise TypeError(f"connect_plugins gave a {type(plugin).__name__}; it must give connect.api.plugin.Plugin")
    if not NAMED.fullmatch(plugin.factory):
        raise ValueError(f"factory of {plugin.name} is {plugin.factory!r}; it must be 'module:attribute'")
    DeclaredConfig.check(plugin)
