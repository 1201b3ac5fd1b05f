"""Reads the users of a properties file, as Kafka Connect's BasicAuthSecurityRestExtension does, and checks
passwords.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from pathlib import Path

from aiohttp import BasicAuth

from connect.api.errors import ConfigError
from connect.rest.access.identity import Grants, Identity
from connect.rest.access.login_errors import LoginError
from connect.runtime.settings.java_properties import parse_properties
from connect.runtime.settings.worker_rest_keys import BASIC_AUTH_FILE

REFUSED = "User cannot access the resource."
"""Kafka Connect answers with this text whatever is wrong with the name or the password."""


class PasswordUsers:
    """Knows users by their passwords."""

    def __init__(self, path: Path, grants: Grants) -> None:
        """Read the file of users. ConfigError: it cannot be used."""
        self._users = _read(path)
        self._grants = grants

    def names(self) -> Collection[str]:
        """Return all users."""
        return self._users.keys()

    def identity(self, header: str) -> Identity:
        """Return the user of an Authorization header. LoginError: name or password is wrong."""
        try:
            given = BasicAuth.decode(header, "utf-8")
        except ValueError:
            raise LoginError(REFUSED) from None
        # The password of an unknown user is compared, too, so that the time does not show which users exist.
        same = hmac.compare_digest(given.password.encode(), self._users.get(given.login, "").encode())
        if not same or given.login not in self._users:
            raise LoginError(REFUSED)
        return self._grants.identity(given.login)


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
