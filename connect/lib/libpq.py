"""Keeps PostgreSQL's client library from passwords that it finds on its machine by itself. Pure.

Without a password libpq takes the one of PGPASSWORD, or of a file in its user's home, and says it to the server that it
was told to connect to. Where a configuration names that server, the password is not the configuration's to have.
"""

from __future__ import annotations

import os
from pathlib import Path


def password_file() -> Path:
    """Return the path at which libpq looks for passwords."""
    return Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")


def without_own_password(password: object) -> dict[str, str]:
    """Return parameters with which libpq has no password but this one, which may be none."""
    nowhere = {"passfile": f"{os.devnull}/none"}
    return nowhere if password else {**nowhere, "password": ""}
