"""Holds what the services of SQL databases have in common.

This is how clients connect, and how a server is run as a user who is not root.
"""

import os
import pwd
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.process.ports import LOOPBACK

DATABASE: Final = "connect"
USER: Final = "connect"
_PASSWORD_FILE: Final = "password"  # noqa: S105 - the name of a file


@dataclass(frozen=True)
class SqlEndpoint:
    """Holds the address and the user for clients; `repr` does not show the password."""

    port: int
    user: str
    password: str = field(repr=False)
    database: str = DATABASE
    host: str = LOOPBACK


def ensure_password(folder: Path) -> str:
    """Return the password of the user `connect`; it is made with the data folder."""
    path = folder / _PASSWORD_FILE
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(16))
    return path.read_text()


def as_plain_user(folder: Path, preferred: str, argv: Sequence[str]) -> list[str]:
    """Return a command that runs `argv` as another user if we are root: `preferred` if there is one, or else nobody.

    The folder then belongs to that user.
    """
    if os.geteuid() != 0:
        return list(argv)
    user = next((u for u in pwd.getpwall() if u.pw_name == preferred), None) or pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *argv]


def newest(candidates: Sequence[Path], name: str, package: str) -> Path:
    """Return the last of the candidates that exists. ArtifactError: none exists."""
    found = [path for path in candidates if path.exists()]
    if not found:
        raise ArtifactError(
            f"{name} is not installed.", fix=f"Install it with: apt-get install --no-install-recommends {package}"
        )
    return found[-1]
