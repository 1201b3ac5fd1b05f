"""Tells what to use instead of Java's transforms and converters that are not here: the reader of java_parts.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

_FILE: Final = "java_parts.toml"


@cache
def java_parts() -> Mapping[str, str]:
    """Return what to use instead, by class name."""
    groups = tomllib.loads((resources.files(__package__) / _FILE).read_text())["group"]
    return MappingProxyType({name: group["told"] for group in groups for name in group["classes"]})


def not_found(name: str, key: str) -> str:
    """Return the message for a class that no plug-in has, with what to use instead where that is known."""
    told = java_parts().get(name)
    instead = "" if told is None else f" Use instead: {told}"
    return f"Invalid value {name} for configuration {key}: Class {name} could not be found.{instead}"
