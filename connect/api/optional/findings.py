"""What a connector finds out about its own configuration on its user's data, for `connect poc` to show.

A connector that can say which right it lacks, or what its cursor cannot see, offers `ExaminingConnector` beside
`Connector`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


class Aspect(StrEnum):
    """The check of an evaluation that a finding belongs to."""

    REACH = "reach"
    """The finding is about rights, settings of the server, or clocks."""
    CURSOR = "cursor"
    """The finding is about rows that a source's cursor gives too late, twice or never."""


class Weight(StrEnum):
    """What a finding does to its check."""

    TOLD = "told"
    """It is shown: it follows from the configuration, and is as its user wanted it."""
    WARNS = "warns"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Finding:
    """`text`: a sentence that names the table, column or object, and holds no value of a row and no secret.

    `remedy`: what mends it and can be pasted as it is, such as a GRANT with its names quoted; empty: nothing can.
    """

    aspect: Aspect
    text: str
    remedy: str = ""
    weight: Weight = Weight.WARNS


@runtime_checkable
class ExaminingConnector(Protocol):
    """A connector that knows more about its user's data than its tasks have to. Optional."""

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield what there is to say, found by reading alone, each statement bounded as the configuration bounds it.

        Called in a process of its own, also where `check` fails. An error ends it: what was found before counts.
        """
