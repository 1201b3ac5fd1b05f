"""Shows dead letters to a person, as plain text and as JSON. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from connect.dlq.letter import Letter

_LINE: Final = 100


def moment(at_ms: int | None) -> str:
    """Return a time to the second, in UTC; empty for None."""
    return "" if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def first_line(text: str, most: int = _LINE) -> str:
    """Return the first line of a message, cut to `most` characters."""
    line = text.partition("\n")[0]
    return line if len(line) <= most else line[: most - 1] + "…"


def shown(data: bytes | None) -> str:
    """Return bytes as people read them: as text if they are UTF-8, else in Python's notation."""
    if data is None:
        return "null"
    try:
        return data.decode()
    except UnicodeDecodeError:
        return repr(data)


def as_json(letter: Letter, *, replayed: bool) -> Mapping[str, object]:
    """Return a letter as JSON values, for programs.

    Key and value are text if they are UTF-8, else base64 under `..._base64`.
    """
    return {
        "partition": letter.place.partition,
        "offset": letter.place.offset,
        "timestamp": moment(letter.timestamp_ms) or None,
        "connector": letter.connector,
        "origin": letter.origin,
        "stage": letter.stage,
        "class": letter.component,
        "error": letter.error,
        "replayed": replayed,
        **_bytes("key", letter.key),
        **_bytes("value", letter.value),
        "headers": {key: shown(value) for key, value in letter.headers},
    }


def _bytes(name: str, data: bytes | None) -> Mapping[str, object]:
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data or b"").decode()}


def in_full(letter: Letter, *, replayed: bool) -> str:
    """Return a letter as text: its origin, error, trace, key, value and headers."""
    facts = {
        "letter": str(letter.place),
        "time": moment(letter.timestamp_ms),
        "connector": f"{letter.connector} task {letter.context.get('task.id', '?')}",
        "from": letter.origin,
        "stage": f"{letter.stage} by {letter.component}",
        "error": letter.error,
        "replayed": "yes" if replayed else "no",
        "source partition": letter.context.get("source.partition", ""),
        "source offset": letter.context.get("source.offset", ""),
        "key": shown(letter.key),
        "value": shown(letter.value),
        **{f"header {key}": shown(value) for key, value in letter.headers},
    }
    lines = [f"{name:<17} {text}" for name, text in facts.items() if text]
    trace = letter.context.get("exception.stacktrace", "").rstrip()
    return "\n".join([*lines, *(["", trace] if trace else [])])
