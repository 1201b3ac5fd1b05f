"""Tells which differences between Debezium's records of MySQL and ours are known, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

KNOWN: Mapping[str, str] = MappingProxyType(
    {
        ".d_binary schema": "the default of BINARY is told as SHOW CREATE TABLE writes it there",
        ".d_varchar schema": "an apostrophe in a default is told twice there",
        ".c_enum streamed": "a comma in a member is told with a backslash there as soon as it streams",
        ".c_enum before": "likewise",
        ".c_year streamed": "the year 0000 is told as 1900 there as soon as it streams, and as 2000 in the first read",
        ".c_year before": "likewise",
    }
)
"""Maps places that differ, by the text behind the table's name, to the reason."""
OF_MARIADB: Mapping[str, str] = MappingProxyType(
    {
        " schema: {'type': 'struct'": "the source block has MariaDB's name",
        " headers: ": "the connector has MariaDB's name",
        " source.connector: ": "likewise",
        ".c_geometry ": "MySQL stores the axes of SRID 4326 the other way round",
        ".c_json": "JSON of MariaDB is text",
        ".c_uuid schema": "MySQL has no such type",
        ".c_inet": "MySQL has no such type",
    }
)
"""Has the places in which MariaDB's records differ from those that Debezium wrote of the same tables of MySQL."""


def unexplained(places: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the differences that have no known reason."""
    names = tuple(known)
    return sorted(place for place in places if not any(name in place for name in names))
