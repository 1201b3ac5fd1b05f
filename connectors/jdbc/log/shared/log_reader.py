"""Defines the interface of a reader of a server's log, whichever server it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from connect.api.records import Batch, SourcePosition
from connectors.jdbc.log.shared.log_end import LogEnd
from connectors.jdbc.values.unconvertible_rows import BadRows


class LogReader(Protocol):
    """Reads one server's log for one connector. Owned by the reading thread, except for methods that say otherwise."""

    @property
    def end(self) -> LogEnd[Any]:
        """Return the object that tells when the end of the log was reached. For any thread."""

    @property
    def retained_bytes(self) -> int:
        """Return how many bytes of its log the server keeps for the connector. For any thread."""

    def batches(self) -> Iterator[Batch | BadRows | None]:
        """Yield the next batch or bad rows, or None if there is nothing for now.

        RetriableError: the log cannot be read yet.
        """

    def tend(self) -> None:
        """Tell the server that the connector is alive, while no batch is taken."""

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Let the server forget its log before these positions, which are stored. For any thread."""

    def interrupt(self) -> None:
        """Break off a running statement. For any thread."""

    def close(self) -> None:
        """Close the connections to the server."""
