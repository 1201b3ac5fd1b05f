"""The secrets that a process has read, kept out of its logs, traces and dead letters, whoever writes them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus

from connect.api.secrets import HIDDEN_LENGTH_MIN, hidden_in


class SecretTexts:
    """The secrets known so far. Any thread may add and hide; nothing is forgotten, as a late log line may name it."""

    def __init__(self) -> None:
        self._texts: frozenset[str] = frozenset()
        self._adding = threading.Lock()

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these from now on, also as JSON, URLs and Python's repr write them."""
        found = {form for secret in secrets if len(secret) >= HIDDEN_LENGTH_MIN for form in _forms(secret)}
        with self._adding:
            if not found <= self._texts:
                self._texts |= found

    def hide(self, text: str) -> str:
        """A text for people to read, in which none of them is shown."""
        return hidden_in(text, self._texts)


SECRET_TEXTS: Final = SecretTexts()
"""The secrets that this process knows."""


def _forms(secret: str) -> set[str]:
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)}
