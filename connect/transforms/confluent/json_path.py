"""Asks if rows match a JSONPath, read as Jayway's library reads it for Confluent's transforms. Pure.

The paths are those of python-jsonpath but for two things: a filter behind an object tests the object itself, and
regular expressions are those of Java and have a time limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from jsonpath import JSONPathEnvironment, JSONPathMatch
from jsonpath.exceptions import JSONPathError
from jsonpath.selectors import Filter, FilterContext, IndexSelector, NameSelector

from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.javatext.timed_pattern import TimedPattern

_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


class JsonPathError(ValueError):
    """Says that a text is no JSONPath."""


class MissingError(LookupError):
    """Says that a row lacks a field that the path names before its first filter."""


class _Environment(JSONPathEnvironment):
    """Reads paths, and compares values as Jayway does."""

    def setup_function_extensions(self) -> None:
        """Offer no functions: those of the standard match without a time limit, and Jayway has others."""

    def compare(self, left: object, operator: str, right: object) -> bool:
        """Tell if a comparison in a filter holds."""
        if operator == "=~":
            texts = _single(left)
            return isinstance(texts, str) and isinstance(right, re.Pattern) and bool(_timed(right).fullmatch(texts))
        return super().compare(left, operator, right)


class _OfItself(Filter):
    """Selects an object itself by a filter, which selects its members in the standard."""

    def resolve(self, node: JSONPathMatch) -> Iterable[JSONPathMatch]:
        """Yield the nodes that meet the filter."""
        if not isinstance(node.obj, Mapping):
            yield from super().resolve(node)
            return
        if self.expression.evaluate(FilterContext(env=self.env, current=node.obj, root=node.root)):
            yield node


class JsonPath:
    """Asks rows by one path."""

    def __init__(self, text: str) -> None:
        """Read the path. JsonPathError: it is none."""
        environment = _Environment()
        try:
            # Jayway lets a dot stand before brackets.
            path = environment.compile(re.sub(r"(?<!\.)\.\[", "[", text.strip()))
        except (JSONPathError, re.error, RecursionError) as error:
            raise JsonPathError(str(error)) from None
        if not hasattr(path, "segments") or not text.strip().startswith("$"):
            raise JsonPathError("it is no path that begins with $")
        for segment in path.segments:
            segment.selectors = tuple(map(_jayways, segment.selectors))
        self._path = path
        self._prefix: list[str | int] = []
        for segment in path.segments:
            one = segment.selectors[0] if len(segment.selectors) == 1 else None
            if isinstance(one, NameSelector):
                self._prefix.append(one.name)
            elif isinstance(one, IndexSelector):
                self._prefix.append(one.index)
            else:
                break

    def matches(self, row: Any) -> bool:
        """Tell if the path finds anything in a row. MissingError: it lacks what the path names before a filter."""
        here = row
        for step in self._prefix:
            if isinstance(here, Mapping) and step in here:
                here = here[step]
            elif isinstance(here, Sequence) and isinstance(step, int) and not isinstance(here, str | bytes):
                here = here[step] if -len(here) <= step < len(here) else None
            else:
                here = None
            if here is None:
                raise MissingError(str(step))
        if here is None:
            raise MissingError("$")
        return next(iter(self._path.finditer(row)), None) is not None


def _jayways(selector: Any) -> Any:
    if not isinstance(selector, Filter):
        return selector
    for expression in _patterns(selector.expression):
        try:
            _timed(expression)
        except JavaPatternError as error:
            raise JsonPathError(str(error)) from None
    return _OfItself(env=selector.env, token=selector.token, expression=selector.expression)


def _patterns(expression: Any) -> Iterable[re.Pattern[str]]:
    value = getattr(expression, "value", None)
    if isinstance(value, re.Pattern):
        yield value
    for child in expression.children():
        yield from _patterns(child)


def _single(value: object) -> object:
    """Return the one value of a list of nodes."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


@lru_cache(64)
def _timed(pattern: re.Pattern[str]) -> TimedPattern:
    flags = "".join(letter for letter, flag in _FLAGS.items() if pattern.flags & flag)
    return compile_pattern(f"(?{flags}){pattern.pattern}" if flags else pattern.pattern)
