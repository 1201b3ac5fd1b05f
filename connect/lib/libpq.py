"""Keeps PostgreSQL's client library from using passwords that it finds on its machine by itself. Pure.

Without a password libpq takes the one of PGPASSWORD, or of a file in its user's home, and sends it to the server. If a
configuration names the server, it must not make the worker send it a password of the worker's user.
"""

from __future__ import annotations

import os
from pathlib import Path


def password_file() -> Path:
    """Return the path at which libpq looks for passwords."""
    return Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")


def without_own_password(password: object) -> dict[str, str]:
    """Return connection parameters with which libpq uses no password but this one, which may be None."""
    nowhere = {"passfile": f"{os.devnull}/none"}
    return nowhere if password else {**nowhere, "password": ""}
