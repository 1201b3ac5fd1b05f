"""Parses names of fields and dotted paths as `a.b` (KIP-821); backticks quote names that have dots. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from connect.api.errors import ConfigError, ConfigProblem

_TICK, _DOT, _ESCAPE = "`", ".", "\\"


def path_problems(text: str, version: str) -> Iterable[ConfigProblem]:
    """Yield what is wrong with a path."""
    try:
        parse_path(text, version)
    except ConfigError as error:
        return error.problems
    return ()


def parse_path(text: str, version: str) -> tuple[str, ...]:
    """Return the names on the way to a field; V1 takes the whole text as one name. ConfigError: a backtick is not
    closed.
    """
    if version.upper() == "V1":
        return (text,)
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == _TICK:
            name, at = _ticked(text, at)
        else:
            end = text.find(_DOT, at)
            end = len(text) if end < 0 else end
            name, at = text[at:end], end + 1
        steps.append(name)
    return (*steps, "") if text.endswith(_DOT) else tuple(steps)


def _ticked(text: str, opened: int) -> tuple[str, int]:
    """Return a name in backticks and the place behind the dot that follows it.

    The name ends at the first backtick that a dot or the text's end follows.
    """
    name = ""
    start = opened + 1
    at = text.find(_TICK, start)
    while at >= 0:
        escaped = text[at - 1] == _ESCAPE
        last = at == len(text) - 1
        if last and not escaped:
            return name + text[start:at], at + 1
        if not last and text[at + 1] == _DOT:
            if not escaped:
                return name + text[start:at], at + 2
            name += text[start : at - 1] + _TICK
            start = at + 1
        at = text.find(_TICK, at + 1)
    raise ConfigError(
        f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at position {opened} "
        "to escape it",
        key="field",
    )
