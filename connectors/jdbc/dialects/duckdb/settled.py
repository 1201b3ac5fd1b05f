"""Tells up to when the work of DuckDB is settled: always, as a file that is read has no writer."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.settled import Settled


class DuckDbSettled(Settled):
    """Leaves no row for later: whoever wrote has closed the file, and every transaction has ended with that."""

    settle_ms = 0
