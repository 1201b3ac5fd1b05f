"""How a plug-in declares itself. Declaring is cheap: the code that needs a driver is named by `factory`, not imported.

A package offers plug-ins through the entry point group `connect.plugins`; each entry point is a module with

    @hookimpl
    def connect_plugins() -> list[Plugin]: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pluggy

from connect.api.config import Config

PROJECT = "connect"
ENTRY_POINT_GROUP = "connect.plugins"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class PluginKind(StrEnum):
    """The kinds of plug-in, as Kafka Connect's REST API spells them."""

    SOURCE = "source"
    SINK = "sink"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONFIG_PROVIDER = "config_provider"
    AGENT = "agent"
    """A source of one task that has to run beside its database: `connect agent` runs it, and no worker. Its factory
    builds a `Connector`, its task is a `SourceTask`."""


class Capability(StrEnum):
    """What a connector promises; the conformance suites test exactly what is declared."""

    EXACTLY_ONCE = "exactly-once"
    """A source: resuming at the stored offset repeats no row. A sink: a batch put twice leaves each row once."""
    TRANSACTION_BOUNDARIES = "transaction-boundaries"
    """A source: it can say itself where its transactions end (`SourceContext.transactions`)."""
    DELETES = "deletes"
    """A source reports deleted rows, a sink applies tombstones."""
    UPDATES = "updates"
    """A source reports changed rows, a sink replaces rows by key."""
    OFFSETS_ALTERABLE = "offsets-alterable"
    """The offsets kept by the framework are all there is, so altering them by REST is enough."""
    CLEANUP = "cleanup"
    """What the connector keeps outside can be taken away when it is deleted (`CleanupConnector`)."""


@dataclass(frozen=True)
class Plugin:
    """Declares one plug-in. `name` is the class name REST clients use: Java's where it stands in for a Java class.

    `aliases` are further full names; short names (the last part, with and without the kind's suffix) are derived.
    `factory` is "module:attribute", loaded when the plug-in is first built. For a transform, predicate or converter the
    attribute is called with the parsed config (converters also with `is_key: bool`).
    """

    kind: PluginKind
    name: str
    factory: str
    config: type[Config]
    version: str
    doc: str = ""
    aliases: Sequence[str] = ()
    capabilities: frozenset[Capability] = field(default=frozenset())
    address: str = ""
    """"module:attribute" of a connector that can be made from a URL: called with it and the tables that a person names,
    it gives an `Addressed`, or None where the URL is of another kind. It reads the URL alone and reaches nothing."""


class PluginSpec:
    """Declares the one hook that a package of plug-ins implements."""

    @hookspec
    def connect_plugins(self) -> list[Plugin]:
        """Return the plug-ins of this package."""
        raise AssertionError("pluggy never calls a specification")
