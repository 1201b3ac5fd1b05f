"""Reads signals, which ask for tables to be read again, by Debezium's names. Pure.

Source: Debezium 3's documentation, "Sending signals to a Debezium connector".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from connect.api.errors import SchemaError

EXECUTE, STOP, PAUSE, RESUME, LOG = "execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot", "log"
_WATERMARKS: Final = frozenset({"snapshot-window-open", "snapshot-window-close"})


@dataclass(frozen=True, slots=True)
class Signal:
    """Holds one signal.

    `at` is the place where it was found, so that it counts once, or is empty if the signal comes only once anyway.
    """

    id: str
    type: str
    data: Mapping[str, Any] = field(default_factory=dict)
    at: str = ""

    @property
    def tables(self) -> Sequence[str]:
        """Return the regular expressions of the tables that it names."""
        return [str(pattern) for pattern in self.data.get("data-collections") or ()]

    def condition(self, table: str) -> str:
        """Return the SQL condition that rows of a table must meet, or an empty text if there is none."""
        for one in self.data.get("additional-conditions") or ():
            if str(one.get("data-collection")) == table:
                return str(one.get("filter") or "")
        return str(self.data.get("additional-condition") or "")


class Found(NamedTuple):
    """Holds the signals that came since the last look.

    `topic_offset` is where their topic is to be read on, or None if there is no such topic.
    """

    signals: Sequence[Signal] = ()
    topic_offset: int | None = None


FindsSignals = Callable[[int | None], Found]
"""Returns the signals that came since the last call in other ways than by the log; it takes the topic's next offset."""


def none_found(topic_offset: int | None) -> Found:
    """Return no signals."""
    del topic_offset
    return Found()


def is_watermark(type_: str) -> bool:
    """Return True for the types of rows that Debezium writes into the signal table to mark a place in the log."""
    return type_ in _WATERMARKS


def read_signal(id_: object, type_: object, data: object, at: str = "") -> Signal:
    """Return the signal that a row of texts holds. SchemaError: the row is no signal."""
    if not isinstance(type_, str) or type_ not in {EXECUTE, STOP, PAUSE, RESUME, LOG}:
        raise SchemaError(
            f"A signal has the type {type_!r}, which is not known here.",
            fix=f"Use {EXECUTE}, {STOP}, {PAUSE}, {RESUME} or {LOG}.",
        )
    try:
        found = json.loads(str(data)) if data else {}
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The data of signal {id_!r} are no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise SchemaError(f"The data of signal {id_!r} are JSON of type {type(found).__name__}, and no object.")
    _require(found, "data-collections", f"signal {id_!r}")
    conditions = found.get("additional-conditions") or []
    if not isinstance(conditions, list) or not all(isinstance(one, dict) for one in conditions):
        raise SchemaError(f"additional-conditions of signal {id_!r} must be a list of objects.")
    if type_ == EXECUTE and not found.get("data-collections"):
        raise SchemaError(f"Signal {id_!r} names no tables.", fix="List them in data-collections.")
    return Signal(str(id_), type_, found, at)


def read_text(text: str) -> Signal:
    """Return the signal of a JSON object with the members id, type and data. SchemaError: the text is no signal."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The signal is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise SchemaError(f"The signal is JSON of type {type(found).__name__}, and no object.")
    data = found.get("data")
    return read_signal(found.get("id"), found.get("type"), data if isinstance(data, str) else json.dumps(data or {}))


def _require(found: Mapping[str, Any], name: str, of: str) -> None:
    listed = found.get(name) or []
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise SchemaError(f"{name} of {of} must be a list of texts, and is {type(listed).__name__}.")
