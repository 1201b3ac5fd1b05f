"""Checks offsets that a person gives to a source, and names each member that the source cannot use. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.api.records import SourcePosition

Members = Mapping[str, object]
PARTITION: Final = "partition"
"""A problem under this name is one of the source partition itself."""
OFFSET: Final = "offset"
"""A problem under this name is one of the whole offset."""
_SHOWN_CHARS: Final = 200


def require_usable(positions: Iterable[SourcePosition], broken: Callable[[Members, Members], Members]) -> None:
    """Raise ConfigError with all problems of these positions.

    `broken` takes a partition and its offset, and returns for each member what is wrong with it, as the end of a
    sentence; an empty text: nothing is wrong. A position with the offset None forgets its partition, and is always
    allowed.
    """
    problems = [
        _problem(position, name, why)
        for position in positions
        if position.offset is not None
        for name, why in broken(position.partition, position.offset).items()
        if why
    ]
    if problems:
        raise ConfigError(problems)


def whole_number(value: object, least: int = 0, most: int = 2**63 - 1) -> str:
    """Return why a value is no whole number from `least` to `most`, as the end of a sentence; the text is empty if it
    is one.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        return f"has a value of type {type(value).__name__}: it must be a whole number"
    return "" if least <= value <= most else f"has a value outside {least} to {most}"


def _problem(position: SourcePosition, name: str, why: object) -> ConfigProblem:
    shown = json.dumps(dict(position.partition), ensure_ascii=False)[:_SHOWN_CHARS]
    if name == PARTITION:
        return ConfigProblem(name, f"{name} {shown} {why}.")
    key = name if name == OFFSET else f"{OFFSET}.{name}"
    return ConfigProblem(key, f"{key} of partition {shown} {why}.")
