"""Defines what reads a server's log, whichever server it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from connect.api.records import Batch, SourcePosition
from connectors.jdbc.log.shared.log_end import LogEnd
from connectors.jdbc.values.unconvertible_rows import BadRows


class LogReader(Protocol):
    """Reads one server's log for one connector. Owned by the reading thread but for what says otherwise."""

    @property
    def end(self) -> LogEnd[Any]:
        """Return when the end of the log was reached; for any thread."""

    @property
    def retained_bytes(self) -> int:
        """Return how much of its log the server keeps for the connector; for any thread."""

    def batches(self) -> Iterator[Batch | BadRows | None]:
        """Yield what comes next; None: nothing for now. RetriableError: not now."""

    def tend(self) -> None:
        """Tell the server that the connector lives while nothing is read."""

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Let the server forget what is before these positions; for any thread."""

    def interrupt(self) -> None:
        """Break off what is running; for any thread."""

    def close(self) -> None:
        """Leave the server."""
