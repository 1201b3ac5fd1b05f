"""Declares the interface for queries with small answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Queries(Protocol):
    """Runs queries with small answers."""

    def rows(self, query: str, parameters: Sequence[object] = (), *, doing: str) -> list[tuple[Any, ...]]:
        """Return the rows that answer a query.

        `doing` says in errors what the query is for. Raise RetriableError when no node answers.
        """
