"""Defines what is stored beside rows: entries that a source task remembers in Kafka, and numbers of stored formats.

What Connect stores in Kafka and in targets outlives the version of Connect that wrote it. A stored object without a
number has the first format. A version that changes a format so that older versions would misread it gives it the next
number, and still reads the older formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from connect.api.errors import ConnectError

FORMAT_MEMBER: Final = "format_version"
"""This member of a stored JSON object holds the number of its format."""
FIRST_FORMAT: Final = 1


class StateEntry(NamedTuple):
    """Holds a key and what is remembered under it. If `value` is None, the key is forgotten."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class StateEntries:
    """Holds entries that become durable together with the rows and the position of their batch, or not at all.

    They are written as they are: no transform, no converter. Of several entries of one key the last one counts.
    """

    topic: str
    partition: int
    entries: Sequence[StateEntry]


class NewerFormatError(ConnectError):
    """Says that a stored object has the format of a newer version. Whoever reads it must not overwrite it."""


def require_known(told: Mapping[str, object], what: str, known: int = FIRST_FORMAT) -> None:
    """Raise NewerFormatError if the stored object `told` has a newer format than `known`. `what` names the object for
    people.
    """
    number = told.get(FORMAT_MEMBER, FIRST_FORMAT)
    if isinstance(number, int) and number > known:
        raise NewerFormatError(
            f"{what} has {FORMAT_MEMBER}={number}, and this version knows {FORMAT_MEMBER}={known} and older: a newer "
            "version wrote it. Nothing is written over it.",
            fix="Run the newer version again, or put back what was stored before the upgrade.",
        )
