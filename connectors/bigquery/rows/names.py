"""Makes names of tables and columns from those of topics and fields, as BigQuery takes them and the settings say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from connect.api import schema as s
from connect.api.errors import ConnectError, SchemaError

_NOT_PLAIN: Final = re.compile(r"[^a-zA-Z0-9_]")
_TABLE: Final = re.compile(r"[\w\- ]{1,1024}")
_COLUMN: Final = re.compile(r"[^\W\d]\w*")
_KEPT_MOST: Final = 4096
"""The answers for so many names are remembered, as each put asks for the same ones."""
_RESERVED: Final = ("_table_", "_file_", "_partition", "_row_timestamp", "__root__", "_colidentifier")
"""The prefixes that no column may have. Source: BigQuery, "Column names"."""


def plain(name: str) -> str:
    """Return the name as the Java connector sanitizes it: only ASCII letters, digits and `_`, with `_` for all else."""
    found = _NOT_PLAIN.sub("_", name)
    return f"_{found}" if found[:1].isdigit() else found


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Gives the columns of fields their names. `is_sanitizing` is sanitizeFieldNames."""

    is_sanitizing: bool

    def column(self, name: str, path: str) -> str:
        """Return the column of a field. SchemaError: BigQuery takes no such name."""
        found = plain(name) if self.is_sanitizing else name
        if not _is_column_name(found):
            raise SchemaError(
                f"BigQuery takes no column of the name {found!r}: letters, digits and _ only.",
                field=path,
                key="sanitizeFieldNames",
                fix="Set sanitizeFieldNames=true, or rename the field by a transform.",
            )
        if found.lower().startswith(_RESERVED):
            raise SchemaError(f"BigQuery reserves names like {found!r}.", field=path, fix="Rename it by a transform.")
        return found

    def within(self, schema: s.Schema) -> s.Schema:
        """Return the schema with the names that the members of its records have in a column."""
        if not self.is_sanitizing:
            return schema
        keys, items = (None if part is None else self.within(part) for part in (schema.keys, schema.items))
        members = tuple(s.Field(plain(member.name), self.within(member.schema)) for member in schema.fields)
        return replace(schema, fields=members, keys=keys, items=items)


@dataclass(frozen=True, slots=True)
class TableNames:
    """Gives the tables of topics their names. A name out of `mapped` (topic2TableMap) is never sanitized."""

    is_sanitizing: bool
    mapped: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def table(self, topic: str) -> str:
        """Return the table of a topic. ConnectError: BigQuery takes no such name."""
        if topic in self.mapped:
            return self.mapped[topic]
        found = plain(topic) if self.is_sanitizing else topic
        if not is_table_name(found):
            raise ConnectError(
                f"Topic {topic} has no table: BigQuery takes no table of the name {found!r}.",
                key="sanitizeTopics",
                fix=f"Set sanitizeTopics=true, or topic2TableMap={topic}:<table>.",
            )
        return found


@lru_cache(_KEPT_MOST)
def _is_column_name(name: str) -> bool:
    return _COLUMN.fullmatch(name) is not None


@lru_cache(_KEPT_MOST)
def is_table_name(name: str) -> bool:
    """Tell if BigQuery takes this name for a table: letters, digits, marks, _, - and spaces, at most 1024 bytes."""
    return _TABLE.fullmatch(name) is not None and len(name.encode()) <= 1024
