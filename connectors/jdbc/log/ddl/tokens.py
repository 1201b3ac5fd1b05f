"""Splits SQL of MariaDB and MySQL into words, names, literals and marks. Pure.

Source: MariaDB's and MySQL's documentation, "Comment syntax", "Identifier names", "String literals", "SQL modes".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from connectors.jdbc.settings.table_choice import TableName

_EXECUTED_BELOW: Final = 50700
"""Every server that is read here runs comments with a version below this one; for others it depends on the server."""
_TOKEN = re.compile(
    r"""
    (?P<blank> \s+ | \#[^\n]* | --(?=\s|$)[^\n]* | /\*(?!M?!).*?\*/ )
  | (?P<opened> /\*M?!(?P<version>\d*) )
  | (?P<closed> \*/ )
  | `(?P<name> (?:[^`]|``)* )`
  | '(?P<single> (?:[^'\\]|''|\\.)* )'
  | "(?P<double> (?:[^"\\]|""|\\.)* )"
  | (?P<word> [\w$\u0080-\uffff]+ )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}


class NotUnderstoodError(ValueError):
    """Says that a statement holds something that is not known here."""


class Kind(Enum):
    """Tells what kind of token a token is."""

    WORD = auto()
    NAME = auto()
    TEXT = auto()
    MARK = auto()


class Token(NamedTuple):
    """Holds a part of a statement. A name or text has no quotes; a word has the case it was written in."""

    kind: Kind
    text: str

    @property
    def is_name(self) -> bool:
        """Return True if the token may be the name of a table or column."""
        return self.kind in {Kind.WORD, Kind.NAME}


@dataclass(frozen=True, slots=True)
class Statement:
    """Holds a statement of a binary log. `schema` is the database in which it was run.

    `quotes_names` is True under sql_mode ANSI_QUOTES, and `escapes` without NO_BACKSLASH_ESCAPES. `folds_case` is True
    under lower_case_table_names, and `is_mariadb` for MariaDB, not MySQL.
    """

    text: str
    schema: str = ""
    quotes_names: bool = False
    escapes: bool = True
    folds_case: bool = False
    is_mariadb: bool = True

    def folded(self, name: str) -> str:
        """Return the name of a database or table as the server compares it."""
        return name.lower() if self.folds_case else name

    def table(self, reader: Reader) -> TableName:
        """Take the name of a table. NotUnderstoodError: something else is next."""
        schema, name = self.schema, reader.name()
        if reader.skip_mark("."):
            schema, name = name, reader.name()
        return TableName(self.folded(schema), self.folded(name))


class PlacedToken(NamedTuple):
    """Holds a token and where it stands in its statement's text."""

    token: Token
    begin: int
    end: int


def tokens(statement: Statement) -> list[Token]:
    """Return the tokens of a statement, without comments.

    NotUnderstoodError: it depends on the server where a text ends, or if a comment is run.
    """
    return [found.token for found in _tokens(statement, is_exact=True)]


def likely_tokens(statement: Statement) -> list[Token]:
    """Return the tokens of a statement that `tokens` does not understand, good enough for the names at its head."""
    return [found.token for found in _tokens(statement, is_exact=False)]


def placed_tokens(statement: Statement) -> list[PlacedToken]:
    """Return the likely tokens of a statement with their places in its text."""
    return list(_tokens(statement, is_exact=False))


def _tokens(statement: Statement, *, is_exact: bool) -> Iterator[PlacedToken]:
    for found in _TOKEN.finditer(statement.text):
        match found.lastgroup:
            case "name":
                yield PlacedToken(Token(Kind.NAME, found["name"].replace("``", "`")), *found.span())
            case "single" | "double" as quoted:
                mark = "'" if quoted == "single" else '"'
                text = found[quoted]
                if quoted == "double" and statement.quotes_names:
                    yield PlacedToken(Token(Kind.NAME, text.replace('""', '"')), *found.span())
                elif is_exact and "\\" in text and not statement.escapes:
                    raise NotUnderstoodError("a backslash in a text with sql_mode=NO_BACKSLASH_ESCAPES")
                else:
                    yield PlacedToken(Token(Kind.TEXT, _unescaped(text, mark)), *found.span())
            case "word":
                yield PlacedToken(Token(Kind.WORD, found["word"]), *found.span())
            case "mark":
                yield PlacedToken(Token(Kind.MARK, found["mark"]), *found.span())
            case "opened" if is_exact and int(found["version"] or 0) >= _EXECUTED_BELOW:
                raise NotUnderstoodError(f"a comment that servers from version {found['version']} on run")


def _unescaped(text: str, mark: str) -> str:
    text = text.replace(mark * 2, mark)
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)


class Reader:
    """Goes through the tokens of a statement."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = found
        self._at = 0

    @property
    def is_done(self) -> bool:
        """Return True if no token is left."""
        return self._at >= len(self._tokens)

    @property
    def rest(self) -> Sequence[Token]:
        """Return the tokens that are left."""
        return self._tokens[self._at :]

    def word(self, *wanted: str, ahead: int = 0) -> str:
        """Return the word `ahead` tokens ahead, in lower case, or an empty text if it is no word, or none of `wanted`
        if these are given.
        """
        place = self._at + ahead
        if place >= len(self._tokens) or self._tokens[place].kind is not Kind.WORD:
            return ""
        found = self._tokens[place].text.lower()
        return found if not wanted or found in wanted else ""

    def skip(self, *words: str) -> bool:
        """Pass these words if all of them are next; return True if they were."""
        if any(not self.word(word, ahead=place) for place, word in enumerate(words)):
            return False
        self._at += len(words)
        return True

    def skip_mark(self, mark: str) -> bool:
        """Pass a mark if it is next; return True if it was."""
        if self.is_done or self._tokens[self._at] != Token(Kind.MARK, mark):
            return False
        self._at += 1
        return True

    def next(self) -> Token:
        """Take a token. NotUnderstoodError: the statement ends here."""
        if self.is_done:
            raise NotUnderstoodError("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def name(self) -> str:
        """Take a name. NotUnderstoodError: something else is next."""
        token = self.next()
        if not token.is_name:
            raise NotUnderstoodError(f"{token.text!r} where a name should be")
        return token.text

    def enclosed(self) -> Sequence[Token]:
        """Take the tokens between the next parenthesis and its counterpart. NotUnderstoodError: there is none."""
        if not self.skip_mark("("):
            raise NotUnderstoodError("no parenthesis where one should be")
        begin, depth = self._at, 1
        while depth:
            token = self.next()
            depth += (token == _OPEN) - (token == _CLOSE)
        return self._tokens[begin : self._at - 1]


_OPEN, _CLOSE = Token(Kind.MARK, "("), Token(Kind.MARK, ")")


def parts(found: Sequence[Token]) -> list[Sequence[Token]]:
    """Return the groups of tokens between the commas; commas within parentheses do not count."""
    made: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth += (token == _OPEN) - (token == _CLOSE)
        if depth == 0 and token == Token(Kind.MARK, ","):
            made.append([])
        else:
            made[-1].append(token)
    return list(made)


def outside(found: Sequence[Token]) -> list[Token]:
    """Return the tokens that are not within parentheses."""
    made, depth = [], 0
    for token in found:
        depth += token == _OPEN
        if depth == 0:
            made.append(token)
        depth -= token == _CLOSE
    return made
