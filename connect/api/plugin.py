"""Defines how a plug-in declares itself.

Declaring is cheap: the code that needs a driver is named by `factory`, and imported when it is first used. So may the
settings be named by `config`.

A package offers plug-ins through the entry point group `connect.plugins`; each entry point is a module with

    @hookimpl
    def connect_plugins() -> list[Plugin]: ...
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NoReturn, overload

import pluggy

from connect.api.config import Config
from connect.api.errors import ConnectError

PROJECT = "connect"
ENTRY_POINT_GROUP = "connect.plugins"
NAMED: Final = re.compile(r"[\w.]+:[\w.]+")
"""Matches what names an object of a module."""
_WANTED: Final = "a subclass of connect.api.config.Config"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class PluginKind(StrEnum):
    """Names the kinds of plug-in; they are spelt as in Kafka Connect's REST API."""

    SOURCE = "source"
    SINK = "sink"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONFIG_PROVIDER = "config_provider"
    AGENT = "agent"
    """An agent is a source of one task that has to run on the machine of its database: `connect agent` runs it, never a
    worker. Its factory builds a `Connector`, whose task is a `SourceTask`.
    """


class Capability(StrEnum):
    """Lists what a connector can promise; the conformance suites test exactly what it declares."""

    EXACTLY_ONCE = "exactly-once"
    """A source repeats no row when it resumes at the stored offset. A sink has each row once if a batch is put
    twice.
    """
    TRANSACTION_BOUNDARIES = "transaction-boundaries"
    """A source can say itself where its transactions end (`SourceContext.transactions`)."""
    DELETES = "deletes"
    """A source reports deleted rows, a sink applies tombstones."""
    UPDATES = "updates"
    """A source reports changed rows, a sink replaces rows by key."""
    OFFSETS_ALTERABLE = "offsets-alterable"
    """The source keeps no offsets but those that the framework stores, so it is enough to alter these by REST."""
    CLEANUP = "cleanup"
    """The connector can remove what it keeps outside of Kafka when it is deleted (`CleanupConnector`)."""
    READS_TOPICS = "reads-topics"
    """The source reads topics of the worker's Kafka (`SourceContext.topics`), by `consumer.override.*`."""


class DeclaredConfig:
    """Holds the settings of a plug-in, and imports those that are named as "module:attribute" when they are asked for.

    A worker declares a hundred plug-ins and uses a few: the settings of all take 0.2 s and 9 MB in each process.
    """

    @overload
    def __get__(self, plugin: None, owner: type) -> NoReturn: ...
    @overload
    def __get__(self, plugin: object, owner: type) -> type[Config]: ...
    def __get__(self, plugin: object | None, owner: type) -> type[Config]:
        """Return the settings. ConnectError: what is named cannot be imported, or is no Config."""
        if plugin is None:
            raise AttributeError("A plug-in has no settings unless they are given.")
        given = vars(plugin)["config"]
        if isinstance(given, str):
            given = vars(plugin)["config"] = _imported(given)
        found: type[Config] = given
        return found

    @staticmethod
    def check(plugin: Plugin) -> None:
        """Raise TypeError if the settings are neither a Config nor a name of one, which is imported later."""
        given = vars(plugin)["config"]
        if not (isinstance(given, str) and NAMED.fullmatch(given)) and not _is_config(given):
            raise TypeError(f"config of {plugin.name} is {given!r}; it must be {_WANTED}, or 'module:attribute'")

    def __set__(self, plugin: object, value: type[Config] | str) -> None:
        """Take a class, or the name of one."""
        vars(plugin)["config"] = value


def _imported(name: str) -> type[Config]:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ConnectError(
            f"The settings {name!r} cannot be imported: {type(error).__name__}: {error}.",
            fix="Mend the name, or install what it needs.",
        ) from error
    if not _is_config(found):
        raise ConnectError(f"The settings {name!r} are {found!r}.", fix=f"Name {_WANTED}.")
    config: type[Config] = found
    return config


def _is_config(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Config)


@dataclass(frozen=True)
class Plugin:
    """Declares one plug-in. `name` is the class name that REST clients use: a Java class's if the plug-in replaces that
    class.

    `aliases` are further full names; short names (the last part, with and without the kind's suffix) are derived. A
    short name that other plug-ins have, too, is that of the one which gives it as an alias.
    `factory` is "module:attribute", loaded when the plug-in is first built. For a transform, predicate or converter the
    attribute is called with the parsed config (converters also with `is_key: bool`). `config` is a class, or the name
    of one in the same form.
    """

    kind: PluginKind
    name: str
    factory: str
    config: DeclaredConfig = DeclaredConfig()
    version: str  # type: ignore[misc]  # The line above is no default: without settings there is no plug-in.
    doc: str = ""
    aliases: Sequence[str] = ()
    capabilities: frozenset[Capability] = field(default=frozenset())
    address: str = ""
    """A connector that can be configured from a URL alone names a function here, as "module:attribute". The function
    takes the URL and the tables that a person names, and returns an `Addressed`, or None for a URL of another kind. It
    connects to nothing.
    """
    read_by: str = ""
    """A converter that writes records and reads none says here, in a sentence, what reads them instead. No sink can
    have such a converter.
    """

    @property
    def found_config(self) -> type[Config] | None:
        """Return the settings; None if they cannot be imported.

        Who asks after the plug-ins of others uses it: `config` tells the one who uses the plug-in what is wrong.
        """
        try:
            return self.config
        except ConnectError:
            return None


class PluginSpec:
    """Declares the one hook that a package of plug-ins implements."""

    @hookspec
    def connect_plugins(self) -> list[Plugin]:
        """Return the plug-ins of this package."""
        raise AssertionError("pluggy never calls a specification")
