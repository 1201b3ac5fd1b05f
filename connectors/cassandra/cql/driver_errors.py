"""Translates the driver's errors into those of the contract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cassandra import (
    AuthenticationFailed,
    CoordinationFailure,
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    Timeout,
    Unauthorized,
    Unavailable,
)
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.protocol import RequestExecutionException, ServerError

from connect.api.errors import ConfigError, RetriableError
from connectors.cassandra.cql.errors import MissingRightError, TableGoneError, TombstonesError

_AWAY: Final = (NoHostAvailable, OperationTimedOut, Timeout, Unavailable, CoordinationFailure, ConnectionException,
                RequestExecutionException, ServerError)  # fmt: skip
_REFUSED: Final = re.compile(r"User (\S+) has no (\w+) permission on <(all keyspaces|keyspace|table) ?([^>]*)>")
_TOO_MANY_TOMBSTONES: Final = 1
"""This code says that a read met too many tombstones (org.apache.cassandra.exceptions.RequestFailureReason)."""


def grant_of(message: str) -> str:
    """Return the GRANT that allows what the server refused with this message; empty if the message names no right.

    Pure.
    """
    found = _REFUSED.search(message)
    if found is None:
        return ""
    user, permission, kind, resource = found.groups()
    named = ".".join(f'"{part}"' for part in resource.split(".", 1)) if resource else ""
    return f"GRANT {permission} ON {kind.upper()} {named}".rstrip() + f' TO "{user}";'


def _login_refused(doing: str) -> ConfigError:
    return ConfigError(
        f"Failed {doing}: the cluster does not take this user and password.", key="username",
        fix="Check username and password.",
    )  # fmt: skip


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Translate errors that the driver raises inside of the block. `doing` says in the messages what was attempted."""
    try:
        yield
    except NoHostAvailable as error:
        causes = list(error.errors.values()) if isinstance(error.errors, dict) else list(error.errors)
        if any(isinstance(cause, AuthenticationFailed) for cause in causes):
            raise _login_refused(doing) from error
        reasons = "; ".join(sorted({f"{type(cause).__name__}: {cause}" for cause in causes})) or str(error)
        raise RetriableError(f"Failed {doing}: no node answers ({reasons}).") from error
    except AuthenticationFailed as error:
        raise _login_refused(doing) from error
    except Unauthorized as error:
        raise MissingRightError(f"Failed {doing}: {error}", grant_of(str(error))) from error
    except InvalidRequest as error:
        raise TableGoneError(f"Failed {doing}: {error}") from error
    except ReadFailure as error:
        kind = TombstonesError if _TOO_MANY_TOMBSTONES in (error.error_code_map or {}).values() else RetriableError
        raise kind(f"Failed {doing}: {type(error).__name__}: {error}") from error
    except _AWAY as error:
        raise RetriableError(f"Failed {doing}: {type(error).__name__}: {error}") from error
