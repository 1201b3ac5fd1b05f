"""Which texts are secret, by where they stand, and what is shown in their place. Pure.

A URL has secret parts: the password of its user, and parameters such as `password` or `token`. They are masked one by
one, so that a person still sees where a connector goes, and a mask that comes back is replaced by what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

HIDDEN: Final = "[hidden]"
"""What a secret looks like wherever a person could see it (Kafka's Password.HIDDEN)."""
HIDDEN_LENGTH_MIN: Final = 4
"""Shorter secrets are not hidden in texts: they would be found in half of all words."""
_WORD_LENGTH_MAX: Final = 7
"""Secrets up to this length, and those of letters alone, are hidden as whole words: `test` is no part of `latest`."""

_SUSPECT: Final = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|user\.?info|jaas|authoriz|cookie|signature|connection\.?string"
    r"|(?:private|api|access|account|storage|signing|encryption)[._-]?key"
    r"|(?:^|[._-])(?:pass|auth|sas|sig|pat|pem)(?:$|[._-])",
    re.IGNORECASE,
)
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")
_PLACEHOLDER: Final = re.compile(r"\$\{[^}]*\}")
_REFERENCE: Final = re.compile(r"\s*(?:\$\{[^}]*\}\s*)+")
_URL: Final = re.compile(r"(?:jdbc:|[a-zA-Z][a-zA-Z0-9+.\-]*://)\S*")
_WHOLE_URL: Final = re.compile(r"\s*(?:jdbc:|[a-zA-Z][a-zA-Z0-9+.\-]*://)")
# What a port follows is a host, and what stands behind a host is no password.
_USER_INFO: Final = re.compile(r"://([^:/@?#;,()\s]*)(?::(?!\d+(?:[/?#;,]|$))(.*))?@", re.DOTALL)
_ORACLE_USER: Final = re.compile(r"jdbc:oracle:\w+:[^/@]*/([^@]*)@")
_PARAMETER: Final = re.compile(r"([?&;(,])\s*([\w.\-]+)\s*=")
_ENDS: Final = {"(": re.compile(r"[,)]"), ",": re.compile(r"[,)]")}
_END: Final = re.compile(r"&|;(?=\s*[\w.\-]+\s*=)")
_NEXT_URL: Final = re.compile(r",\s*(?=[a-zA-Z][a-zA-Z0-9+.\-]*://)")


@dataclass(frozen=True, slots=True)
class SecretPart:
    """A secret inside a text: what it is called there, and where its characters are."""

    name: str
    start: int
    end: int


def is_suspect(key: str) -> bool:
    """Whether a key that nobody declares sounds as if its value were secret."""
    return _SUSPECT.search(key) is not None


def is_private_text(value: str) -> bool:
    """Whether a value is secret whatever its key is: a key or certificate in PEM form."""
    return _PEM.search(value) is not None


def secret_parts(text: str) -> list[SecretPart]:
    """The secrets of the URLs in a text, in order. A part that only refers to a config provider is none."""
    # Placeholders have colons of their own.
    flat = _PLACEHOLDER.sub(lambda found: "_" * len(found[0]), text)
    spans = _listed(flat) if _WHOLE_URL.match(flat) else [found.span() for found in _URL.finditer(flat)]
    found = [part for start, end in spans for part in _parts_of(flat[start:end], start)]
    return [part for part in found if not _REFERENCE.fullmatch(text, part.start, part.end) and part.start < part.end]


def masked(text: str) -> str:
    """The text with the secrets of its URLs masked."""
    for part in reversed(secret_parts(text)):
        text = text[: part.start] + HIDDEN + text[part.end :]
    return text


def is_masked(text: str) -> bool:
    """Whether a secret of a URL in the text is a mask, which stands for a stored value."""
    return any(text[part.start : part.end] == HIDDEN for part in secret_parts(text))


def restored(text: str, stored: str) -> str:
    """The text with masks in its URLs replaced by the stored text's secrets of the same names, as far as there are."""
    known: dict[str, list[str]] = {}
    for part in secret_parts(stored):
        known.setdefault(part.name, []).append(stored[part.start : part.end])
    made, end = [], 0
    for part in secret_parts(text):
        values = known.get(part.name, [])
        value = values.pop(0) if values else text[part.start : part.end]
        given = text[part.start : part.end]
        made += [text[end : part.start], value if given == HIDDEN else given]
        end = part.end
    return "".join([*made, text[end:]])


def secrets_in(text: str) -> list[str]:
    """The secrets of the URLs in a text themselves."""
    return [text[part.start : part.end] for part in secret_parts(text)]


def hidden_in(text: str, secrets: Iterable[str]) -> str:
    """A text for people to read, without these secrets. Short ones count where they are whole words, or not at all."""
    for secret in sorted({s for s in secrets if len(s) >= HIDDEN_LENGTH_MIN}, key=len, reverse=True):
        if secret not in text:
            continue
        if len(secret) > _WORD_LENGTH_MAX and not secret.isalpha():
            text = text.replace(secret, HIDDEN)
        else:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: HIDDEN, text)
    return text


class Credentials:
    """Marks the type of a setting whose text may hold URLs with credentials; see `connect.api.url`."""


def _listed(text: str) -> list[tuple[int, int]]:
    """Where each URL of a list is."""
    bounds = [(0, 0), *(found.span() for found in _NEXT_URL.finditer(text)), (len(text), len(text))]
    return [(bounds[i][1], bounds[i + 1][0]) for i in range(len(bounds) - 1)]


def _parts_of(url: str, offset: int) -> Iterator[SecretPart]:
    user_end = 0
    for name, start, end in _credentials(url):
        user_end = max(user_end, end)
        yield SecretPart(name, offset + start, offset + end)
    at = user_end
    while found := _PARAMETER.search(url, at):
        at = found.end()
        if not _SUSPECT.search(found[2]):
            continue
        stop = _ENDS.get(found[1], _END).search(url, at)
        end = stop.start() if stop else len(url)
        yield SecretPart(f"parameter {found[2].lower()}", offset + at, offset + end)
        at = end


def _credentials(url: str) -> Iterator[tuple[str, int, int]]:
    """The user's password; without one the user, of a web address, as that is a token then."""
    if found := _ORACLE_USER.match(url):
        yield "password", *found.span(1)
        return
    head, _, tail = url.partition("?")
    # A password may hold a question mark, and a parameter an at sign.
    in_tail = "=" not in (before := tail.rpartition("@")[0]) and before != ""
    found = _USER_INFO.search(url) if in_tail or "@" not in head else _USER_INFO.search(head)
    if found is None:
        return
    if found[2] is not None:
        yield "password", *found.span(2)
    elif re.match(r"\s*https?://", url) and found[1] and found.end() <= len(head):
        yield "user", *found.span(1)
