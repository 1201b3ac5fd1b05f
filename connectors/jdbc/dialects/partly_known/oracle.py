"""Tells what is particular to Oracle."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.connecting import Connecting


class OracleConnecting(Connecting):
    """Connects to Oracle."""

    ping = "SELECT 1 FROM dual"
