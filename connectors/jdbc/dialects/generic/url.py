"""How URLs of a database are read, and which drivers and parameters of theirs they may name. Pure.

Those of a database that is not known are SQLAlchemy's to read, by a driver that the worker allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from connect.api.errors import ConfigError
from connectors.jdbc.settings.url import DatabaseUrl, Login, values_of

Rename = tuple[str, Callable[[str], str]]
"""A parameter of the Python driver, and how the value of Java's becomes its value."""
Query = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ValueForm:
    """Describes what values of a parameter look like, and how messages call that."""

    pattern: re.Pattern[str]
    name: str


WHOLE: Final = ValueForm(re.compile(r"-?[0-9]+"), "a whole number")
NUMBER: Final = ValueForm(re.compile(r"[0-9]+(\.[0-9]*)?"), "a number")
TRUTH: Final = ValueForm(re.compile(r"(?i)\s*(true|yes|on|y|t|1|false|no|off|n|f|0)\s*"), "true or false")


def same(value: str) -> str:
    """Return a value that means the same to both drivers."""
    return value


@dataclass(frozen=True, slots=True)
class DriverParameters:
    """The parameters of a driver that a connector may give. Those of `files` name files of this machine."""

    plain: frozenset[str]
    files: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    """Those that may be there more than once, one for each server."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all parameters that a connector may give."""
        return self.plain | self.files | self.repeated


class UrlForm:
    """How URLs of a database that is not known are read."""

    driver: str = ""
    """SQLAlchemy's name of the driver for JDBC URLs; empty: such URLs are not read."""
    renamed: ClassVar[Mapping[str, Rename]] = {}
    """Java's parameters that have a counterpart. In this order: what says more comes later."""
    dropped: frozenset[str] = frozenset()
    """Java has these parameters beside them, which change nothing here."""
    joined: ClassVar[Mapping[str, str]] = {}
    """Parameters that several of Java's are parts of, and what goes between the parts."""
    drivers: ClassVar[Mapping[str, DriverParameters]] = {}
    """The drivers that a connector may name without the worker's leave."""

    forms: ClassVar[Mapping[str, ValueForm]] = {}
    """Parameters of the driver whose values SQLAlchemy converts; it fails without a word of the parameter."""
    is_file: bool = False
    """True if the database is a file of this machine."""
    instead: str = "oracle+oracledb://user@host:1521/?service_name=name (or /sid)"
    """People are told to write this, as the JDBC URL is not read."""

    def __init__(self, name: str) -> None:
        """Take the name that the URLs begin with."""
        self.name = name

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return what is before a JDBC URL's parameters, and they; `rest`: all behind its name."""
        address, _, text = rest.partition("?")
        return address, dict(parse_qsl(text.replace(";", "&"), keep_blank_values=True))

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL; `address`: what is between its name and its parameters."""
        del address, login, query
        raise ValueError(f"jdbc:{self.name}: is not read here")

    def driver_problems(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield why the values of known parameters are not taken."""
        for parameter, form in self.forms.items():
            if not all(map(form.pattern.fullmatch, values_of(url, parameter))):
                yield f"the parameter {parameter} must be {form.name}"

    def sockets(self, url: DatabaseUrl) -> Iterator[tuple[str, str]]:
        """Yield each socket of this machine by which a URL reaches a server, behind its parameter."""
        del url
        yield from ()

    def settings(self, url: str) -> dict[str, str]:
        """Return the keys of a connector for a URL as the database's own clients take it."""
        parts = urlsplit(url)
        if not parts.hostname or not parts.path.strip("/"):
            raise ConfigError(
                "The URL names no host or no database.", fix="Write it as postgresql://user@host/database."
            )
        place = parts.netloc.rpartition("@")[2]
        query = f"?{parts.query}" if parts.query else ""
        found = {"connection.url": f"jdbc:{self.name}://{place}{parts.path}{query}"}
        login = {"connection.user": parts.username, "connection.password": parts.password}
        return found | {key: unquote(value) for key, value in login.items() if value}
