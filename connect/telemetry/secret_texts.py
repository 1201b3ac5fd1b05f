"""Hides secrets, once a process has read them, in its logs, traces and dead letters, whoever writes them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus

from connect.lib.known_secrets import KnownSecrets
from connect.lib.printable import printable

MOST: Final = 20_000
"""A process keeps so many secrets, those it read last, as whoever may validate could make it read any number."""
_FORMS_CHARS: Final = 10_000


class SecretTexts:
    """Holds the known secrets, former ones too, as a late log line may name one. Any thread may add and hide."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._read: dict[tuple[str, bool], None] = {}  # in the order in which they were read last
        self._known = KnownSecrets()
        self._adding = threading.Lock()

    def add(self, secrets: Iterable[str], *, as_words: bool = False) -> None:
        """Hide these secrets from now on, also in the forms of JSON, URLs, base64 and Python's repr.

        `as_words`: poor ones, too, wherever they are words of their own; see `connect.lib.known_secrets`.
        """
        found = [secret for secret in secrets if secret]
        with self._adding:
            for secret in found:
                key = (secret, as_words)
                if self._read.pop(key, self) is self:
                    self._hide(*key)
                self._read[key] = None
            if len(self._read) > self._most:
                self._forget()

    def hide(self, text: str) -> str:
        """Return the text with each secret masked."""
        return self._known.hide(text)

    def shown(self, text: str) -> str:
        """Return a text for people to read: no secret is shown, and nothing in it steers a terminal."""
        return printable(self.hide(text))

    def _forget(self) -> None:
        """Forget the older half."""
        self._read = dict.fromkeys(list(self._read)[-self._most // 2 :])
        known = KnownSecrets()
        for secret, as_word in self._read:
            _add(known, secret, as_word=as_word)
        self._known = known

    def _hide(self, secret: str, as_word: bool) -> None:
        _add(self._known, secret, as_word=as_word)


SECRET_TEXTS: Final = SecretTexts()
"""The secrets that this process knows."""


def _add(known: KnownSecrets, secret: str, *, as_word: bool) -> None:
    for form in _forms(secret):
        known.add(form, as_word=as_word)


def _forms(secret: str) -> set[str]:
    if len(secret) > _FORMS_CHARS:
        return {secret}
    data = secret.encode(errors="surrogatepass")
    coded = {base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()}
    # Files of secrets end with a newline, which those who read them leave out.
    plain = {secret, secret.strip(), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    return plain | coded | {quote(data, safe=""), quote_plus(data)}
