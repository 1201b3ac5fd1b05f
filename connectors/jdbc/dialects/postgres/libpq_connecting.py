"""Connects by PostgreSQL's client library to any database that speaks PostgreSQL's protocol."""

from __future__ import annotations

import sqlalchemy as sa

from connect.api.allowed_paths import AllowedPaths
from connect.lib.libpq import password_file, without_own_password
from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.postgres.key_files import with_pem_key


class LibpqConnecting(Connecting):
    """Gives libpq the passwords and keys that a configuration gives, and no others."""

    def without_own_secrets(self, url: sa.URL, allowed: AllowedPaths) -> sa.URL:
        """Return the URL changed so that libpq reads no password file, unless the worker allows that file."""
        if allowed.allow(password_file()):
            return url
        return url.update_query_dict(without_own_password(url.password or url.query.get("password")))

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with its key as libpq reads it."""
        made = super().completed(url, connect_timeout_s=connect_timeout_s, creates_file=creates_file)
        return with_pem_key(made)
