"""Translates the errors of drivers and of SQLAlchemy to ours. No message has SQL parameters or a secret."""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy.exc as sa

from connect.api.errors import ConnectError, RetriableError
from connect.lib.secrets import hidden_in, masked

# Errors of these SQLSTATE classes may pass by themselves: connection, rollback, resources, object in use, operator
# intervention, system error.
_PASSING_STATES = ("08", "40", "53", "55", "57", "58")
# These errors of MySQL and MariaDB may pass: too many connections (of all users, of one user), shutdown, time-outs of
# locks and statements, deadlock, a table altered since the snapshot, a server that cannot be reached or is gone.
_PASSING_NUMBERS = {
    1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1412, 1927, 1969, 2002, 2003, 2006, 2013,
    2055, 3024,
}  # fmt: skip
_PASSING_SQLITE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_INTERRUPT", "SQLITE_FULL")
# Errors of drivers without codes. DuckDB's: a file is open in another process, or in this one with other settings.
_PASSING_NAMES = {"OperationalError", "InterfaceError", "IOException", "ConnectionException"}
_UNREADABLE = (struct.error, ValueError, TypeError, LookupError, AttributeError, AssertionError)
"""The errors that drivers and SQLAlchemy raise if a server's answer does not follow the protocol."""
_LONGEST_CHARS = 4000
"""A message is cut after this many characters, as a server may send any number of megabytes."""


class ErrorTranslator:
    """Translates errors of one database. Immutable after construction."""

    def __init__(self, database: str, driver_error: tuple[type[Exception], ...], secrets: tuple[str, ...] = ()) -> None:
        """Take the database's name in messages, the base classes of its drivers' errors, and the texts that messages
        must not show.
        """
        self.database = database
        self._errors: tuple[type[Exception], ...] = (sa.DBAPIError, *driver_error)
        self._secrets = tuple(s for s in secrets if s)

    @contextmanager
    def translated(
        self, doing: str, fix: str = "Check the table, its columns and the rights of the user."
    ) -> Iterator[None]:
        """Run a block; a driver error becomes RetriableError when it may pass by itself, else ConnectError.

        The errors that a driver raises on an answer against the protocol become ConnectError, too.
        """
        try:
            yield
        except self._errors as error:
            original = original_of(error)
            text = self.failed(doing, original)
            if getattr(error, "connection_invalidated", False) or passes(original):
                raise RetriableError(text) from None
            raise ConnectError(text, fix=fix) from None
        except sa.SQLAlchemyError as error:
            raise ConnectError(
                f"{self.database}: {doing} failed: {self._without_secrets(str(error))}.", fix=fix
            ) from None
        except _UNREADABLE as error:
            raise ConnectError(
                f"{self.database}: {doing} failed: the server's answer cannot be understood "
                f"({type(error).__name__}: {self._without_secrets(_text(error))}).",
                fix="Check that a server of this kind answers there.",
            ) from error

    def failed(self, doing: str, error: BaseException) -> str:
        """Return the message of a driver's error, without secrets."""
        text = self._without_secrets(_text(error))
        return f"{self.database}: {doing} failed: {text}{'' if text.endswith('?') else '.'}"

    def _without_secrets(self, text: str) -> str:
        shown = masked(hidden_in(text, self._secrets))
        return shown if len(shown) <= _LONGEST_CHARS else f"{shown[:_LONGEST_CHARS]}…"


def passes(error: BaseException) -> bool:
    """Return True if the same call may succeed later although no person changes anything."""
    if isinstance(error, sqlite3.Error):
        return (getattr(error, "sqlite_errorname", None) or "").startswith(_PASSING_SQLITE)
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if number in _PASSING_NUMBERS:
        # The number counts before the state, as MariaDB has the state HY000 for all of its own numbers.
        return True
    if isinstance(state, str) and state:
        return state.startswith(_PASSING_STATES)
    if number > 0:
        return False
    # Drivers raise these without a code if they could not reach the server or lost it.
    return type(error).__name__ in _PASSING_NAMES


def original_of(error: Exception) -> BaseException:
    """Return the driver's error behind SQLAlchemy's."""
    return error.orig if isinstance(error, sa.DBAPIError) and error.orig is not None else error


def _text(error: BaseException) -> str:
    """Return the driver's message in one line: a line that begins with a capital letter is a sentence of its own."""
    text = str(error).strip() or type(error).__name__
    return " ".join(re.sub(r"(?<=[\w\")])\s*\n\s*(?=[A-Z])", ". ", text).split()).rstrip(".")
