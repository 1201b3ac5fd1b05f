"""Hold what is stored beside rows: entries that a source task remembers in Kafka, and the number of a stored form.

What Connect keeps in Kafka and in targets outlives the version that wrote it. A form without a number is the first. A
version that changes a form so that older ones would misread it gives it the next number, and reads the older ones on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from connect.api.errors import ConnectError

FORMAT_MEMBER: Final = "format_version"
"""The member of a stored JSON object that has the number of its form."""
FIRST_FORMAT: Final = 1


class StateEntry(NamedTuple):
    """A key and what is remembered of it; value None: it is forgotten."""

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
    """Says that what is stored has a form of a newer version: whoever reads it must write nothing over it."""


def require_known(told: Mapping[str, object], what: str, known: int = FIRST_FORMAT) -> None:
    """Raise NewerFormatError if `told`, which is stored, has a newer form than `known`. `what` names it, for people."""
    number = told.get(FORMAT_MEMBER, FIRST_FORMAT)
    if isinstance(number, int) and number > known:
        raise NewerFormatError(
            f"{what} has {FORMAT_MEMBER}={number}, and this version knows {FORMAT_MEMBER}={known} and older: a newer "
            "version wrote it. Nothing is written over it.",
            fix="Run the newer version again, or put back what was stored before the upgrade.",
        )
