"""Tells DuckDB's settled time, which is always now, as a file that is read has no writer."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.settled import Settled


class DuckDbSettled(Settled):
    """Leaves no row for later: every writer has closed the file by now, and so all transactions have ended."""

    settle_ms = 0
