"""Masks secrets, and puts the stored secrets back where a client sends a mask. Pure.

The secrets in a setting's text are masked one by one, so that a person still sees where a connector goes: the password
of a URL's user, parameters such as `password` or `token`, members of such names in JSON, headers (see `secret_parts`).
In other texts, secrets that are known are masked (see `known_secrets`), and those in addresses.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from connect.lib.known_secrets import KnownSecrets, hidden_in
from connect.lib.secret_parts import HIDDEN, SecretPart, is_suspect, secret_parts, url_parts

__all__ = [
    "HIDDEN",
    "Credentials",
    "KnownSecrets",
    "hidden_in",
    "is_masked",
    "is_private_text",
    "is_suspect",
    "key_lines",
    "masked",
    "masked_setting",
    "restored",
    "secret_parts",
    "secrets_in",
]
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")
_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----([^-]*)")
_KEY_LINE: Final = re.compile(r"(?:\\[nr])?([A-Za-z0-9+/]{16,}={0,2})")
KEY_LINES_MAX: Final = 200


def is_private_text(value: str) -> bool:
    """Tell if a value is secret whatever its key is, because it has a key or certificate in PEM form."""
    return _PEM.search(value) is not None


def key_lines(value: str) -> list[str]:
    """Return the lines of the private keys in a text, as an error may quote a part of a key, or change its spaces."""
    lines = (line[1] for key in _KEY.finditer(value) for line in _KEY_LINE.finditer(key[1]))
    return list(islice(lines, KEY_LINES_MAX))


def masked(text: str) -> str:
    """Return a text for people, with the secrets of its addresses masked."""
    return _without(text, url_parts(text))


def masked_setting(text: str) -> str:
    """Return the text of a setting with its secrets masked."""
    return _without(text, secret_parts(text))


def is_masked(text: str) -> bool:
    """Tell if a secret of a setting's text is a mask, which stands for a stored value."""
    return HIDDEN in text and any(text[part.start : part.end] == HIDDEN for part in secret_parts(text))


def restored(text: str, stored: str) -> str:
    """Return the text with its masks replaced by the secrets of the same names in the stored text, if there are
    such.
    """
    if HIDDEN not in text:
        return text
    known: dict[str, list[str]] = {}
    for part in reversed(secret_parts(stored)):
        known.setdefault(part.name, []).append(stored[part.start : part.end])
    made, end = [], 0
    for part in secret_parts(text):
        values = known.get(part.name, [])
        value = values.pop() if values else text[part.start : part.end]
        given = text[part.start : part.end]
        made += [text[end : part.start], value if given == HIDDEN else given]
        end = part.end
    return "".join([*made, text[end:]])


def secrets_in(text: str) -> list[str]:
    """Return the secrets that a setting's text holds."""
    return [text[part.start : part.end] for part in secret_parts(text)]


class Credentials:
    """Marks the type of a setting whose text may hold URLs with credentials; see `connect.api.url`."""


def _without(text: str, parts: list[SecretPart]) -> str:
    made, end = [], 0
    for part in parts:
        made += [text[end : part.start], HIDDEN]
        end = part.end
    return "".join([*made, text[end:]])
