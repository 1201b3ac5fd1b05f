"""What reads small answers from a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Queries(Protocol):
    """Runs queries with small answers."""

    def rows(self, query: str, parameters: Sequence[object] = (), *, doing: str) -> list[tuple[Any, ...]]:
        """The rows of an answer. `doing` says in errors what the query is for. RetriableError: no node answers."""
