"""Reads the users of a properties file, as Kafka Connect's BasicAuthSecurityRestExtension does, and checks
passwords.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from aiohttp import BasicAuth

from connect.api.errors import ConfigError
from connect.rest.access.identity import Grants, Identity
from connect.rest.access.login_errors import LoginError
from connect.runtime.settings.java_properties import parse_properties
from connect.runtime.settings.worker_rest_keys import BASIC_AUTH_FILE

REFUSED = "User cannot access the resource."
"""Kafka Connect answers with this text whatever is wrong with the name or the password."""
LOOK_S: Final = 1.0
"""A login looks at most so often if the file of users has changed."""
_Mark = tuple[int, int, int, int]
_LOG = logging.getLogger(__name__)


class PasswordUsers:
    """Knows users by their passwords. A changed file counts from the next login on. Owned by the event loop."""

    def __init__(self, path: Path, grants: Grants) -> None:
        """Read the file of users. ConfigError: it cannot be used."""
        self._path = path
        self._mark = _mark(path)
        self._users = _read(path)
        self._grants = grants
        self._next_s = time.monotonic() + LOOK_S

    def names(self) -> Collection[str]:
        """Return all users."""
        return self._users.keys()

    def identity(self, header: str) -> Identity:
        """Return the user of an Authorization header. LoginError: name or password is wrong."""
        try:
            given = BasicAuth.decode(header, "utf-8")
        except ValueError:
            raise LoginError(REFUSED) from None
        self._look()
        # The password of an unknown user is compared, too, so that the time does not show which users exist.
        same = hmac.compare_digest(given.password.encode(), self._users.get(given.login, "").encode())
        if not same or given.login not in self._users:
            raise LoginError(REFUSED)
        return replace(self._grants.identity(given.login), is_known=lambda: self._knows(given.login, given.password))

    def _knows(self, name: str, password: str) -> bool:
        """Return True if a user still has this password."""
        self._look()
        return hmac.compare_digest(self._users.get(name, "").encode(), password.encode())

    def _look(self) -> None:
        """Read the file again if it has changed. While it cannot be used, the users stay those that it had before."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + LOOK_S
        mark = _mark(self._path)
        if mark == self._mark:
            return
        self._mark = mark
        try:
            self._users = _read(self._path)
        except ConfigError as error:
            _LOG.warning("%s Until it can be read, its users are those that it had before.", error)
        else:
            _LOG.info("File %s of %s has changed: it has %d users now.", self._path, BASIC_AUTH_FILE, len(self._users))


def _mark(path: Path) -> _Mark | None:
    """Return what tells a file from its changed form; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    # A right to read it that was missing changes the file's state alone.
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _read(path: Path) -> Mapping[str, str]:
    try:
        users = parse_properties(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"File {path} of {BASIC_AUTH_FILE} does not exist.",
            key=BASIC_AUTH_FILE,
            fix="Write one `user=password` per line.",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no properties file in UTF-8"
        raise ConfigError(f"File {path} of {BASIC_AUTH_FILE} cannot be read: {reason}.", key=BASIC_AUTH_FILE) from None
    if not users or not all(users.values()):
        raise ConfigError(
            f"File {path} of {BASIC_AUTH_FILE} has no users, or one without a password.",
            key=BASIC_AUTH_FILE,
            fix="Write one `user=password` per line; to let everybody in, leave the key out.",
        )
    return users
