"""Tells how sessions of PostgreSQL begin."""

from __future__ import annotations

from typing import Final

from connectors.jdbc.dialects.generic.sessions import Sessions

# A role or a database may have other settings, and values that are read as text must not depend on them.
_ALWAYS: Final = (
    "SET TIME ZONE 'UTC'", "SET DateStyle='ISO'", "SET IntervalStyle='postgres'", "SET extra_float_digits=3",
)  # fmt: skip
_LOCK_WAIT: Final = """
SELECT pg_catalog.set_config(name, '{wait_s}s', false) FROM pg_catalog.pg_settings
WHERE name = 'lock_timeout' AND setting = '0'
"""


class PostgresSessions(Sessions):
    """Prepares sessions of PostgreSQL."""

    def reading(self, timeout_ms: int) -> tuple[str, ...]:
        """Return the statements for a reader."""
        limit = (f"SET statement_timeout={timeout_ms}",) if timeout_ms else ()
        return (*_ALWAYS, _lock_wait(5), *limit)

    @property
    def writing(self) -> tuple[str, ...]:
        """Return the statements for a writer."""
        return (*_ALWAYS, _lock_wait(30))


def _lock_wait(wait_s: int) -> str:
    """Return the statement that limits waits for a lock to `wait_s` seconds, unless the session has a limit already.

    A statement that fails by the limit is tried again later, and other tables are read in between. The statement
    changes nothing on a server that has no setting lock_timeout.
    """
    return _LOCK_WAIT.format(wait_s=wait_s)
