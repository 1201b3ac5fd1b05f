"""Tells what the sender of a request may do, by the roles in the worker's file."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from connect.rest.access.role import Role
from connect.runtime.settings.role_grants import ALL, Grant
from connect.runtime.settings.worker_config import WorkerConfig


class Right(NamedTuple):
    """Gives a role at the connectors whose names match a pattern."""

    role: Role
    pattern: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Holds a user, as the worker's file names them, and their rights."""

    name: str
    rights: tuple[Right, ...]
    until_s: float = math.inf
    """The login ends at this time, in seconds since 1970."""
    is_known: Callable[[], bool] = field(default=lambda: True, compare=False, repr=False)
    """It tells if the credentials are still those of the user."""

    def has_ended(self) -> bool:
        """Return True if the user has to log in again."""
        return time.time() >= self.until_s or not self.is_known()

    def may(self, role: Role, connector: str) -> bool:
        """Return True if the user has the role, or a higher one, at a connector."""
        return any(
            right.role >= role and (right.pattern == ALL or fnmatchcase(connector, right.pattern))
            for right in self.rights
        )

    def may_somewhere(self, role: Role) -> bool:
        """Return True if the user has the role, or a higher one, at some connectors."""
        return role is Role.ANYONE or any(right.role >= role for right in self.rights)

    def may_everywhere(self, role: Role) -> bool:
        """Return True if the user has the role, or a higher one, at all connectors."""
        return any(right.role >= role and right.pattern == ALL for right in self.rights)


ALL_RIGHTS: Final = (Right(Role.ADMIN, ALL),)
UNASKED: Final = Identity("", ALL_RIGHTS)
"""This is the sender of each request if the worker's file asks for no credentials."""
NOBODY: Final = Identity("", ())
"""This is the sender of a request without credentials if they are asked for."""


class Grants:
    """Holds the rights that the worker's file gives."""

    def __init__(self, worker: WorkerConfig) -> None:
        given = {
            Role.VIEWER: worker.rest_roles_viewer,
            Role.OPERATOR: worker.rest_roles_operator,
            Role.EDITOR: worker.rest_roles_editor,
            Role.ADMIN: worker.rest_roles_admin,
        }
        self._grants = [(role, Grant.parse(text)) for role, texts in given.items() for text in texts]

    def identity(self, name: str, groups: Collection[str] = (), until_s: float = math.inf) -> Identity:
        """Return a user with their rights; they have all rights if the worker's file names no roles."""
        if not self._grants:
            return Identity(name, ALL_RIGHTS, until_s)
        rights = tuple(Right(role, grant.pattern) for role, grant in self._grants if grant.is_of(name, groups))
        return Identity(name, rights, until_s)

    def users(self) -> list[str]:
        """Return the users to whom the worker's file gives a role, in its order."""
        return [grant.who for _, grant in self._grants]
