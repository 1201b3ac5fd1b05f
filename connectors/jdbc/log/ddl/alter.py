"""Reads the parts of ALTER TABLE that concern columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from connectors.jdbc.log.ddl.columns import charset_of_collation, charset_option, definition
from connectors.jdbc.log.ddl.tables import Action, Add, Change, Remove, RenameColumn, SetCharset, SetKey
from connectors.jdbc.log.ddl.tokens import Kind, NotUnderstoodError, Reader, Token, outside, parts

_NO_COLUMN: Final = frozenset({
    "index", "key", "unique", "primary", "constraint", "fulltext", "spatial", "foreign", "check", "partition",
})  # fmt: skip
"""ADD or DROP with one of these words concerns no column. As they are reserved, a column of such a name is quoted."""
_NO_COLUMN_IF: Final = {"period": "for", "system": "versioning", "vector": "index"}
"""These words may be names of columns, unless the word behind the colon follows."""
_HARMLESS: Final = frozenset({
    "alter", "algorithm", "lock", "force", "engine", "comment", "auto_increment", "row_format", "key_block_size",
    "enable", "disable", "checksum", "delay_key_write", "max_rows", "min_rows", "avg_row_length", "pack_keys",
    "stats_auto_recalc", "stats_persistent", "stats_sample_pages", "compression", "encryption", "encrypted",
    "encryption_key_id", "page_compressed", "page_compression_level", "page_checksum", "transactional", "tablespace",
    "insert_method", "union", "connection", "data", "partition", "partitions", "remove", "truncate", "rebuild",
    "optimize", "analyze", "repair", "coalesce", "reorganize", "discard", "import", "exchange", "with",
    "without", "validation", "order", "sequence", "secondary_engine", "upgrade", "index",
})  # fmt: skip
"""A part that begins with one of these words changes no column."""


def actions(found: Sequence[Token], *, is_mariadb: bool) -> Iterator[Action]:
    """Yield what the parts do to columns. NotUnderstoodError: a part is not known here."""
    for part in parts(_without_partitions(found)):
        if part:
            yield from _part(part, is_mariadb=is_mariadb)


def _without_partitions(found: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens before PARTITION BY, which ends a statement."""
    depth = 0
    for place, pair in enumerate(pairwise(found)):
        depth += (pair[0] == Token(Kind.MARK, "(")) - (pair[0] == Token(Kind.MARK, ")"))
        words = [token.text.lower() for token in pair if token.kind is Kind.WORD]
        if depth == 0 and words == ["partition", "by"]:
            return found[:place]
    return found


def new_name(found: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of the table's new name, or none if it keeps its name."""
    for part in parts(found):
        reader = Reader(part)
        if reader.skip("rename") and not reader.word("column", "index", "key"):
            reader.skip("to") or reader.skip("as") or reader.skip_mark("=")
            return reader.rest
    return ()


def _part(part: Sequence[Token], *, is_mariadb: bool) -> Iterator[Action]:
    reader = Reader(part)
    if reader.skip("add"):
        yield from _added(reader, is_mariadb=is_mariadb)
    elif reader.skip("drop"):
        yield from _dropped(reader)
    elif reader.skip("change"):
        reader.skip("column")
        if_present = reader.skip("if", "exists")
        old = reader.name()
        yield Change(old, definition(reader.rest, is_mariadb=is_mariadb), _place(reader.rest), if_present)
    elif reader.skip("modify"):
        reader.skip("column")
        if_present = reader.skip("if", "exists")
        defined = definition(reader.rest, is_mariadb=is_mariadb)
        yield Change(defined.column.name, defined, _place(reader.rest), if_present)
    elif reader.skip("rename"):
        yield from _renamed(reader)
    elif reader.skip("convert", "to"):
        yield from _converted(reader)
    elif reader.skip("convert"):
        raise NotUnderstoodError("a partition becomes a table, or a table a partition")
    elif charset := table_charset(part):
        yield SetCharset(charset)
    elif not reader.word(*_HARMLESS, "default", "collate"):
        raise NotUnderstoodError(f"{' '.join(token.text for token in part[:2])!r} in ALTER TABLE")


def _added(reader: Reader, *, is_mariadb: bool) -> Iterator[Action]:
    if not reader.skip("column"):
        key = primary_key(reader.rest)
        if key:
            yield SetKey(key)
        if is_no_column(reader):
            return
    if_absent = reader.skip("if", "not", "exists")
    if reader.rest[:1] == [Token(Kind.MARK, "(")]:
        for found in parts(reader.enclosed()):
            key = primary_key(found)
            if key:
                yield SetKey(key)
            if not is_no_column(Reader(found)):
                yield Add(definition(found, is_mariadb=is_mariadb), None, if_absent)
    else:
        yield Add(definition(reader.rest, is_mariadb=is_mariadb), _place(reader.rest), if_absent)


def _dropped(reader: Reader) -> Iterator[Action]:
    if not reader.skip("column"):
        if reader.word("primary"):
            yield SetKey(())
        if is_no_column(reader):
            return
    if_present = reader.skip("if", "exists")
    yield Remove(reader.name(), if_present)


def _renamed(reader: Reader) -> Iterator[Action]:
    if reader.skip("column"):
        if_present = reader.skip("if", "exists")
        old = reader.name()
        if not reader.skip("to"):
            raise NotUnderstoodError("RENAME COLUMN without TO")
        yield RenameColumn(old, reader.name(), if_present)


def _converted(reader: Reader) -> Iterator[Action]:
    charset = charset_option(reader)
    if charset is None:
        raise NotUnderstoodError("CONVERT TO something else than a character set")
    yield SetCharset(charset, converts=True)


def is_no_column(reader: Reader) -> bool:
    """Return True if the next token begins an index, a constraint or the like, and not a column."""
    word = reader.word()
    return word in _NO_COLUMN or (word in _NO_COLUMN_IF and bool(reader.word(_NO_COLUMN_IF[word], "key", ahead=1)))


def _place(found: Sequence[Token]) -> str | None:
    """Return the column behind which a definition puts its column.

    The text is empty for the first place, and None if the definition names no place.
    """
    last = outside(found)[-2:]
    words = [token.text.lower() if token.kind is Kind.WORD else "" for token in last]
    if words[:1] == ["after"] and len(last) == 2:
        return last[1].text
    return "" if words[-1:] == ["first"] else None


def primary_key(found: Sequence[Token]) -> tuple[str, ...]:
    """Return the columns of [CONSTRAINT name] PRIMARY KEY (…), or none if the tokens are something else."""
    reader = Reader(found)
    if reader.skip("constraint") and not reader.word("primary"):
        reader.next()
    if not reader.skip("primary", "key"):
        return ()
    while reader.rest and reader.rest[0] != Token(Kind.MARK, "("):
        reader.next()
    return tuple(Reader(part).name() for part in parts(reader.enclosed()))


def table_charset(found: Sequence[Token]) -> str | None:
    """Return the last character set in a table's options, named or by its collation, or None if they name none."""
    reader = Reader(outside(found))
    charset, collation = None, None
    while not reader.is_done:
        if reader.word("partition", "select", "as"):
            break
        if named := charset_option(reader):
            charset = named
        elif reader.skip("collate"):
            reader.skip_mark("=")
            collation = charset_of_collation(reader.next().text)
        else:
            reader.next()
    return charset or collation
