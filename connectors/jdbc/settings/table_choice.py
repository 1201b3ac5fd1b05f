"""Chooses the tables that a connector reads, and shares them out. Pure: lists in, lists out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from connect.api.errors import ConnectError
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.javatext.timed_pattern import TimedPattern
from connect.lib.nearest import nearest

if TYPE_CHECKING:
    from connectors.jdbc.settings.config import JdbcSourceConfig

_QUOTED_PART = r'"((?:[^"]|"")*)"'


class TableName(NamedTuple):
    """Holds the name of a table. `schema` is None if the database has one flat list (SQLite); with MySQL it is the
    database.
    """

    schema: str | None
    name: str

    @property
    def full(self) -> str:
        """Return the fully qualified name without quotes, as it stands in source partitions."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """Return the fully qualified name in double quotes."""
        return ".".join('"' + part.replace('"', '""') + '"' for part in self if part is not None)

    def is_named(self, text: str) -> bool:
        """Return True if a user's text means this table: bare name, full name, or full name in quotes of any kind."""
        plain = _without_quotes(text)
        return text in {self.name, self.full, self.quoted} or (plain != text and plain in {self.name, self.full})


class TablePart(NamedTuple):
    """Holds a task's share of a table's first read: the ranges whose number modulo `of` is `number`. Part 0 owns the
    table.
    """

    table: TableName
    number: int = 0
    of: int = 1


class ColumnMapping(NamedTuple):
    """Holds one entry of timestamp.columns.mapping or incrementing.column.mapping."""

    pattern: TimedPattern
    columns: tuple[str, ...]


_NOT_IN_TOPICS = re.compile(r"[^a-zA-Z0-9._-]")


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Holds the table filters of a configuration."""

    whitelist: Sequence[str] = ()
    blacklist: Sequence[str] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()

    @classmethod
    def of(cls, config: JdbcSourceConfig) -> TableFilter:
        """Return the filters that a configuration has."""
        given = (config.table_whitelist, config.table_blacklist, config.table_include, config.table_exclude)
        # A comma at the end of a list names nothing.
        return cls(*(tuple(filter(None, names)) for names in given))

    def selects(self, table: TableName) -> bool:
        """Tell if the filters select the table."""
        if self.whitelist:
            return any(table.is_named(text) for text in self.whitelist)
        if self.blacklist:
            return not any(table.is_named(text) for text in self.blacklist)
        if self.include:
            matches = _any_matches(self.include, table)
            return matches and not _any_matches(self.exclude, table)
        return True

    def named_in(self, schemas: Iterable[str | None]) -> list[TableName]:
        """Return the tables of these schemas that the whitelist can mean."""
        plain = [_without_quotes(text) for text in self.whitelist]
        return [
            TableName(schema, text.removeprefix(f"{schema}."))
            for schema in schemas
            for text in plain
            if text.startswith(f"{schema}.") or "." not in text
        ]

    def unmatched(self, tables: Iterable[TableName]) -> dict[str, list[str]]:
        """Return by key the names or patterns that no table matches."""
        present = list(tables)
        white = [t for t in self.whitelist if not any(table.is_named(t) for table in present)]
        include = [p for p in self.include if not any(_any_matches([p], table) for table in present)]
        return {k: v for k, v in {"table.whitelist": white, "table.include.list": include}.items() if v}


def no_table(config: JdbcSourceConfig) -> ConnectError:
    """Return the error of a task that has no table to read, with the names or patterns that none matches."""
    unmatched = TableFilter.of(config).unmatched(())
    key, names = next(iter(unmatched.items()), ("table.whitelist", ["the table filter"]))
    named = f"{', '.join(names)} of {key}" if unmatched else names[0]
    fix = f"Create the tables, or change {key}; then restart the connector."
    return ConnectError(f"No table matches {named}.", key=key, fix=fix)


def likely_tables(names: Iterable[str], present: Iterable[TableName]) -> list[str]:
    """Return the tables likely meant by names that no table has, each in the form that was written: bare or in full."""
    known = {text for table in present for text in (table.name, table.full)}
    found = (nearest(_without_quotes(name), known) for name in names)
    return list(dict.fromkeys(likely for likely in found if likely is not None))


def select_tables(present: Iterable[TableName], chosen: TableFilter) -> list[TableName]:
    """Return the tables to read, sorted, so that the same tables always give the same tasks."""
    return sorted((t for t in set(present) if chosen.selects(t)), key=lambda t: (t.schema or "", t.name))


def once_each(chosen: Sequence[TableName], parents: Mapping[TableName, TableName], *, by_root: bool) -> list[TableName]:
    """Return the tables so that no row is read twice: without partitions if `by_root`, else without partitioned tables.

    `parents` maps each partition to the table to which it belongs. Only a table whose rows come with another chosen one
    is left out.
    """
    wanted = set(chosen)
    covered: set[TableName] = set()
    for table in chosen:
        above = parents.get(table)
        while above is not None:
            if above in wanted:
                covered.add(table if by_root else above)
            above = parents.get(above)
    return [table for table in chosen if table not in covered]


def topic_of(table: TableName, config: JdbcSourceConfig) -> str:
    """Return the topic of a table. As in Debezium, characters of the table's name that no topic may have become `_`."""
    schema, name = (_NOT_IN_TOPICS.sub("_", part) for part in (table.schema or "", table.name))
    parts = {"prefix": config.topic_prefix, "schema": schema, "table": name}
    return re.sub(r"\$\{(\w+)\}", lambda m: parts[m[1]], config.topic_format)


def same_topic(tables: Iterable[TableName], config: JdbcSourceConfig) -> dict[str, list[TableName]]:
    """Return the topics that several of the tables would share, with these tables."""
    sharing: dict[str, list[TableName]] = {}
    for table in tables:
        sharing.setdefault(topic_of(table, config), []).append(table)
    return {topic: found for topic, found in sorted(sharing.items()) if len(found) > 1}


def split(tables: Sequence[TableName], groups: int) -> list[Sequence[TableName]]:
    """Return the tables in at most `groups` contiguous groups, whose sizes differ by at most one."""
    count = min(groups, len(tables))
    bounds = [len(tables) * i // count for i in range(count + 1)] if count else [0]
    return [tables[start:stop] for start, stop in itertools.pairwise(bounds)]


def share_out(
    tables: Sequence[TableName], tasks: int, parallelism: int
) -> list[tuple[Sequence[TableName], Sequence[TablePart]]]:
    """Return for each task its tables, and its parts of first reads, which are cut into `parallelism` ranges."""
    if parallelism < 2:
        return [(own, ()) for own in split(tables, tasks)]
    count = min(tasks, len(tables) * parallelism)
    owned: list[Sequence[TableName]] = [()] * count
    groups = split(tables, count)
    for place, group in enumerate(groups):
        # The owners of tables are spread among the tasks, so that the tasks between two owners get parts.
        owned[place * count // len(groups)] = group
    parts: list[list[TablePart]] = [[] for _ in owned]
    for owner, own in enumerate(owned):
        for table in own:
            of = min(parallelism, count)
            for number in range(of):
                parts[(owner + number) % count].append(TablePart(table, number, of))
    return list(zip(owned, parts, strict=True))


def parts_to_text(parts: Iterable[TablePart]) -> str:
    """Write parts as a task's `first.reads` setting."""
    return ",".join(f"{part.table.quoted}#{part.number}/{part.of}" for part in parts)


def parts_from_text(text: str) -> list[TablePart]:
    """Return the parts that a task's `first.reads` setting names."""
    found = re.finditer(rf"(?:{_QUOTED_PART}\.)?{_QUOTED_PART}#(\d+)/(\d+)(?:,|$)", text)
    return [TablePart(TableName(_unquoted(m[1]), _unquoted(m[2]) or ""), int(m[3]), int(m[4])) for m in found]


def to_text(tables: Iterable[TableName]) -> str:
    """Write tables as a task's `tables` setting."""
    return ",".join(t.quoted for t in tables)


def from_text(text: str) -> list[TableName]:
    """Return the tables that a task's `tables` setting names."""
    found = re.finditer(rf"(?:{_QUOTED_PART}\.)?{_QUOTED_PART}(?:,|$)", text)
    return [TableName(_unquoted(m[1]), _unquoted(m[2]) or "") for m in found]


def _any_matches(patterns: Iterable[str], table: TableName) -> bool:
    return any(compile_pattern(pattern).fullmatch(table.full) for pattern in patterns)


def _without_quotes(text: str) -> str:
    return re.sub(r'["`]', "", text)


def _unquoted(part: str | None) -> str | None:
    return None if part is None else part.replace('""', '"')


def parse_mapping(entry: str) -> ColumnMapping:
    """Parse an entry `regex:column` or `regex:[column|column]`. Raise ValueError, which says what is wrong with it."""
    pattern, colon, columns = entry.rpartition(":")
    names = tuple(c.strip() for c in columns.strip().removeprefix("[").removesuffix("]").split("|"))
    if not colon or not pattern or not all(names):
        raise ValueError("must be regex:column or regex:[column|column]")
    try:
        return ColumnMapping(compile_pattern(pattern), names)
    except JavaPatternError as error:
        raise ValueError(f"not a regular expression: {error}") from None


def mapped_columns(table: TableName, entries: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the one entry matching a table names. Raise ValueError when none or several match."""
    matching = [m for m in map(parse_mapping, entries) if m.pattern.fullmatch(table.full)]
    if len(matching) != 1:
        raise ValueError(f"table {table.full} matches {len(matching)} entries; every table must match exactly one")
    return matching[0].columns


def like(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names a JDBC metadata pattern matches: % any text, _ any character."""
    regex = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    compiled = compile_pattern(regex)
    return [n for n in names if compiled.fullmatch(n)]
