"""Hides secrets that are known in texts for people: errors, traces, log lines. Pure, in time linear in the text.

A secret that looks like a usual word is only hidden where it must be the secret, so that texts stay readable:

- A strong one has 8 characters or more and is no plain word or number. It is hidden everywhere.

- A short one has 4 to 7 characters and is no plain word either. It is hidden where it stands as a value: whole in
  quotes, or behind `=` or `:`.

- The others are plain words or numbers (letters, words joined by `.`, `_` or `-`, digits; less than 16 characters) and
  shorter secrets. They are hidden behind a name that sounds secret, as in `password=debezium`, and before the `@` of
  an address.

A base64 text that encodes a strong secret, or `user:password`, is hidden as a whole, as servers repeat the headers that
they got.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Final

from connect.lib.secret_parts import HIDDEN, is_suspect

TEXT_CHARS_MAX: Final = 100_000
"""A longer text is cut: nobody reads it to its end, and looking for secrets in it would take long."""
_STRONG_CHARS: Final = 8
_SHORT_CHARS: Final = 4
_PLAIN_CHARS: Final = 15
_GRAM: Final = 4
_DELIMITERS: Final = "\\s\"'`=:,;&@/(){}\\[\\]<>|\\\\"
_TOKEN: Final = re.compile(f"[^{_DELIMITERS}]+")
_ODD: Final = re.compile(f"[{_DELIMITERS}]")
_ENDS_SENTENCE: Final = ".!?"
_JOINTS: Final = re.compile(r"[._-]")
_BEHIND_CHARS: Final = 120
_BETWEEN: Final = " \t=:\"'`(\\"
_NAME_CHARS: Final = frozenset(".-_")
_NAME_AFTER: Final = re.compile(r"""["'`]? for configuration ["'`]?([\w.\-]{1,100})""")
_SIGN_BEFORE: Final = re.compile(r"[=:]\s{0,3}\Z")
_AFTER_VALUE: Final = frozenset("\"'`,;&@)}]>| \t\r\n\\")
_QUOTES: Final = frozenset("\"'`")
_STANDARD: Final = str.maketrans("-_", "+/")
_CODED: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


class KnownSecrets:
    """Holds the secrets known so far. Threads may hide texts while another adds a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._strong: dict[str, set[str]] = {}  # These are grouped by their first characters.
        self._short: set[str] = set()
        self._plain: set[str] = set()
        self._whole: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str, *, as_word: bool = False) -> None:
        """Hide a secret from now on. With `as_word`, one that is not strong is hidden wherever it is a whole word."""
        if not secret:
            return
        if _is_strong(secret):
            self._strong.setdefault(secret[:_GRAM], set()).add(secret)
        elif as_word and len(secret) >= _SHORT_CHARS:
            self._whole.add(secret)
        elif len(secret) >= _SHORT_CHARS and not is_plain(secret):
            self._short.add(secret)
        else:
            self._plain.add(secret)

    def hide(self, text: str) -> str:
        """Return the text with each known secret masked; a very long text is cut."""
        if len(text) > TEXT_CHARS_MAX:
            text = f"{text[:TEXT_CHARS_MAX]}… ({len(text) - TEXT_CHARS_MAX} more characters)"
        made, at = [], 0
        for start, end in sorted({*self._strong_spans(text), *self._poor_spans(text), *self._coded_spans(text)}):
            if end <= at:
                continue
            if start >= at:
                made += [text[at:start], HIDDEN]
            at = end
        return "".join([*made, text[at:]]) if at else text

    def _strong_spans(self, text: str) -> Iterator[tuple[int, int]]:
        if not self._strong:
            return
        grams = {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)}
        for secret in (secret for gram in grams for secret in tuple(self._strong.get(gram, ()))):
            at = text.find(secret)
            while at >= 0:
                yield at, at + len(secret)
                at = text.find(secret, at + len(secret))

    def _poor_spans(self, text: str) -> Iterator[tuple[int, int]]:
        if not (self._short or self._plain or self._whole):
            return
        for found in _TOKEN.finditer(text):
            token = found[0]
            for word in {token, token.rstrip(_ENDS_SENTENCE)}:
                if self._hides(word, text, found.start(), found.start() + len(word)):
                    yield found.start(), found.start() + len(word)

    def _coded_spans(self, text: str) -> Iterator[tuple[int, int]]:
        poor = (self._short, self._plain, self._whole)
        if not (self._strong or any(poor)):
            return
        for found in _CODED.finditer(text):
            plain = _decoded(found[0])
            password = plain.partition(":")[2]
            if any(password in known for known in poor) or any(self._strong_spans(plain)):
                yield found.span()

    def _hides(self, word: str, text: str, start: int, end: int) -> bool:
        if word in self._whole:
            return True
        if word in self._short:
            return _is_value(text, start, end)
        return word in self._plain and _is_named_secret(text, start, end)


def hidden_in(text: str, secrets: Iterable[str]) -> str:
    """Return a text for people to read, without these secrets."""
    return KnownSecrets(secrets).hide(text)


def is_plain(secret: str) -> bool:
    """Tell if a secret is a plain word or number, which texts may also have for other reasons."""
    if len(secret) > _PLAIN_CHARS:
        return False
    return secret.isdigit() or all(_is_word(part) for part in _JOINTS.split(secret))


def _decoded(coded: str) -> str:
    """Return the text that a base64 text encodes, as far as it is complete; empty if it encodes none."""
    data = coded.rstrip("=").translate(_STANDARD)
    data = data[: len(data) - (len(data) % 4 == 1)]
    try:
        return base64.b64decode(f"{data}{'=' * (-len(data) % 4)}").decode()
    except ValueError:
        return ""


def _is_word(part: str) -> bool:
    return part.isalpha() and (part.islower() or part.isupper() or part.istitle())


def _is_strong(secret: str) -> bool:
    if len(secret) >= _STRONG_CHARS:
        return not is_plain(secret)
    # It has a delimiter in it, so it is no token; it is searched for as it is, as no usual word has such characters.
    return len(secret) >= _SHORT_CHARS and _ODD.search(secret) is not None


def _is_value(text: str, start: int, end: int) -> bool:
    after = text[end : end + 1]
    if after and after not in _AFTER_VALUE and not text.startswith(tuple(_ENDS_SENTENCE), end):
        return False
    before = text[start - 1 : start]
    if before in _QUOTES and before:
        return text.startswith((before, f"\\{before}"), end)
    return _SIGN_BEFORE.search(text[max(0, start - _GRAM) : start]) is not None


def _last_name(text: str) -> str:
    at = len(text)
    while at and (text[at - 1].isalnum() or text[at - 1] in _NAME_CHARS):
        at -= 1
    return text[at:]


def _is_named_secret(text: str, start: int, end: int) -> bool:
    if text.startswith("@", end) and text.endswith(":", 0, start):
        return True
    if is_suspect(_last_name(text[max(0, start - _BEHIND_CHARS) : start].rstrip(_BETWEEN))):
        return True
    after = _NAME_AFTER.match(text, end)
    return after is not None and is_suspect(after[1])
