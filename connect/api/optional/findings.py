"""Defines what a connector finds out about its configuration by looking at its user's data; `connect poc` shows it.

A connector that can say which right it lacks, or which rows its cursor cannot see, offers `ExaminingConnector` beside
`Connector`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


class Aspect(StrEnum):
    """Names the check of an evaluation to which a finding belongs."""

    REACH = "reach"
    """The finding is about rights, settings of the server, or clocks."""
    CURSOR = "cursor"
    """The finding is about rows that a source's cursor gives too late, twice or never."""


class Weight(StrEnum):
    """Tells what a finding does to its check: nothing, a warning, or failure."""

    TOLD = "told"
    """The finding is shown only: it follows from the configuration, and is what the user wanted."""
    WARNS = "warns"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Finding:
    """Holds one thing that a connector has found.

    `text` is a sentence that names the table, column or object, without values of rows and without secrets. `remedy` is
    what mends it, and can be pasted as it is, such as a GRANT with quoted names; it is empty if there is no such
    remedy.
    """

    aspect: Aspect
    text: str
    remedy: str = ""
    weight: Weight = Weight.WARNS


@runtime_checkable
class ExaminingConnector(Protocol):
    """A connector that knows more about its user's data than its tasks have to may offer this."""

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield the findings. It only reads, and keeps to the configuration's limits for statements.

        It is called in a process of its own, also if `check` has failed. If it raises an error, what was found before
        counts.
        """
