"""Holds what several declarations of transforms need: common settings, and ConfigDef's validators of whole values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from connect.api.allowed import KeyValue
from connect.api.config import Config, key
from connect.api.errors import ConfigProblem
from connect.transforms.structure.field_path import path_problems

setting = partial(key, width="none")


def replace_null_setting() -> Any:
    """Return the setting `replace.null.with.default`."""
    doc = "Read the default of a field's schema in place of a null."
    return setting("replace.null.with.default", True, doc=doc, importance="medium")


def syntax_version_setting(*, ours: bool = False) -> Any:
    """Return the setting `field.syntax.version`.

    `ours` is for transforms that lack it in Kafka 4.1: REST clients then do not see it.
    """
    doc = "V1: a field of the top level by its whole name. V2: a dotted path; names with dots stand in backticks."
    return setting("field.syntax.version", "V1", doc=doc, importance="high", internal=ours)


def paths_problems(version: str, key: str, texts: Iterable[str]) -> Iterable[ConfigProblem]:
    """Yield what is wrong with the dotted paths of a setting."""
    for text in texts:
        yield from (ConfigProblem(key, problem.message) for problem in path_problems(text, version))


def list_problems(lists: Mapping[str, Sequence[str]]) -> Iterable[ConfigProblem]:
    """Yield the problems that ConfigDef's validator finds in lists that may not be empty."""
    for name, values in lists.items():
        if not values:
            yield ConfigProblem(name, f"Invalid value [] for configuration {name}: Empty list")


def text_problems(name: str, text: str) -> Iterable[ConfigProblem]:
    """Yield the problem that ConfigDef's validator finds in a text that may not be empty."""
    if not text:
        yield ConfigProblem(name, f"Invalid value  for configuration {name}: String must be non-empty")


EMPTY_LIST = "Empty list"
NULL = "entry must be non null"


class Validated(Config):
    """Declares settings whose validators ConfigDef runs on a missing key too, so that it has two messages."""

    of_null: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def validate_keys(cls, properties: Mapping[str, str | None]) -> tuple[KeyValue, ...]:
        """Return every setting with its value and its errors; nothing is raised."""
        values = super().validate_keys(properties)
        return tuple(
            replace(v, errors=(*v.errors, f"Invalid value null for configuration {v.name}: {cls.of_null[v.name]}"))
            if v.errors and v.name in cls.of_null and properties.get(v.name) is None
            else v
            for v in values
        )
