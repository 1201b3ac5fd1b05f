"""Lists the kinds of things beyond Kafka that the value of a setting names, and what keeps each kind in bounds.

Everyone who may POST a configuration may choose such values. So each kind has a rule, each key that names such a thing
declares its kind (`connect.api.config.key`), and a test attacks each of these keys in the way of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from connect.api.errors import ConfigProblem


class Reach(StrEnum):
    """Tells what kind of thing the value of a setting names."""

    FILE = "file"
    """A file or a folder of the worker's machine, which is read or written."""
    CLASS = "class"
    """The value is the name of code: a class, a module, a function."""
    URL = "URL"
    """The value is an address with its protocol."""
    HOST = "host"
    """The value names a machine, or a place on one whose protocol is fixed."""
    SQL = "SQL"
    """The value is a text that a database, or an engine of the worker's, runs."""
    COMMAND = "command"
    """The value is a part of a command that a shell runs."""


BOUNDS: Final[Mapping[Reach, str]] = MappingProxyType({
    Reach.FILE: "below `allowed.paths` of the worker's file, links resolved; none given: none",
    Reach.CLASS: "a fixed list; no name loads code",
    Reach.URL: "HTTP alone, to any address; no file of this machine",
    Reach.HOST: "any machine, spoken to in its own protocol alone",
    Reach.SQL: "run by the database, with the rights of its user",
    Reach.COMMAND: "no character that means something to a shell",
})  # fmt: skip
"""These are the rules of each kind. A key whose `bounds` say more has its own."""


_SCHEME: Final = re.compile(r"\s*([a-zA-Z][a-zA-Z0-9+.\-]{0,40})(?:://|(?<=file):)")
_HTTP: Final = frozenset({"http", "https"})
_HTTP_URL: Final = re.compile(r"https?://(?!.*://)")


def url_problems(name: str, reaches: Sequence[Reach], bounds: str, texts: Iterable[object]) -> Iterator[ConfigProblem]:
    """Yield the problems of the texts of a key that names machines.

    A key that takes only HTTP's URLs may have no URL of another protocol. A key that names hosts may have none either,
    as the program that connects may read another host in it.
    """
    if Reach.HOST in reaches and Reach.URL not in reaches:
        if any("://" in str(text or "") and not _HTTP_URL.match(str(text)) for text in texts):
            yield ConfigProblem(name, f"Invalid value for configuration {name}: it is a URL. Write host or host:port.")
    elif _speaks_http_alone(reaches, bounds):
        yield from _problems_of_urls(name, texts)


def _speaks_http_alone(reaches: Sequence[Reach], bounds: str) -> bool:
    """Tell if a key of this declaration takes only HTTP's URLs; a key that takes others says so in its bounds."""
    return tuple(reaches) == (Reach.URL,) and (not bounds or bounds.startswith("HTTP alone"))


def _problems_of_urls(name: str, urls: Iterable[object]) -> Iterator[ConfigProblem]:
    """Yield a problem for each URL that is not HTTP's; a text without a scheme is no URL."""
    for url in urls:
        found = _SCHEME.match(str(url or ""))
        scheme = found[1].lower() if found is not None else None
        if scheme is not None and scheme not in _HTTP:
            text = (
                f"Invalid value for configuration {name}: its URL is of {scheme}, and only HTTP is spoken here. "
                "Write http:// or https://."
            )
            yield ConfigProblem(name, text)


def declared(*reaches: Reach, bounds: str) -> dict[str, Any]:
    """Return the `json_schema_extra` by which a field of a pydantic model that is no `Config` declares its reach."""
    return {"reach": [*reaches], "bounds": bounds, "harmless": ""}
