"""Tells which connector here runs a connector class of Java's, or what to use instead, from java_connectors.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final, Literal

from connect.lib.nearest import nearest

Kind = Literal["runs as", "use instead", "not here"]
_FILE: Final = "java_connectors.toml"
_ONE_LETTER: Final = 0.92
"""Simple names that are at least so alike differ by a letter or two. Names of different connectors are less alike."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds the answer for a class. `told` is the connector that runs it, what to use instead, or a sentence."""

    kind: Kind
    told: str

    def sentence(self, name: str) -> str:
        """Return the answer for people who named the class."""
        match self.kind:
            case "runs as":
                return f"{name} runs as the {self.told}, which is not installed here."
            case "use instead":
                return f"{name} does not run here. Use instead: {self.told}"
        return f"{name} is not here. {self.told}"


@dataclass(frozen=True, slots=True)
class JavaConnectors:
    """Holds the answers for whole class names, and for beginnings of class names."""

    classes: Mapping[str, Answer]
    beginnings: Mapping[str, Answer]


@cache
def java_connectors() -> JavaConnectors:
    """Return the answers of the file."""
    groups = tomllib.loads((resources.files(__package__) / _FILE).read_text())["group"]
    answers = [(group, Answer(group["answer"], group["told"])) for group in groups]
    return JavaConnectors(
        MappingProxyType({name: answer for group, answer in answers for name in group["classes"]}),
        MappingProxyType({text: answer for group, answer in answers for text in group.get("beginnings", ())}),
    )


def advice(name: str, installed: Sequence[str]) -> str | None:
    """Return what to say first about a connector class that is not installed; None if nothing is known of it.

    A class that is known is answered from the file, one that is like a known or an `installed` one with that name, and
    any other Java class by the package that it is in.
    """
    known = java_connectors()
    if name in known.classes:
        return known.classes[name].sentence(name)
    meant = _meant(name, (*installed, *known.classes))
    if meant is not None:
        also = "" if meant in installed else f" {known.classes[meant].sentence(meant)}"
        return f"The cluster has no connector {name}. Is {meant} meant?{also}"
    return next((a.sentence(name) for text, a in known.beginnings.items() if name.startswith(text)), None)


def _meant(name: str, classes: Sequence[str]) -> str | None:
    """Return the class whose simple name is this one but for a letter or two; of several the one most like `name`."""
    near = nearest(_simple(name), map(_simple, classes), _ONE_LETTER)
    same = [one for one in classes if near is not None and _simple(one) == near]
    return nearest(name, same) or next(iter(same), None)


def _simple(name: str) -> str:
    return name.rpartition(".")[2]
