"""Reads JDBC URLs of a database, and knows which drivers and driver parameters any URL may name. Pure.

A database that is not known has no JDBC URLs here: it takes SQLAlchemy's URLs alone, with a driver that the worker
allows.
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
"""Holds a parameter of the Python driver, and the function that converts the Java parameter's value for it."""
Query = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ValueForm:
    """Holds the pattern that the values of a parameter must match, and the name that messages have for such values."""

    pattern: re.Pattern[str]
    name: str


WHOLE: Final = ValueForm(re.compile(r"-?[0-9]+"), "a whole number")
NUMBER: Final = ValueForm(re.compile(r"[0-9]+(\.[0-9]*)?"), "a number")
TRUTH: Final = ValueForm(re.compile(r"(?i)\s*(true|yes|on|y|t|1|false|no|off|n|f|0)\s*"), "true or false")


def same(value: str) -> str:
    """Return a value unchanged, as it means the same to Java's driver and to Python's."""
    return value


@dataclass(frozen=True, slots=True)
class DriverParameters:
    """Holds the parameters of a driver that a connector may give. Those in `files` name files of this machine."""

    plain: frozenset[str]
    files: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    """These parameters may be given more than once: one for each server."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all parameters that a connector may give."""
        return self.plain | self.files | self.repeated


class UrlForm:
    """Reads no JDBC URLs, as the database is not known; subclasses read those of known databases."""

    driver: str = ""
    """JDBC URLs are read for the driver of this name in SQLAlchemy. It is empty if none are read for the database."""
    renamed: ClassVar[Mapping[str, Rename]] = {}
    """Maps Java's parameters to those of the Python driver. If two give the same one, the later in this map counts."""
    dropped: frozenset[str] = frozenset()
    """These parameters of Java's driver are accepted and ignored, as they change nothing here."""
    joined: ClassVar[Mapping[str, str]] = {}
    """Maps a parameter that several Java parameters are parts of to the separator between the parts."""
    drivers: ClassVar[Mapping[str, DriverParameters]] = {}
    """Maps the drivers that a connector may name, without being listed in the worker's file, to their parameters."""

    forms: ClassVar[Mapping[str, ValueForm]] = {}
    """Maps driver parameters to the form of their values: SQLAlchemy's error for others does not name the parameter."""
    is_file: bool = False
    """True if the database is a file of this machine."""
    instead: str = "oracle+oracledb://user@host:1521/?service_name=name (or /sid)"
    """Messages give this URL as an example of what to write if a JDBC URL is not read."""

    def __init__(self, name: str) -> None:
        """Take the name that the URLs begin with."""
        self.name = name

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address in a JDBC URL, and its parameters. `rest` is the URL behind the database's name."""
        address, _, text = rest.partition("?")
        return address, dict(parse_qsl(text.replace(";", "&"), keep_blank_values=True))

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL. `address` is the text between the database's name and the parameters.

        ValueError: the address has an unknown form.
        """
        del address, login, query
        raise ValueError(f"jdbc:{self.name}: is not read here")

    def driver_problems(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield a text for each parameter of the driver whose value cannot be taken."""
        for parameter, form in self.forms.items():
            if not all(map(form.pattern.fullmatch, values_of(url, parameter))):
                yield f"the parameter {parameter} must be {form.name}"

    def sockets(self, url: DatabaseUrl) -> Iterator[tuple[str, str]]:
        """Yield a pair of parameter and path for each socket of this machine by which a URL reaches a server."""
        del url
        yield from ()

    def settings(self, url: str) -> dict[str, str]:
        """Return the connector's keys for a URL that the database's own clients take. ConfigError: it lacks parts."""
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
