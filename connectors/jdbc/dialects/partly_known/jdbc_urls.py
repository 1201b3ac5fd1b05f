"""Reads JDBC URLs with semicolons before their parameters, and refuses parts that the driver would misread. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from connectors.jdbc.dialects.generic.url import UrlForm
from connectors.jdbc.settings.url import DatabaseUrl, values_of

HOST: Final = r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)"
_PAIR: Final = re.compile(r"\s*([^=;]+?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)(?:;|$)")
_PLAIN: Final = re.compile(r"[^;=()\s\x00]*")


def pairs(text: str) -> dict[str, str]:
    """Return the parameters of a text as `name=value;name={value; with semicolons}`.

    If a name comes twice, its first value counts. ValueError: the text has another form.
    """
    found: dict[str, str] = {}
    if _PAIR.sub("", text).strip("; "):
        raise ValueError("Parameters must be name=value, with semicolons between them")
    for name, value in _PAIR.findall(text):
        is_braced = value.startswith("{") and value.endswith("}")
        found.setdefault(name, value[1:-1].replace("}}", "}") if is_braced else value.strip())
    return found


class PlainUrl(UrlForm):
    """Reads URLs of drivers that make a connection text of their parts, in which a semicolon would begin a new part."""

    free_texts: frozenset[str] = frozenset()
    """These parameters are given to the driver outside of that text, so that they may have any characters."""

    def driver_problems(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield the problems, among them parts with characters by which the driver would read further parts."""
        yield from super().driver_problems(url)
        parts: Mapping[str, str | None] = {"host": url.host, "database": url.database, "user": url.username}
        if url.drivername in self.drivers:
            for name, value in parts.items():
                if value and not _PLAIN.fullmatch(value):
                    yield f"the {name} has a semicolon, an equals sign, a bracket or a space"
            for name in sorted(url.query.keys() - self.free_texts):
                if any(re.search(r"[;()\x00]", value) for value in values_of(url, name)):
                    yield f"the parameter {name} has a semicolon or a bracket"


class SemicolonUrl(PlainUrl):
    """Reads `//host:port;name=value` and `//host:port/database:name=value;`, with names in any case."""

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address and the parameters; names that are known here in another case get the known case."""
        address, _, text = rest.partition(";")
        known = {name.lower(): name for name in ("user", "password", *self.renamed, *self.dropped)}
        return address, {known.get(name.lower(), name): value for name, value in pairs(text).items()}
