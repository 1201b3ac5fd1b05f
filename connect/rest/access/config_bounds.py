"""Tells limits of the size of configurations. Pure.

All work on a configuration takes time linear in its size; these limits are far above the sizes that people write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.rest.errors.http_error import HttpError

KEYS_MAX: Final = 5000
KEY_CHARS_MAX: Final = 1000
VALUE_CHARS_MAX: Final = 256 * 1024
CHARS_MAX: Final = 256 * 1024
"""All keys and values of a configuration together may have this many characters."""
ALIASES_MAX: Final = 200
NAME_CHARS_MAX: Final = 500
"""A longer name would not fit into a path if each of its characters is encoded."""
_STEPS: Final = frozenset({".", ".."})
_SHOWN_CHARS: Final = 60


def check_config(config: Mapping[str, str | None]) -> None:
    """Raise HttpError 400 if it has too many keys, or one of them, its value or all of it is too long."""
    if len(config) > KEYS_MAX:
        raise HttpError(400, f"The configuration has {len(config)} keys. At most {KEYS_MAX} are taken.")
    for key in ("transforms", "predicates", "topic.creation.groups"):
        if (aliases := (config.get(key) or "").count(",") + 1) > ALIASES_MAX:
            raise HttpError(400, f"{key} lists {aliases} aliases. At most {ALIASES_MAX} are taken.")
    for key, value in config.items():
        if len(key) > KEY_CHARS_MAX:
            text = f"The key {_shown(key)} has {len(key)} characters. At most {KEY_CHARS_MAX} are taken."
            raise HttpError(400, text)
        if value is not None and len(value) > VALUE_CHARS_MAX:
            text = f"The value of {_shown(key)} has {len(value)} characters. At most {VALUE_CHARS_MAX} are taken."
            raise HttpError(400, text)
    if (count := sum(len(key) + len(value or "") for key, value in config.items())) > CHARS_MAX:
        raise HttpError(400, f"The configuration has {count} characters. At most {CHARS_MAX} are taken.")


def check_new_name(name: str) -> None:
    """Raise HttpError 400 if no path could name a connector of this name."""
    if len(name) > NAME_CHARS_MAX:
        text = f"The name {_shown(name)} has {len(name)} characters. At most {NAME_CHARS_MAX} are taken."
        raise HttpError(400, text)
    if name in _STEPS:
        text = (
            f"A connector cannot be named {name!r}: in an address that is a step between folders, which clients take "
            "out, so that nobody could pause or delete it. Choose another name."
        )
        raise HttpError(400, text)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
