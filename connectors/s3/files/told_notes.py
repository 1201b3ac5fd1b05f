"""Keeps notes for people, each told once in the worker's log as well. No I/O but that."""

from __future__ import annotations

import logging
from collections.abc import Hashable


class ToldNotes:
    """Keeps notes in the order in which they came. Owned by the task thread."""

    def __init__(self, log: logging.Logger) -> None:
        """Begin without notes; `log` is the logger that warns of them."""
        self.texts: list[str] = []
        self._log = log
        self._told: set[Hashable] = set()

    def tell(self, about: Hashable, text: str) -> None:
        """Keep a note and warn of it, unless there is one about the same already."""
        if about in self._told:
            return
        self._told.add(about)
        self.texts.append(text)
        self._log.warning("%s", text)
