"""Limits a schema that is spelt out as a tree: a short text that names its own types again can stand for 2^100."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from connect.api.errors import SchemaError

TYPES: Final = 10_000
"""A schema may hold at most so many types; each counts as often as it is named."""
LEVELS: Final = 100
"""At most so many types may lie inside one another."""


class SchemaSize:
    """Counts the types of one schema while it is read."""

    def __init__(self) -> None:
        self._types = 0
        self._levels = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a type, which lies inside those that are being read. SchemaError: these are too many."""
        self._types += 1
        self._levels += 1
        if self._types > TYPES or self._levels > LEVELS:
            raise SchemaError(
                f"The schema holds more than {TYPES} types, each counted as often as it is named, or nests them more "
                f"than {LEVELS} deep.",
                fix="Split it, or refer to each type fewer times.",
            )
        yield
        self._levels -= 1


@contextmanager
def well_formed(what: str) -> Iterator[None]:
    """Turn what reading a malformed schema raises into a SchemaError: it is another party's text."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise SchemaError(f"{what} is malformed ({type(error).__name__}: {str(error)[:200]}).") from error
